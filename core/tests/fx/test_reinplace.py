"""Writes in place where the old value is read no more: values, inputs, and which calls write."""

from __future__ import annotations

import random

import pytest

import rushlight
from rushlight.func import functionalize
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.fx.passes.reinplace import reinplace


def captured(function, *args):
    return make_fx(functionalize(function, remove="mutations_and_views"))(*args)


def targets(module):
    return [str(n.target).removeprefix("aten.") for n in module.graph.nodes
            if n.op == "call_function"]  # fmt: skip


def example():
    return rushlight.arange(12.0).reshape(3, 4) - 5.5


def assert_same(function, *args):
    """The module gives what the function gives, twice, and leaves its arguments alone."""
    copies = [x.clone() for x in args]
    made = reinplace(captured(function, *args), *args)
    expected = function(*copies)
    for _ in range(2):
        found = made(*args)
        pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [
            (found, expected)]  # fmt: skip
        assert all(rushlight.equal(one, other) for one, other in pairs)
    assert all(rushlight.equal(x, copy) for x, copy in zip(args, copies, strict=True))
    return targets(made)


def test_a_chain_writes_to_one_tensor():
    found = assert_same(lambda x: (x.clone().add(1).relu() * 2).sin() + 1, example())
    assert found == ["clone.default", "add_.Tensor", "relu_.default", "mul_.Tensor",
                     "sin_.default", "add_.Tensor"]  # fmt: skip


def test_inputs_and_attributes_are_not_written_to():
    weight = example()
    found = assert_same(lambda x: (x + 1, weight.relu(), x.t().neg()), example())
    assert not any("_." in name for name in found)


def test_what_is_read_later_stays():
    def function(x):
        y = x + 1
        view = y.view(-1)
        z = view * 2  # y is a result
        other = z.relu()
        return y, other, z.exp()

    found = assert_same(function, example())
    assert found.count("mul.Tensor") == 1 and "relu.default" in found and "exp_.default" in found


def test_other_shapes_and_dtypes_are_new_tensors():
    def function(x):
        one = (x + 1)[:, :1] * x  # broadcast
        return (one > 0) + 1, (x * 2).sum(0).expand(3, 4) + 1

    assert_same(function, example())


def test_changed_parts_are_views():
    def function(x):
        y = x * 2
        y[0].add_(1)
        y[:, 1].mul_(3)
        y[1:].relu_()
        return y + 1

    found = assert_same(function, example())
    assert not any("scatter" in name for name in found)
    assert {"add_.Tensor", "mul_.Tensor", "copy_.default"} <= set(found)


def test_a_part_that_comes_from_elsewhere_is_copied():
    def function(x):
        y = x * 2
        return y.select_scatter(x[0].exp(), 0, 1) + 1

    found = assert_same(function, example())
    assert "copy_.default" in found and "select_scatter.default" not in found


def test_the_former_value_of_a_base_that_is_read():
    def function(x):
        y = x * 2
        z = y.select_scatter(x[0].exp(), 0, 1)
        return y + 1, z

    assert "select_scatter.default" in assert_same(function, example())


def test_views_of_a_replaced_value():
    """A view of the scattered value is one of its base, which must not be written to before."""

    def function(x):
        y = x * 2
        z = y.select_scatter(x[0].exp(), 0, 1)
        row = z[0]
        w = z + 1
        return w, row * 3

    assert_same(function, example())


def test_a_tensor_beside_itself():
    assert_same(lambda x: ((x + 1) * (x + 1), (y := x * 2).mul(y), y.t() @ y), example())


def test_calls_without_a_schema_are_left_alone():
    graph = rushlight.fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(rushlight.ops.aten.add.Tensor, (x, 1))
    kept = graph.call_function(tuple, ([y],))
    graph.output((graph.call_function(rushlight.ops.aten.relu.default, (y,)), kept))
    module = rushlight.fx.GraphModule({}, graph)
    made = reinplace(module, example())
    assert "relu.default" in targets(made)
    found, (before,) = made(example())
    assert rushlight.equal(found, (example() + 1).relu())
    assert rushlight.equal(before, example() + 1)


@pytest.mark.parametrize("seed", range(30))
def test_programs_by_chance(seed):
    """Ops, views and writes to views in any order."""
    choose = random.Random(seed)
    steps = [(choose.randrange(8), choose.random(), choose.random()) for _ in range(12)]

    def function(x):
        values = [x.clone(), x + 0.5]
        for kind, first, second in steps:
            a, b = (values[int(share * len(values))] for share in (first, second))
            if kind < 3:
                values.append((a.relu(), a * 0.5, a.sin())[kind])
            elif kind == 3:
                values.append(a + b)
            elif kind == 4:
                a[1].add_(1)
            elif kind == 5:
                a[:, 1:3].mul_(2)
            elif kind == 6:
                values.append(a.select_scatter(b[2], 0, 1))
            else:
                values.append(a.view(3, 4))
        return tuple(values[-4:])

    assert_same(function, example())
