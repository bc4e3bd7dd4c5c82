"""Elementwise steps of graphs run as one kernel, with eager's numbers and layouts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight
from rushlight import nn
from rushlight.capture.entry import entry_of
from rushlight.capture.fusion import Chain
from rushlight.capture.layers import Convolution, FrozenLinear, Linear
from rushlight.nn import functional as F


def graph_of(function, *inputs, freezing=None):
    """The plan of a function whose first two calls give eager's bits and layout."""
    with rushlight.no_grad():
        plan = entry_of(function, inputs, {}, "program", freezing).plan
        expected = leaves(function(*inputs))
        for _ in range(2):
            for a, b in zip(leaves(plan.run(*inputs)), expected, strict=True):
                assert a.dtype is b.dtype and a.stride() == b.stride()
                assert rushlight.equal(a, b)
    return plan


def leaves(value):
    return rushlight.utils._pytree.tree_leaves(value)


def steps(plan, kind=object):
    """What the plan calls, of one class."""
    return [n.target for n in plan.parts[0].nodes
            if n.op == "call_function" and isinstance(n.target, kind)]  # fmt: skip


@pytest.fixture
def x():
    rushlight.manual_seed(0)
    return rushlight.randn(4, 6, 5, 5)


def test_a_chain_is_one_step(x):
    plan = graph_of(lambda x, y: ((x * 2 + y - 0.3).relu() * x**3).sigmoid() / 7, x, x + 1)
    assert len(steps(plan)) == len(steps(plan, Chain)) == 1


def test_values_read_elsewhere_are_kept(x):
    def program(x):
        inner = x * 2 + 1
        return inner.sum(0), (inner.exp() + 1).log(), inner

    plan = graph_of(program, x)
    assert len(steps(plan, Chain)) == 2 and len(steps(plan)) == 3


def test_branches_of_one_value_join(x):
    def program(x):
        y = x.exp() + 1
        return y * y.sigmoid() + y.tanh()

    assert len(steps(graph_of(program, x))) == 1


def test_operands_that_broadcast(x):
    row, scale = rushlight.randn(5), rushlight.randn(6, 1, 1)
    plan = graph_of(lambda x, row, scale: (x * scale + row).relu() * (row * 2 + 1), x, row, scale)
    assert len(steps(plan, Chain)) == 2  # what has another shape is computed once


def test_other_dtypes_and_what_follows_them_stay(x):
    plan = graph_of(lambda x: (x.double() * 2 + 1, (x > 0) & (x < 1), x.int() * 2 + 1), x)
    assert not steps(plan, Chain)
    plan = graph_of(lambda x: (x * 2 + 1, rushlight.where(x > 0, x, -x) * 3 + 1), x)
    assert len(steps(plan, Chain)) == 2


def test_constants_that_code_cannot_hold(x):
    plan = graph_of(lambda x: (x + math.inf).clamp(max=math.inf) * 2 + (1 << 30), x)
    assert len(steps(plan)) == 4


def test_programs_with_writes_stay_as_they_are(x):
    plan = graph_of(lambda x: (x.clone().view(-1).mul_(2).exp() + 1) * 2, x)
    assert not steps(plan, Chain)


@pytest.mark.parametrize("layout", ["channels_last", "transposed", "mixed", "expanded", "one wide"])
def test_layouts_are_eagers(x, layout):
    y = x + 1
    if layout == "channels_last":
        x, y = (t.contiguous(memory_format=rushlight.channels_last) for t in (x, y))
    elif layout == "transposed":
        x, y = x.transpose(2, 3), y.transpose(0, 3).contiguous().transpose(0, 3)
    elif layout == "mixed":
        y = y.contiguous(memory_format=rushlight.channels_last)
    elif layout == "expanded":
        y = y[:, :1].expand_as(x)
    else:
        x, y = (t[:, :1].contiguous(memory_format=rushlight.channels_last) for t in (x, y))
    for program in (lambda x, y: (x * 2 + y).relu(), lambda x, y: (y * 2).exp() * x):
        graph_of(program, x, y)


def test_layouts_that_kernels_would_choose_otherwise_run_step_by_step():
    """The calls give the layout of what comes first in them, a kernel that of its first operand."""
    x, y = rushlight.randn(3, 1, 4), rushlight.randn(1, 5, 4).transpose(0, 1).contiguous()
    program = lambda x, y: (x + y.transpose(0, 1)).relu() * rushlight.ones(1, 1, 1)  # noqa: E731
    graph_of(program, x, y)


