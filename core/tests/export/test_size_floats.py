"""Floats that programs make of sizes that may differ: values at other sizes, archives, ONNX."""

from __future__ import annotations

import io
import math

import pytest

import rushlight
from rushlight import nn
from rushlight.export import Dim, export
from rushlight.fx.experimental.symbolic_shapes import ConstraintViolationError

SIZES = (2, 3, 7, 20, 64, 100, 1001)
FLOATS = {
    "product": lambda n: n * 0.1,
    "product with a long number": lambda n: (2 * n + 1) * math.pi,
    "quotient": lambda n: n / 3,
    "quotient of a product": lambda n: n * 3 / 7,
    "negative": lambda n: -(n * 0.7),
    "line": lambda n: 1 - n * 0.25,
    "line above a size": lambda n: n * 0.7 + n + 3.5,
    "rounded down": lambda n: n * 0.7 // 2,
    "rounded up": lambda n: float(math.ceil(n / 6)),
    "power": lambda n: n**-0.5,
    "magnitude": lambda n: abs(n * 0.1 - 5),
    "magnitude of a falling line": lambda n: abs(60.25 - n * 3) + 0.0,
}
COUNTS = {
    "int": lambda n: int(n * 0.5),
    "floor": lambda n: math.floor(n * 7 / 20),
    "ceil": lambda n: math.ceil(n * 0.35),
    "trunc": lambda n: math.trunc(n / 4 + 0.5),
    "round down": lambda n: n * 13 // 37,
}


class Scaled(nn.Module):
    """A tensor times a float of its size, which is an argument of other ops too."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        number = self.function(x.shape[0])
        return x * number, rushlight.full((x.shape[0],), number), nn.functional.leaky_relu(-x, 0.1)


class Cut(nn.Module):
    """As many rows as a float of the size says."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return x[: self.function(x.shape[0])]


def exported(model):
    return export(model, (rushlight.ones(7, 2),), dynamic_shapes=({0: Dim("n", min=2)},))


def reread(program):
    file = io.BytesIO()
    rushlight.export.save(program, file)
    file.seek(0)
    return rushlight.export.load(file)


def assert_same(found, expected):
    found, expected = (v if isinstance(v, tuple) else (v,) for v in (found, expected))
    for one, other in zip(found, expected, strict=True):
        rushlight.testing.assert_close(one, other, rtol=1e-6, atol=0)


def assert_right(model):
    program = exported(model)
    for made in (program, program.run_decompositions(), reread(program)):
        for size in SIZES:
            x = rushlight.arange(2.0 * size).reshape(size, 2)
            assert_same(made.module()(x), model(x))


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name):
    assert_right(Scaled(FLOATS[name]))


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    assert_right(Cut(COUNTS[name]))


def test_nodes_are_those_of_the_program():
    """As PyTorch writes them, with numbers of few digits."""
    code = exported(Scaled(lambda n: n * 0.1)).graph_module.code
    assert "sym_float * 0.1" in code
    assert "sym_size_int / 3" in exported(Scaled(lambda n: n / 3)).graph_module.code


def test_other_functions_are_errors():
    with pytest.raises(ConstraintViolationError, match="no expression of the sizes"):
        exported(Scaled(lambda n: math.sin(n)))


@pytest.mark.parametrize("name", ["product", "quotient", "line", "magnitude"])
def test_onnx(name):
    pytest.importorskip("onnxruntime")
    model = Scaled(FLOATS[name])
    program = rushlight.onnx.export(
        model, (rushlight.ones(7, 2),), dynamic_shapes=({0: Dim("n", min=2)},)
    )
    for size in SIZES:
        x = rushlight.ones(size, 2)
        assert_same(tuple(program(x)), model(x))


def test_a_magnitude_that_is_seen_from_one_side():
    """The line is negative at sizes below the example's alone, of which one is looked at."""
    model = Scaled(lambda n: abs(n * 3 - 20.25))
    program = exported(model)
    for each in (program, program.run_decompositions()):
        for size in (2, 3, 5, 6, 7, 8, 40):
            x = rushlight.ones(size, 2)
            assert_same(tuple(each.module()(x)), model(x))


def test_pytorch_reads_magnitudes(tmp_path):
    """Which it has as a node in its programs, and cannot write to archives."""
    torch = pytest.importorskip("torch")
    function = FLOATS["magnitude"]
    rushlight.export.save(exported(Scaled(function)), tmp_path / "ours.pt2")
    theirs = torch.export.load(tmp_path / "ours.pt2")
    program = type(
        "Program", (torch.nn.Module,), {"forward": lambda _, x: x * function(x.shape[0])}
    )
    shapes = ({0: torch.export.Dim("n", min=2)},)
    own = torch.export.export(program(), (torch.ones(7, 2),), dynamic_shapes=shapes)
    for size in SIZES:
        found, x = theirs.module()(torch.ones(size, 2))[0], torch.ones(size, 2)
        assert torch.equal(own.module()(x), x * function(size))
        torch.testing.assert_close(found, x * function(size), rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", ["product", "quotient", "line", "negative", "power"])
def test_pytorch_reads_and_writes_them(name, tmp_path):
    torch = pytest.importorskip("torch")
    rushlight.export.save(exported(Scaled(FLOATS[name])), tmp_path / "ours.pt2")
    theirs = torch.export.load(tmp_path / "ours.pt2")

    class Model(torch.nn.Module):
        def forward(self, x):
            return x * FLOATS[name](x.shape[0])

    shapes = ({0: torch.export.Dim("n", min=2)},)
    program = torch.export.export(Model(), (torch.ones(7, 2),), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "theirs.pt2")
    read = rushlight.export.load(tmp_path / "theirs.pt2")
    for size in SIZES:
        expected = Scaled(FLOATS[name])(rushlight.ones(size, 2))
        found = theirs.module()(torch.ones(size, 2))
        assert_same(tuple(rushlight.from_numpy(v.numpy()) for v in found), expected)
        for made in (read, read.run_decompositions()):
            assert_same(made.module()(rushlight.ones(size, 2)), expected[0])


@pytest.mark.parametrize("power", ["root", "logarithm"])
def test_numbers_that_no_expression_gives_are_not_taken_for_lines(power):
    # Near the example's size both are (n + 9) // 6, further away not.
    class Net(rushlight.nn.Module):
        def forward(self, x):
            n = x.shape[0]
            return x * int(n**0.5 if power == "root" else math.log2(n))

    net, x = Net(), rushlight.ones(9)
    with pytest.raises(RuntimeError, match="is another than at 9"):
        export(net, (x,), dynamic_shapes=({0: Dim("n")},))
    program = export(net, (x,), dynamic_shapes=({0: Dim.AUTO},))
    (limits,) = program.range_constraints.values()
    assert 9 <= limits.upper < 16
    for size in range(int(limits.lower), int(limits.upper) + 1):
        given = rushlight.ones(size)
        assert program.module()(given).tolist() == net(given).tolist()
