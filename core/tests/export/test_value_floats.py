"""Floats that exported programs read from tensors: graphs, errors, sizes, archives."""

import io
import math
import operator

import pytest

import rushlight
from rushlight import nn
from rushlight.export import Dim, export, load, save
from rushlight.export.dynamic.drawn_floats import computed
from rushlight.export.graph_signature import SymFloatArgument
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode


class Applied(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def exported(function, *args, **options):
    return export(Applied(function), args or (rushlight.tensor([0.5, 2.0, 3.0]),), **options)


def reread(program):
    buffer = io.BytesIO()
    save(program, buffer)
    buffer.seek(0)
    return load(buffer)


def test_operations_are_nodes_and_unread_ones_are_dropped():
    def program(x):
        s = x[0].item()
        unread = s * 3  # noqa: F841 - no node
        return x * (s * 2 + 1.5), s

    found = exported(program)
    assert [str(n.target).split(" ")[-1] for n in found.graph.nodes if n.op == "call_function"] == [
        "aten.select.int", "aten.item.default", "mul>", "add>", "aten.mul.Tensor",
    ]  # fmt: skip
    described = [
        str(n.meta["val"]) for n in found.graph.nodes if isinstance(n.meta.get("val"), float)
    ]
    assert described == ["zuf0", "zuf0*2.0", "zuf0*2.0 + 1.5"]
    (result,) = [s for s in found.graph_signature.output_specs if s.arg.name == "item"]
    assert isinstance(result.arg, SymFloatArgument)
    values, number = reread(found).module()(rushlight.tensor([0.25, 1.0, 2.0]))
    assert values.tolist() == [0.5, 2.0, 4.0] and number == 0.25


def test_arguments_of_ops_and_writes():
    def program(x):
        s = x[0].item()
        y = rushlight.nn.functional.softplus(x, s) + rushlight.nn.functional.leaky_relu(-x, s)
        y[1] = s
        y += s
        return rushlight.where(y > s, s, 0.0), y.masked_fill(y > 1, s), rushlight.linspace(0, s, 3)

    found, x = exported(program), rushlight.tensor([0.25, -1.0, 2.0])
    for one in (found, found.run_decompositions(), reread(found)):
        results = zip(one.module()(x), program(x), strict=True)
        assert all(a.tolist() == b.tolist() for a, b in results)


def test_sizes_and_floats_together():
    def program(x):
        s = x[0].item()
        return x * (s * x.shape[0]), s / x.shape[0], x / x.shape[0] - s

    found = exported(program, rushlight.ones(3), dynamic_shapes=({0: Dim("rows")},))
    x = rushlight.full((5,), 2.0)
    assert found.module()(x)[0].tolist() == [20.0] * 5
    assert [v.tolist() if hasattr(v, "tolist") else v for v in reread(found).module()(x)] == [
        [20.0] * 5, 0.4, (x / 5 - 2).tolist(),
    ]  # fmt: skip


def test_checks_are_kept_and_decide_branches():
    def program(x):
        s = x.mean().item()
        rushlight._check(s > 0.5)
        rushlight._check(s != 7)
        return x * 2 if s > 0.5 and not s <= 0.5 else x

    found = exported(program)
    for one in (found, reread(found), found.run_decompositions()):
        assert one.module()(rushlight.ones(3)).tolist() == [2.0] * 3
        with pytest.raises(RuntimeError, match=r"expression zuf0 > 0.5 on node 'gt'"):
            one.module()(rushlight.zeros(3))


NEEDED = {
    "a branch": (lambda s, x: x if s > 0 else -x, r"_check\(zuf0 > 0.0\)"),
    "a truth value": (lambda s, x: x if s else -x, "zuf0 != 0.0"),
    "a whole number": (lambda s, x: x * int(s), "int.. of zuf0 needs its value"),
    "a remainder": (lambda s, x: x * (s % 2), "mod.. of zuf0 needs its value"),
    "a rounded number": (lambda s, x: x * round(s * 2), r"round.. of zuf0\*2.0 needs"),
    "an argument that is made another": (
        lambda s, x: nn.functional.layer_norm(x, (3,), eps=s), "an argument of aten.layer_norm",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEEDED)
def test_values_that_a_capture_needs_are_errors_with_the_line(name):
    function, text = NEEDED[name]
    with pytest.raises(GuardOnDataDependentSymNode, match=text):
        exported(lambda x: function(x[0].item(), x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * rushlight.tensor([x[0].item(), 1.0, 1.0]),
        lambda x: x * rushlight.tensor(x.long().sum().item()),
    ],
)
def test_tensors_of_values_are_computed(function):
    program = exported(function).module()
    for values in ([0.5, 1.5, -2.0], [3.0, 4.5, 6.0]):
        x = rushlight.tensor(values)
        assert rushlight.equal(program(x), function(x))


def test_floats_that_never_fit():
    def never(x):
        s = x[0].item()
        rushlight._check(s > 5)
        rushlight._check(s < 5)
        return x * s

    with pytest.raises(GuardOnDataDependentSymNode, match="Could not find numbers"):
        exported(never)


def test_symbolic_make_fx():
    def program(x, y):
        s = x.max().item()
        return y * s - 1 / s

    x, y = rushlight.tensor([0.5, 2.0]), rushlight.ones(2, 3)
    module = make_fx(program, tracing_mode="symbolic")(x, y)
    assert "item" in module.code and "truediv" in module.code
    x, y = x * 3, rushlight.ones(4, 5)
    assert module(x, y).tolist() == program(x, y).tolist()
    with pytest.raises(GuardOnDataDependentSymNode, match="item"):
        make_fx(program)(x, y)


def test_symbolic_make_fx_is_pytorchs():
    torch = pytest.importorskip("torch")
    from torch.fx.experimental.proxy_tensor import make_fx as theirs

    def program(x, y):
        s = x.max().item()
        return (y - s) * (s * 2)

    ours = make_fx(program, tracing_mode="symbolic")(rushlight.ones(2), rushlight.ones(2, 3))
    other = theirs(program, tracing_mode="symbolic", _error_on_data_dependent_ops=False)(
        torch.ones(2), torch.ones(2, 3)
    )
    name = {"aten.item.default": "aten._local_scalar_dense.default"}
    found, expected = (
        [str(n.target) for n in module.graph.nodes if n.op == "call_function"]
        for module in (ours, other)
    )
    assert [name.get(target, target) for target in found] == expected


def test_long_expressions_end():
    def squared(x, times):
        s = x[0].item()
        for _ in range(times):
            s = s * s
        return x * s

    found = exported(lambda x: squared(x, 6), rushlight.tensor([1.5, 2.0]))
    assert reread(found).module()(rushlight.tensor([1.0, 3.0])).tolist() == [1.0, 3.0]
    with pytest.raises(GuardOnDataDependentSymNode, match="more than 200 numbers and operations"):
        exported(lambda x: squared(x, 40), rushlight.tensor([1.5, 2.0]))


def test_powers_of_whole_numbers_in_files_end():
    found = computed(operator.pow, [10**9, 10**9])
    assert math.isnan(found)
