"""Elementwise steps write over values that nobody reads after them, and over no others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight
from rushlight import nn
from rushlight.capture.entry import entry_of
from rushlight.capture.fusion import Chain, Over
from rushlight.nn import functional as F

SHAPE = (128, 160)


def plan_of(function, *inputs, freezing=False):
    """The plan of a function, of which three calls give eager's bits and layout, and leave the
    arguments and the results of earlier calls as they are."""
    with rushlight.no_grad():
        plan = entry_of(function, inputs, {}, "program", freezing).plan
        before, expected = [t.clone() for t in inputs], leaves(function(*inputs))
        kept = [leaves(plan.run(*inputs)) for _ in range(3)]
    for found in kept:
        for a, b in zip(found, expected, strict=True):
            assert rushlight.equal(a, b) and a.stride() == b.stride()
    for a, b in zip(inputs, before, strict=True):
        assert rushlight.equal(a, b)
    addresses = [t.data_ptr() for found in kept for t in found if id(t) not in map(id, inputs)]
    assert len(set(addresses)) == len(addresses)
    return plan


def leaves(value):
    return rushlight.utils._pytree.tree_leaves(value)


def over(plan):
    """Which operand each elementwise step writes over."""
    chains = [n.target for n in plan.parts[0].nodes if type(n.target) is Chain]
    return [chain.over for chain in chains if type(chain.settled) is Over]


@pytest.fixture
def x():
    rushlight.manual_seed(0)
    return rushlight.randn(SHAPE)


@pytest.fixture
def layer():
    rushlight.manual_seed(1)
    return nn.Linear(160, 160).requires_grad_(False)


@pytest.mark.parametrize("freezing", [False, True])
def test_sums_with_what_a_layer_gave(x, layer, freezing):
    assert over(plan_of(lambda x: x + layer(x), x, freezing=freezing)) == [1]
    assert over(plan_of(lambda x: (layer(x) * 2 + x).relu() * x, x, freezing=freezing)) == [0]


def test_results_stay(x, layer):
    def program(x):
        y = layer(x)
        return y, y + x

    assert over(plan_of(program, x)) == []


def test_arguments_weights_and_views_stay(x, layer):
    table = rushlight.randn(SHAPE)
    assert over(plan_of(lambda x: x + 1, x)) == []
    assert over(plan_of(lambda x: table * x, x)) == []
    assert over(plan_of(lambda x: x.view(160, 128).view(128, 160) + 1, x)) == []
    assert over(plan_of(lambda x: F.dropout(x, 0.5, False) + 1, x)) == []


def test_values_that_others_read_stay(x, layer):
    def read_after(x):
        y = layer(x)
        return (y + x).sum(), y.sum()

    def seen_through_a_view(x):
        y = layer(x)
        part = y[3:]
        return (y + x).sum(), part

    assert over(plan_of(read_after, x)) == over(plan_of(seen_through_a_view, x)) == []


def test_operands_of_another_shape_stay(layer):
    row, wide = rushlight.randn(1, 160), rushlight.randn(200, 160)
    assert over(plan_of(lambda row, wide: layer(row) + wide, row, wide)) == []


def test_small_results_have_memory_of_their_own(layer):
    assert over(plan_of(lambda x: layer(x) + x, rushlight.randn(4, 160))) == []


def test_other_layouts_than_the_results(x):
    images = rushlight.randn(2, 8, 32, 40).contiguous(memory_format=rushlight.channels_last)
    layer = nn.Conv2d(8, 8, 3, padding=1).requires_grad_(False)
    plan_of(lambda x: layer(x) + x, images)
    plan_of(lambda x: layer(x.contiguous()) + x, images)
    plan_of(lambda x: x * layer(x.contiguous()), images)


def test_residual_networks():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (nn.Conv2d(16, 16, 3, padding=1) for _ in range(2))
            self.norm = nn.BatchNorm2d(16)

        def forward(self, x):
            return F.relu(x + self.norm(self.second(F.relu(self.first(x)))))

    rushlight.manual_seed(0)
    net = nn.Sequential(Block(), Block()).eval().requires_grad_(False)
    for freezing in (False, True):
        with rushlight.no_grad():
            given = rushlight.randn(2, 16, 24, 24)
            plan = entry_of(net, (given,), {}, "net", freezing).plan
            for _ in range(3):
                rushlight.testing.assert_close(plan.run(given), net(given), rtol=1e-5, atol=1e-5)
        assert over(plan) == [1, 1]


STEPS = (
    lambda x, y, f: f(x), lambda x, y, f: x + y, lambda x, y, f: f(y) * x,
    lambda x, y, f: x.T.contiguous().T, lambda x, y, f: F.softmax(x, -1) + x,
    lambda x, y, f: f(x).relu().sigmoid(), lambda x, y, f: x.reshape(-1).reshape(128, 128) * 0.5,
    lambda x, y, f: F.layer_norm(x, (128,)) + y, lambda x, y, f: x @ y - x, lambda x, y, f: x[:],
    lambda x, y, f: x.flip(0) + f(x), lambda x, y, f: x.clamp(-1, 1) / 2,
)  # fmt: skip


@given(st.lists(st.integers(0, len(STEPS) - 1), min_size=2, max_size=8), st.integers(0, 7))
@settings(max_examples=30, deadline=None)
def test_programs_of_drawn_steps(drawn, returned):
    rushlight.manual_seed(0)
    f = nn.Linear(128, 128).requires_grad_(False)

    def program(x, y):
        values = [x, y]
        for which in drawn:
            values.append(STEPS[which](values[-1], values[-2], f))
        return values[-1], values[returned % len(values)]

    given = rushlight.randn(128, 128), rushlight.randn(128, 128)
    with rushlight.no_grad():
        plan = entry_of(program, given, {}, "program").plan
        before, expected = [t.clone() for t in given], program(*given)
        kept = [plan.run(*given) for _ in range(3)]
    for found in kept:
        for a, b in zip(found, expected, strict=True):
            rushlight.testing.assert_close(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)
    for a, b in zip(given, before, strict=True):
        assert rushlight.equal(a, b)
