"""Programs with sizes that may differ: values at other sizes, ranges, errors, archives."""

from __future__ import annotations

import io
import math

import pytest
from op_models import NAMES, cases, rows_free, with_other_rows

import rushlight
import rushlight.export
from rushlight import nn
from rushlight._dynamo.exc import UserError
from rushlight.export import Dim, ShapesCollection, export
from rushlight.export.dynamic.expressions import add, over, symbol, times
from rushlight.export.dynamic.fitting import Quantities
from rushlight.fx.experimental.symbolic_shapes import ConstraintViolationError
from rushlight.utils import _pytree as pytree

MOVED = frozenset(["resize_as"])  # resizes its input, which is none of the program's own


def agree(found, expected):
    for one, other in zip(*map(pytree.tree_leaves, (found, expected)), strict=True):
        if isinstance(other, rushlight.Tensor):
            assert one.shape == other.shape and one.dtype is other.dtype
            one, other = (t.resolve_conj().resolve_neg() for t in (one, other))
            rushlight.testing.assert_close(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
        else:
            assert one == other and type(one) is type(other)


def check(model, inputs, shapes, others):
    """The program, without writes too, and from its archive, at the example's sizes and others."""
    program = export(model, inputs, dynamic_shapes=shapes)
    file = io.BytesIO()
    rushlight.export.save(program, file)
    file.seek(0)
    for made in (program, program.run_decompositions(), rushlight.export.load(file)):
        assert made.range_constraints == program.range_constraints
        for given in (inputs, *others):
            with rushlight.no_grad():
                agree(made.module()(*given), model(*given))
    return program


class Sizes(nn.Module):
    """Sizes as numbers: in shapes, in arithmetic, as results."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x, y):
        b = x.shape[0]
        made = rushlight.zeros(b, 2) + y.sum() / b
        scaled = x.mean() * b**-0.5 + math.log(b) + math.sqrt(y.shape[0]) + 1 / b
        return self.layer(x).reshape(b * 3), (y * 2).view(-1), b, made, scaled, b // 2 + 1


def test_what_depends_on_sizes_is_computed():
    r = rushlight.randn
    model = Sizes()
    shapes = {"x": {0: Dim("batch", min=2, max=64)}, "y": {0: Dim("other")}}
    inputs = (r(5, 4), r(6, 2))
    program = export(model, inputs, dynamic_shapes=shapes)
    for made in (program, program.run_decompositions()):
        for given in (inputs, (r(8, 4), r(3, 2)), (r(64, 4), r(1, 2))):
            with rushlight.no_grad():
                agree(made.module()(*given), model(*given))
    targets = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    assert targets.count("aten.sym_size.int") == 2
    assert str(program.range_constraints) == "{batch: VR[2, 64], other: VR[0, int_oo]}"
    sizes = [n.meta["sizes"] for n in program.graph.nodes if n.name == "reshape"]
    assert str(sizes) == "[(3*batch,)]"


@pytest.mark.filterwarnings("ignore:range is deprecated")
@pytest.mark.parametrize("name", NAMES)
def test_ops_at_other_sizes(name):
    """The first dimension of every tensor may differ, or turns out to be fixed."""
    for model, inputs in cases(name):
        try:
            export(model, inputs)
        except (NotImplementedError, RuntimeError):
            continue
        program = export(model, inputs, dynamic_shapes=rows_free(inputs))
        given = with_other_rows(program, inputs)
        if given is None or name in MOVED:
            continue
        try:
            rushlight.manual_seed(5)
            expected = model(*given)
        except (RuntimeError, IndexError, ValueError):
            continue  # the op has no such sizes
        rushlight.manual_seed(5)
        agree(program.module()(*given), expected)


def test_networks():
    r = rushlight.randn
    batch = Dim("batch")
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(4, 5, 3), nn.Flatten(), nn.LazyLinear(2),
    ).eval()  # fmt: skip
    network(r(1, 3, 30, 22))
    check(network, (r(2, 3, 30, 22),), ({0: batch},), [(r(5, 3, 30, 22),), (r(1, 3, 30, 22),)])
    pooled = nn.Sequential(*network[:5], nn.AdaptiveAvgPool2d(1), nn.Flatten())
    sizes = {0: batch, 2: Dim("height", min=16), 3: Dim("width", min=16)}
    program = check(pooled, (r(2, 3, 30, 22),), (sizes,), [(r(3, 3, 31, 47),), (r(1, 3, 16, 17),)])
    known = [str(n.meta["sizes"]) for n in program.graph.nodes if "conv2d" in n.name]
    assert known[0] == "(batch, 4, (height + 1)//2, (width + 1)//2)"
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    check(layer, (r(2, 7, 8),), ({0: batch, 1: Dim("words")},), [(r(3, 9, 8),)])
    recurrent = nn.LSTM(4, 5, batch_first=True, bidirectional=True)
    check(recurrent, (r(2, 7, 4),), ({0: batch, 1: Dim.DYNAMIC},), [(r(3, 9, 4),)])


class Join(nn.Module):
    """Two inputs of equal first sizes."""

    def forward(self, x, y):
        return rushlight.cat([x, y], 1) @ rushlight.ones(x.shape[1] + y.shape[1], 2)


def test_sizes_that_nobody_names_may_be_equal():
    r, auto = rushlight.randn, {0: Dim.AUTO, 1: Dim.AUTO}
    program = check(Join(), (r(4, 5), r(4, 3)), (auto, auto), [(r(6, 7), r(6, 2))])
    assert len(program.range_constraints) == 3
    with pytest.raises(AssertionError, match=r"y.shape\[0\] is 5, but must be 6"):
        program.module()(r(6, 7), r(5, 2))
    with pytest.raises(ConstraintViolationError, match="do not vary together|needs it to be 4"):
        export(Join(), (r(4, 5), r(4, 3)), dynamic_shapes=({0: Dim("a")}, {0: Dim("b")}))


class Branch(nn.Module):
    """Another program for few rows."""

    def forward(self, x):
        return x * 2 if x.shape[0] > 3 else x * 3


class Loop(nn.Module):
    """A program of its own for every size."""

    def forward(self, x):
        return sum(x[i] for i in range(x.shape[0]))


def test_sizes_that_choose_the_program():
    x = rushlight.randn(5, 2)
    with pytest.raises(
        ConstraintViolationError, match=r"Suggested fixes:\n  n = Dim\('n', min=4\)"
    ):
        export(Branch(), (x,), dynamic_shapes=({0: Dim("n")},))
    program = export(Branch(), (x,), dynamic_shapes=({0: Dim.AUTO},))
    assert str(program.range_constraints) == "{s0: VR[4, int_oo]}"
    with pytest.raises(AssertionError, match="expected at least 4"):
        program.module()(x[:3])
    for size in (Dim("n", min=2), Dim.DYNAMIC):
        with pytest.raises(ConstraintViolationError, match="needs it to be 5.*\n.*in <genexpr>"):
            export(Loop(), (x,), dynamic_shapes=({0: size},))
    assert not export(Loop(), (x,), dynamic_shapes=({0: Dim.AUTO},)).range_constraints


@pytest.mark.parametrize("limit", [30, 100])
def test_a_branch_far_above_the_example(limit):
    """Without an upper limit; the limit that is proposed is PyTorch's."""
    torch = pytest.importorskip("torch")

    def branching(x):
        return x * 2 if x.shape[0] > limit else x.sin()

    for framework in (rushlight, torch):
        program = type("Program", (framework.nn.Module,), {"forward": lambda self, x: branching(x)})
        given, size = (framework.ones(6),), ({0: framework.export.Dim("n")},)
        with pytest.raises(Exception, match=rf"Suggested fixes:\n  n = Dim\('n', max={limit}\)"):
            framework.export.export(program(), given, dynamic_shapes=size)
        automatic = ({0: framework.export.Dim.AUTO},)
        made = framework.export.export(program(), given, dynamic_shapes=automatic)
        assert [str(v) for v in made.range_constraints.values()] == [f"VR[2, {limit}]"]


def test_derived_sizes():
    r = rushlight.randn
    shapes = ({2: 4 * Dim("h"), 3: 4 * Dim("w")},)
    program = check(nn.PixelUnshuffle(4), (r(1, 1, 8, 12),), shapes, [(r(1, 1, 16, 4),)])
    with pytest.raises(AssertionError, match=r"is 9, which is not 4\*h for any whole h"):
        program.module()(r(1, 1, 9, 4))
    with pytest.raises(ConstraintViolationError, match=r"size 9 of input.shape\[2\] is not 4\*h"):
        export(nn.PixelUnshuffle(4), (r(1, 1, 9, 12),), dynamic_shapes=shapes)


def test_structures_and_collections():
    class Model(nn.Module):
        def forward(self, parts, *, more):
            return parts["a"].sum() + parts["b"][0] * more.shape[0]

    r, n = rushlight.randn, Dim("n")
    parts, more = {"a": r(4, 2), "b": [r(3)]}, r(4)
    by_hand = {"parts": {"a": {0: n}, "b": [None]}, "more": (n,)}
    collection = ShapesCollection()
    collection[parts["a"]], collection[more][0] = {0: n}, n
    for shapes in (by_hand, collection):
        program = export(Model(), (parts,), {"more": more}, dynamic_shapes=shapes)
        given = {"a": r(6, 2), "b": [r(3)]}
        agree(program.module()(given, more=r(6)), Model()(given, more=r(6)))


@pytest.mark.parametrize(
    ("shapes", "error", "text"),
    [
        ({"y": {0: Dim("n")}}, UserError, "must be the arg names"),
        (({3: Dim("n")},), IndexError, "names dimension 3 of a tensor of 2 dimensions"),
        (({0: "n"},), UserError, "expected a Dim"),
        (({0: 7},), ConstraintViolationError, "constraint of 7 does not match input size of 5"),
        (({0: Dim("n", max=4)},), ConstraintViolationError, r"5 not in range \[0, 4\]"),
        (({0: Dim("n"), 1: Dim("n")},), ConstraintViolationError, "use another Dim"),
        (({"n": Dim("n")},), UserError, "names 'n', which is no dimension"),
        ((None, None), UserError, "an entry for each of the 1 arguments"),
    ],
    ids=str,
)
def test_what_is_refused(shapes, error, text):
    with pytest.raises(error, match=text):
        export(Loop(), (rushlight.ones(5, 2),), dynamic_shapes=shapes)


def test_dims():
    assert [d.__name__ for d in rushlight.export.dims("a", "b", max=3)] == ["a", "b"]
    derived = 2 * Dim("n", max=5) + 1
    assert (str(derived), derived.min, derived.max) == ("2*n + 1", 1, 11)
    printed = [Dim("n"), Dim("n", min=2), Dim("n", min=3, max=9), derived, Dim("n") - 1, Dim.AUTO,
               Dim.DYNAMIC(min=2), Dim.AUTO(min=1, max=8)]  # fmt: skip
    assert repr(printed) == (  # as PyTorch 2.13 prints them
        "[Dim('n', min=0), Dim('n'), Dim('n', min=3, max=9), 2*n + 1, n - 1, DimHint(AUTO), "
        "DimHint(DYNAMIC, min=2), DimHint(AUTO, min=1, max=8)]"
    )
    with pytest.raises(AssertionError, match="max 1 is less than min 2"):
        Dim("n", min=2, max=1)
    with pytest.raises(AssertionError, match="max 1 is less than min 2"):
        Dim.AUTO(min=2, max=1)
    with pytest.raises(AssertionError, match="must be an identifier"):
        Dim("1n")
    with pytest.raises(NotImplementedError, match="only whole numbers"):
        Dim("n") * 1.5


@pytest.mark.parametrize(
    "expression",
    [
        add(times(3, symbol("a")), 5),
        over(add(symbol("a"), -3), 2),
        times(symbol("a"), symbol("b")),
        times(6, times(symbol("a"), over(add(symbol("b"), 1), 2))),
        add(add(symbol("a"), symbol("b")), 4),
        over(times(2, symbol("a")), 3),
    ],
    ids=str,
)
def test_expressions_are_found(expression):
    samples = [{"a": a, "b": b} for a, b in [(5, 9), (6719, 13441), (6720, 23), (6721, 13440),
                                              (18, 31), (14, 13439)]]  # fmt: skip
    known = Quantities(samples)
    known.expression([(s["b"] + 1) // 2 for s in samples])
    found = known.expression([expression.value(s) for s in samples])
    for a, b in [(2, 3), (50, 61), (99, 1000)]:
        assert found.value({"a": a, "b": b}) == expression.value({"a": a, "b": b})


def test_pytorch_reads_and_writes_them(tmp_path):
    """Archives go both ways, with ranges and values."""
    torch = pytest.importorskip("torch")
    ours = export(Linear3(), (rushlight.ones(5, 4),), dynamic_shapes=({0: Dim("n", min=2)},))
    rushlight.export.save(ours, tmp_path / "ours.pt2")
    theirs = torch.export.load(tmp_path / "ours.pt2")
    assert [str(k) for k in theirs.range_constraints] == ["n"]
    given = rushlight.randn(7, 4)
    found, size = theirs.module()(torch.from_numpy(given.numpy()))
    rushlight.testing.assert_close(rushlight.from_numpy(found.numpy()), Linear3()(given)[0])
    assert size == 21

    class Model(torch.nn.Module):
        def forward(self, x):
            return x.view(-1, 2) + x.shape[0] // 2, x.shape[0] * 3

    shapes = ({0: torch.export.Dim("n", min=2, max=32)},)
    program = torch.export.export(Model(), (torch.ones(6, 4),), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "theirs.pt2")
    read = rushlight.export.load(tmp_path / "theirs.pt2")
    assert [(v.lower, v.upper) for v in read.range_constraints.values()] == [(2, 32)]
    for made in (read, read.run_decompositions()):
        values, size = made.module()(given)
        agree(values, given.view(-1, 2) + 3)
        assert size == 21
    with pytest.raises(AssertionError, match="at most 32"):
        read.module()(rushlight.ones(33, 4))


class Linear3(nn.Module):
    """Rows of ones to rows of sums, and a size."""

    def forward(self, x):
        return (x * x.shape[0]).sum(1).reshape(x.shape[0], 1), x.shape[0] * 3


class Nested:
    """Made a module of either library."""

    def forward(self, named, listed, *, last):
        first = named["a"].sum(0) + named["b"][0].sum(0)
        return first + listed[0].sum(0) + listed[1].sum(0) + last.sum(0)


def nested(library, shapes):
    """The sizes that may differ, by input."""
    model = type("Nested", (Nested, library.nn.Module), {})()
    named = {"a": library.ones(2, 3), "b": (library.ones(3, 3),)}
    args = (named, [library.ones(4, 3), library.ones(5, 3)])
    program = library.export.export(
        model, args, {"last": library.ones(6, 3)}, dynamic_shapes=shapes(library.export.Dim)
    )
    found = {}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            sizes = node.meta.get("sizes") or node.meta["val"].shape
            found[node.name] = [i for i, size in enumerate(sizes) if type(size) is not int]
    return {name: dims for name, dims in found.items() if dims}


@pytest.mark.parametrize(
    ("shapes", "free"),
    [
        (
            lambda dim: {
                "named": {"a": {0: dim.AUTO}, "b": ({0: dim.DYNAMIC},)},
                "listed": [{0: dim.STATIC}, {0: dim.AUTO(max=9)}], "last": None,
            },
            ["named_a", "named_b_0", "listed_1"],
        ),
        (
            lambda dim: (
                {"a": [dim.AUTO, dim.STATIC], "b": (None,)}, [(dim.DYNAMIC, None), None],
                {0: dim.DYNAMIC(min=2)},
            ),
            ["named_a", "listed_0", "last"],
        ),
        (lambda dim: {}, []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("library", ["rushlight", "torch"])
def test_hints_in_structures(library, shapes, free):
    library = pytest.importorskip(library)
    assert nested(library, shapes) == {name: [0] for name in free}


@pytest.mark.parametrize(
    "shapes",
    [
        lambda dim: {"named": {"a": None, "b": (None,)}, "listed": [None, None]},
        lambda dim: {"last": {0: dim.AUTO}},
        lambda dim: {
            "named": {"a": None, "b": (None,)}, "listed": [None, None], "last": None, "x": None,
        },
        lambda dim: {"named": {"a": {0: dim.AUTO}}, "listed": [None, None], "last": None},
        lambda dim: {
            "named": {"a": None, "b": (None,), "c": None}, "listed": [None, None], "last": None,
        },
        lambda dim: {"named": {"a": None, "b": (None,)}, "listed": [{0: dim.AUTO}], "last": None},
        lambda dim: {"named": dim.AUTO, "listed": [None, None], "last": None},
    ],
)  # fmt: skip
@pytest.mark.parametrize("library", ["rushlight", "torch"])
def test_every_part_of_the_arguments_is_named(library, shapes):
    library = pytest.importorskip(library)
    error = pytest.importorskip(f"{library.__name__}._dynamo.exc").UserError
    with pytest.raises(error):
        nested(library, shapes)
