"""The functions on lists of tensors: their forms by position and by name, against PyTorch."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def _lists(lib):
    one = [lib.tensor([1.0, -2.0, 3.0]), lib.tensor([[0.5], [4.0]])]
    two = [lib.tensor([2.0, 2.0, -1.0]), lib.tensor([[1.5], [-3.0]])]
    return one, two, [x.abs() + 0.25 for x in one]


ADDED = [
    ("addcmul", "(x, a, b)"),
    ("addcmul", "(x, a, b, 0.1)"),
    ("addcmul", "(x, a, b, True)"),
    ("addcmul", "(x, a, b, value=2)"),
    ("addcmul", "(x, a, b, [0.1, 2.0])"),
    ("addcmul", "(x, a, b, (1, 3))"),
    ("addcmul", "(x, a, b, t([0.5, 2.0]))"),
    ("addcmul", "(x, a, b, t([0.5, 2.0], dtype=float64))"),
    ("addcmul", "(x, a, b, scalars=[0.5, 2.0])"),
    ("addcmul", "(x, a, b, scalars=t([1, 3]))"),
    ("addcmul", "(self=x, tensor1=a, tensor2=b, value=3)"),
    ("addcdiv", "(x, a, b, -0.1)"),
    ("addcdiv", "(x, a, b, [0.1, 2.0])"),
    ("addcdiv", "(x, a, b, t([0.5, 2.0]))"),
    ("addcdiv", "(x, tensor1=a, tensor2=b)"),
]
CALLS = [
    ("add", "(x, 2)"),
    ("add", "(x, scalar=2)"),
    ("add", "(x, [1, 2.5])"),
    ("add", "(x, scalars=[1, 2.5])"),
    ("add", "(x, a)"),
    ("add", "(x, a, alpha=3)"),
    ("add", "(x, other=a, alpha=3)"),
    ("add", "(x, t(2.0), alpha=3)"),
    ("add", "(tuple(x), tuple(a))"),
    ("sub", "(x, t(2.0))"),
    ("sub", "(x, a, alpha=2)"),
    ("mul", "(x, t(2.0))"),
    ("mul", "(x, scalars=[2, 3])"),
    ("div", "(x, b)"),
    ("div", "(x, 2)"),
    ("maximum", "(x, 1.0)"),
    ("maximum", "(x, [1.0, 4])"),
    ("minimum", "(x, a)"),
    ("minimum", "(x, t(1.0))"),
    ("clamp_min", "(x, a)"),
    ("clamp_min", "(x, [1.5, 2])"),
    ("clamp_max", "(x, scalar=1)"),
    ("lerp", "(x, a, 0.5)"),
    ("lerp", "(x, a, weight=[0.25, 2])"),
    ("lerp", "(x, a, b)"),
    ("lerp", "(x, tensors1=a, weights=b)"),
    ("pow", "(x, 2)"),
    ("pow", "(x, exponent=[2, 3])"),
    ("pow", "(b, a)"),
    ("sqrt", "(b)"),
    ("neg", "(self=x)"),
]
FRESH = [
    ("pow", "(2, x)"),
    ("pow", "(2, exponent=x)"),
    ("norm", "(x)"),
    ("norm", "(x, 1, float64)"),
    ("norm", "(x, ord=float('inf'), dtype=float64)"),
    ("powsum", "(x)"),
    ("powsum", "(x, 3, float64)"),
    ("powsum", "([x[0] * 1j], 2)"),
    ("max", "(x)"),
    ("mm", "([x[1]], [x[1].T])"),
    ("clone", "(x)"),
    ("add", "([t([1, 2])], [2.5])"),
    ("add", "([t([1, 2])], t(2.5, dtype=float64))"),
    ("add", "([t([1, 2])], [t(2.5, dtype=float64)])"),
    ("mul", "([t([1, 2])], t(2.5, dtype=float64))"),
    ("pow", "([t([1, 2])], t(2.0, dtype=float64))"),
    ("maximum", "([t([1, 2])], 1.5)"),
    ("minimum", "([t([1, 2])], t(1.5, dtype=float64))"),
]
ERRORS = [
    ("addcmul", "(x, a, b, [1.0, 2.0, 3.0])", "same number of elements as scalar list"),
    ("addcmul", "(x, a, b, t(0.5))", "dimension 1. Got 0"),
    ("addcmul", "(x, a, b, t([0.5]))", "match input of length 2 but got 1"),
    ("addcmul", "(x, a, b, t([0.5, 1, 2, 3])[::2])", "scalars to be contiguous"),
    ("addcmul", "(x, a, b, value=[1, 2])", "invalid combination"),
    ("addcmul", "(x, a, b, 'one')", "invalid combination"),
    ("addcmul", "(x, 2.0, b, 1.0)", "invalid combination"),
    ("add", "(x, a, 2)", "invalid combination"),
    ("add", "(x, 2, alpha=2)", "invalid combination"),
    ("add", "(x)", "invalid combination"),
    ("add", "(x, a[:1])", "same number of tensors, got 2 and 1"),
    ("add", "(x, [1])", "same number of elements as scalar list"),
    ("add", "([], 1)", "at least one tensor"),
    ("add", "(x, t([1.0, 2.0]))", "expected to be 0 dim but it has 1 dimensions"),
    ("add", "(x[0], 1)", "invalid combination"),
    ("sub", "(x, t(2.0, requires_grad=True))", "invalid combination"),
    ("div", "(x, 2, rounding_mode='floor')", "invalid combination"),
    ("max", "([t([])])", "empty tensor"),
]


def _called(lib, name, call):
    x, a, b = _lists(lib)
    scope = {"x": x, "a": a, "b": b, "t": lib.tensor, "float64": lib.float64}
    found = eval("call" + call, {"call": getattr(lib, "_foreach_" + name), **scope})
    return x, found


def _same(found, expected):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


@pytest.mark.parametrize(("name", "call"), ADDED + CALLS + FRESH)
def test_forms(name, call):
    (_, found), (_, expected) = _called(rushlight, name, call), _called(torch, name, call)
    assert type(found) is type(expected) is tuple
    _same(found, expected)


@pytest.mark.parametrize(("name", "call"), ADDED + CALLS)
def test_forms_in_place(name, call):
    x, found = _called(rushlight, name + "_", call)
    expected, returned = _called(torch, name + "_", call)
    assert type(found) is type(returned)
    _same(x, expected)
    _same(found, returned)


@pytest.mark.parametrize("call", ["(x, a)", "(x, a, True)", "(x, src=a, non_blocking=False)"])
def test_copies(call):
    x, found = _called(rushlight, "copy_", call)
    _same(x, _called(torch, "copy_", call)[0])
    assert found is x


@pytest.mark.parametrize(("name", "call", "message"), ERRORS)
def test_what_is_refused(name, call, message):
    with pytest.raises((TypeError, RuntimeError)) as theirs:
        _called(torch, name, call)
    with pytest.raises((TypeError, RuntimeError), match=message) as ours:
        _called(rushlight, name, call)
    assert ours.type is theirs.type


def test_lists_that_are_written_keep_their_dtype():
    with pytest.raises(RuntimeError, match="can't be cast"):
        rushlight._foreach_maximum_([rushlight.tensor([1, 2])], 1.5)
    for name in ("_foreach_copy", "_foreach_max_", "_foreach_mm_", "_foreach_clone_"):
        assert not hasattr(torch, name) and not hasattr(rushlight, name)


@pytest.mark.parametrize(("name", "value"), [("maximum", 2.0), ("clamp_min", 2.0), ("pow", 3)])
@pytest.mark.parametrize("form", ["one", "each"])
def test_gradients(name, value, form):
    found = []
    for lib in (rushlight, torch):
        x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        (y,) = getattr(lib, "_foreach_" + name)([x], value if form == "one" else [value])
        y.sum().backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_gradients_of_written_lists():
    found = []
    for lib in (rushlight, torch):
        x, a, _ = _lists(lib)
        leaves = [y.requires_grad_() for y in x]
        lists = [y * 1.0 for y in leaves]
        lib._foreach_addcmul_(lists, a, leaves, 0.5)
        if lib is rushlight:
            lib._foreach_maximum_(lists, 0.5)
        else:  # which has no derivative of the written form
            lists = lib._foreach_maximum(lists, 0.5)
        sum(y.sum() for y in lists).backward()
        found.append([y.grad.numpy() for y in leaves])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