def test_dropouts_that_do_not_train_are_left_out(x):
    def program(x):
        y = F.dropout(x, 0.5, False)
        return F.dropout2d(y * 2, training=False) + 1, F.dropout(y, 0.5, training=False)

    plan = graph_of(program, x)
    assert len(steps(plan)) == len(steps(plan, Chain)) == 1
    with rushlight.no_grad():
        assert plan.run(x)[1] is x
    plan = graph_of(lambda x: F.dropout1d(x, 0.5, False) + 1, x[0, :, 0])
    assert len(steps(plan)) == 2


def test_long_programs_become_several_steps(x):
    def program(x):
        for i in range(60):
            x = x * 0.9 + i / 60
        return x

    plan = graph_of(program, x)
    assert len(steps(plan)) == len(steps(plan, Chain)) == 5


def test_many_operands_become_several_steps():
    given = [rushlight.randn(3, 3) for _ in range(20)]
    plan = graph_of(lambda *given: sum(given[1:], given[0]) * 2, *given)
    assert len(steps(plan, Chain)) == len(steps(plan)) == 3


def test_numbers_that_change_between_calls():
    compiled = rushlight.compile(lambda x, scale: (x * scale + 1).relu())
    x = rushlight.randn(3, 3)
    with rushlight.no_grad():
        for scale in (2.0, 3.0, 2.0, 4):
            assert rushlight.equal(compiled(x, scale), (x * scale + 1).relu())


def gelu_written_out(x):
    return 0.5 * x * (1 + rushlight.tanh(0.7978845608 * (x + 0.044715 * x**3)))


@pytest.mark.parametrize("activation", [
    F.relu, F.gelu, gelu_written_out, lambda x: F.leaky_relu(x, 0.2), lambda x: x.clamp(0.0, 1.0),
    lambda x: rushlight.selu(x), lambda x: x * x, lambda x: 1 - x, lambda x: x.square(),
])  # fmt: skip
@pytest.mark.parametrize("shape", [(64, 96), (1, 96), (2, 5, 96), (96,)])
@pytest.mark.parametrize(("freezing", "kind"), [(None, FrozenLinear), (False, Linear)])
def test_activations_join_linear_layers(activation, shape, freezing, kind):
    layer = nn.Linear(96, 80).requires_grad_(False)
    x = rushlight.randn(shape)
    plan = graph_of(lambda x: activation(layer(x)), x, freezing=freezing)
    assert len(steps(plan)) == len(steps(plan, kind)) == 1


def test_smallest_linear_layers_take_two_steps():
    layer = nn.Linear(3, 4).requires_grad_(False)
    assert len(steps(graph_of(lambda x: layer(x).relu(), rushlight.randn(2, 3)))) == 2


def test_chains_join_convolutions(x):
    layer = nn.Conv2d(6, 8, 3, padding=1).requires_grad_(False)
    plan = graph_of(lambda x: gelu_written_out(layer(x)), x)
    assert len(steps(plan)) == len(steps(plan, Convolution)) == 1
    plan = graph_of(lambda x: gelu_written_out(layer(x)) + layer(x), x)
    assert len(steps(plan, Chain)) == 1


UNARY = (
    rushlight.exp, rushlight.relu, rushlight.sigmoid, rushlight.tanh, rushlight.neg, F.silu,
    F.hardswish, F.gelu, rushlight.square, rushlight.abs, lambda x: x / 3, lambda x: 1 - x,
    lambda x: x.clamp(-0.5, 1.5), lambda x: F.softplus(x, 2.0), lambda x: x.pow(3), rushlight.rsqrt,
)  # fmt: skip
BINARY = (
    rushlight.add, rushlight.sub, rushlight.mul, rushlight.div, rushlight.maximum,
    lambda x, y: rushlight.add(x, y, alpha=0.7), rushlight.atan2,
)  # fmt: skip


@given(st.lists(st.tuples(*[st.integers(0, 99)] * 3), min_size=2, max_size=16), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_programs_of_drawn_calls(drawn, seed):
    """Every call reads two of the values before it; a third of the values are results."""

    def program(*values):
        values = list(values)
        for which, a, b in drawn:
            a, b = values[a % len(values)], values[b % len(values)]
            which %= len(UNARY) + len(BINARY)
            one = which < len(UNARY)
            values.append(UNARY[which](a) if one else BINARY[which - len(UNARY)](a, b))
        return values[3::3]

    rushlight.manual_seed(seed)
    inputs = rushlight.randn(3, 4), rushlight.randn(3, 4), rushlight.randn(4)
    with rushlight.no_grad():
        plan = entry_of(program, inputs, {}, "program").plan
        expected = program(*inputs)
        for _ in range(2):
            for a, b in zip(plan.run(*inputs), expected, strict=True):
                rushlight.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
