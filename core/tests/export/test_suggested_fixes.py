"""Fixes that errors of the export suggest, and `refine_dynamic_shapes_from_suggested_fixes`."""

import math
import warnings

import pytest

import rushlight
from rushlight._dynamo.exc import UserError
from rushlight.export import Dim, dynamic_shapes, export
from rushlight.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes
from rushlight.fx.experimental.symbolic_shapes import ConstraintViolationError

DERIVED = "of a derived size"  # which PyTorch does not refuse
# What a program computes; the sizes of its arguments; what is said of these: "a", or "2*a" for a
# size that follows; the fixes.
CASES = {
    "one number": (lambda lib, x: x + lib.ones(4), [4], ["a"], ["a = 4"]),
    "two numbers": (lambda lib, x, y: (x + lib.ones(4), y + lib.ones(5)), [4, 5], ["a", "b"],
                    ["a = 4", "b = 5"]),
    "equal": (lambda lib, x, y: x + y, [4, 4], ["a", "b"], ["b = a"]),
    "all equal": (lambda lib, x, y, z: x + y, [4, 4, 5], ["a", "b", "c"], ["b = a"]),
    "longer": (lambda lib, x, y: x + y[1:], [4, 5], ["a", "b"], ["b = a + 1"]),
    "the first longer": (lambda lib, x, y: x[2:] + y, [6, 4], ["a", "b"], ["a = b + 2"]),
    "twice": (lambda lib, x, y: lib.cat([x, x]) + y, [4, 8], ["a", "b"], ["b = 2*a"]),
    "at least": (lambda lib, x: x + 1 if x.shape[0] > 5 else x - 1, [9], ["a"],
                 ["a = Dim('a', min=6)"]),
    "at most": (lambda lib, x: x + 1 if x.shape[0] <= 5 else x - 1, [4], ["a"],
                ["a = Dim('a', max=5)"]),
    "even": (lambda lib, x: x.reshape(-1, 2).sum(1), [4], ["a"], ["_a = Dim('_a')", "a = 2*_a"]),
    DERIVED: (lambda lib, x: x + 1 if x.shape[0] > 9 else x - 1, [12], ["2*a"],
                          ["a = Dim('a', min=5)"]),
}  # fmt: skip


def case(name, library):
    """The export of a case by `dynamic_shapes`, these, and the fixes."""
    compute, sizes, said, expected = CASES[name]

    class Program(library.nn.Module):
        def forward(self, x, y=None, z=None):
            return compute(library, *(each for each in (x, y, z) if each is not None))

    names = sorted({word[-1] for word in said})
    dims = {n: library.export.Dim(n) for n in names}
    shapes = tuple({0: dims[w] if w in dims else int(w[0]) * dims[w[-1]]} for w in said)

    def run(shapes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return library.export.export(
                Program(), tuple(library.ones(n) for n in sizes), dynamic_shapes=shapes
            )

    return run, shapes, expected


def fixes_of(error):
    _, _, rest = error.msg.partition("Suggested fixes:\n")
    return [line.strip() for line in rest.partition("\n\n")[0].splitlines()]


def refused(run, shapes, kind):
    with pytest.raises(kind) as caught:
        run(shapes)
    return caught.value


@pytest.mark.parametrize("name", CASES)
def test_what_is_suggested_can_be_exported(name):
    run, shapes, expected = case(name, rushlight)
    error = refused(run, shapes, ConstraintViolationError)
    assert isinstance(error, UserError) and error.msg == str(error)
    assert fixes_of(error) == expected
    run(refine_dynamic_shapes_from_suggested_fixes(str(error), shapes))


def line(dim):
    """A size as its root's name and limits, factor and offset; others as they are."""
    if isinstance(dim, int):
        return dim
    root = getattr(dim, "root", dim)
    low, high = (dim.fn(n) for n in (0, 1)) if hasattr(dim, "fn") else (0, 1)
    if isinstance(dim, Dim):
        _, factor, offset = dim.expression.line()
        low, high = offset, factor + offset
    most = root.max if math.isinf(float(root.max)) else int(root.max)
    return root.__name__, int(root.min), str(most), high - low, low


@pytest.mark.parametrize("name", [name for name in CASES if name != DERIVED])
def test_fixes_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    from torch._dynamo.exc import UserError as TheirError
    from torch.export import dynamic_shapes as theirs

    found = []
    libraries = (rushlight, UserError, dynamic_shapes), (torch, TheirError, theirs)
    for library, kind, home in libraries:
        run, shapes, expected = case(name, library)
        error = refused(run, shapes, kind)
        if name != "even":  # where PyTorch writes limits that do not limit
            assert fixes_of(error) == expected
        made = home.refine_dynamic_shapes_from_suggested_fixes(error.msg, shapes)
        run(made)
        found.append([line(sizes[0]) for sizes in made])
    ours, theirs = found
    assert ours == [(*t[:2], "inf", *t[3:]) if "oo" in str(t) else t for t in theirs]


def test_ranges_keep_the_limits_of_the_user():
    class Branch(rushlight.nn.Module):
        def forward(self, x):
            return x + 1 if x.shape[0] > 5 else x - 1

    for dim, x, expected in (
        (Dim("n", min=3, max=20), rushlight.ones(9), "n = Dim('n', min=6, max=20)"),
        (Dim("n", min=3), rushlight.ones(4), "n = Dim('n', min=3, max=5)"),
    ):
        error = refused(
            lambda shapes, x=x: export(Branch(), (x,), dynamic_shapes=shapes), ({0: dim},),
            ConstraintViolationError,
        )  # fmt: skip
        assert fixes_of(error) == [expected]


def test_sizes_without_a_name_get_no_suggestion():
    class Fixed(rushlight.nn.Module):
        def forward(self, x, y):
            return x + rushlight.ones(4), y + rushlight.ones(4)

    x = rushlight.ones(4)
    with pytest.raises(ConstraintViolationError) as caught:
        export(Fixed(), (x, x), dynamic_shapes=({0: Dim.DYNAMIC}, None))
    assert "Suggested fixes" not in str(caught.value)


TEXT = """Constraints violated (a, b)!
Suggested fixes:
  a = Dim('a', min=3, max=6)
  b = 2*_b + 1
  _b = Dim('_b', min=1, max=oo)
  c = 4
  d = a - 1

The error above occurred when calling export."""


def described(dim):
    return dim if not isinstance(dim, Dim) else (str(dim), dim.min, dim.max)


def test_all_kinds_of_fixes():
    a, b, c, d, e = (Dim(name) for name in "abcde")
    shapes = {
        "x": {0: a, 1: 2 * a},
        "y": [(b, None, c), {0: 3 * c, 1: Dim.AUTO, 2: 7}],
        "z": (d, e),
    }
    made = refine_dynamic_shapes_from_suggested_fixes(TEXT, shapes)
    assert {k: described(v) for k, v in made["x"].items()} == {
        0: ("a", 3, 6), 1: ("2*a", 6, 12),
    }  # fmt: skip
    (first, second), z = made["y"], made["z"]
    assert tuple(map(described, first)) == (("2*_b + 1", 3, math.inf), None, 4)
    assert second == {0: 12, 1: Dim.AUTO, 2: 7}
    assert described(z[0]) == ("a - 1", 2, 5) and z[1] is e
    assert made["x"][1].root is made["x"][0] and shapes["x"][0] is a


@pytest.mark.parametrize(
    "text, error, match",
    [
        ("Constraints violated (a)!", UserError, "Suggested fixes not found"),
        ("Suggested fixes:\n  a is 4", UserError, "'a is 4' is no fix"),
        ("Suggested fixes:\n  q = 4", AssertionError, r"fix for \['q'\].*has \['a'\]"),
    ],
)
def test_texts_without_fixes(text, error, match):
    with pytest.raises(error, match=match):
        refine_dynamic_shapes_from_suggested_fixes(text, ({0: Dim("a")},))
