"""Stacks, splits, flips, view copies, replaced views, resized memory, segments."""

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.autograd.gradcheck import gradcheck, gradgradcheck
from rushlight.testing.oracle import assert_same, to_torch

torch = pytest.importorskip("torch")
X = np.arange(24.0).reshape(2, 3, 4)


def both(name, *args, **kwargs):
    """The same call here and there, on arrays, compared; strides too."""
    ours = [rushlight.from_numpy(a.copy()) if isinstance(a, np.ndarray) else a for a in args]
    theirs = to_torch(ours, torch)
    mine = getattr(rushlight, name)(*ours, **kwargs)
    other = getattr(torch, name)(*theirs, **kwargs)
    assert_same(mine, other)
    return mine, other


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack", "row_stack"])
def test_stacks(name):
    for parts in ([X, X], [X[0], X[0]], [X[0, 0], X[0, 0]], [np.array([2.0])[0:1].reshape(())] * 2):
        tensors = [rushlight.from_numpy(np.array(p)) for p in parts]
        theirs = [torch.from_numpy(np.array(p)) for p in parts]
        assert_same(getattr(rushlight, name)(tensors), getattr(torch, name)(theirs))
    with pytest.raises(RuntimeError, match="non-empty"):
        getattr(rushlight, name)([])


def test_at_least():
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        for part in (X, X[0], X[0, 0], np.array(1.0)):
            both(name, part)
        one, many = rushlight.ones(2), getattr(rushlight, name)((rushlight.ones(2),))
        assert isinstance(many, tuple) and isinstance(getattr(rushlight, name)(one), type(one))


def test_splits():
    both("hsplit", X, [1, 2])
    both("vsplit", X, 2)
    both("dsplit", X, 2)
    both("hsplit", X[0, 0], 2)
    both("tensor_split", X, (1, -1), dim=2)
    with pytest.raises(RuntimeError, match="not divisible"):
        rushlight.hsplit(rushlight.ones(2, 3), 2)


def test_unsafe_split_may_be_written_to():
    x = rushlight.ones(4, requires_grad=True)
    first, second = rushlight.unsafe_split(x * 1.0, 2)
    first.mul_(3.0)
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [3.0, 3.0, 1.0, 1.0]


def test_flips_and_turns():
    for name in ("fliplr", "flipud"):
        both(name, X)
    for k in range(-5, 6):
        both("rot90", X, k, (0, 2))
    for row, col, offset in ((3, 4, 0), (3, 4, 2), (4, 3, -1), (0, 3, 0)):
        both("tril_indices", row, col, offset)
        both("triu_indices", row, col, offset)
    both("diagflat", X[0], -1)


COPIES = {
    "alias_copy": (),
    "as_strided_copy": ((2, 2), (1, 2), 3),
    "diagonal_copy": (1, 0, 2),
    "expand_copy": ((5, 2, 3, 4),),
    "narrow_copy": (1, 1, 2),
    "permute_copy": ((2, 0, 1),),
    "select_copy": (1, 2),
    "slice_copy": (2, 0, 3, 2),
    "split_copy": (2, 2),
    "split_with_sizes_copy": ((1, 3), 2),
    "squeeze_copy": (),
    "transpose_copy": (0, 2),
    "unbind_copy": (1,),
    "unfold_copy": (2, 2, 1),
    "unsqueeze_copy": (1,),
    "view_copy": ((6, 4),),
}


@pytest.mark.parametrize("name", COPIES)
def test_view_copies(name):
    x = rushlight.from_numpy(X.copy())
    both(name, X, *COPIES[name])
    out = getattr(rushlight, name)(x, *COPIES[name])
    for piece in out if isinstance(out, tuple) else (out,):
        piece.zero_()
    assert x.sum() == X.sum()


@pytest.mark.parametrize(
    ("name", "shape", "rest"),
    [
        ("diagonal_scatter", (4, 2), (1, 0, 1)),
        ("select_scatter", (2, 4), (1, -1)),
        ("slice_scatter", (2, 3, 2), (2, 0, None, 2)),
        ("as_strided_scatter", (2, 2), ((2, 2), (1, 5), 3)),
    ],
)
def test_replaced_views(name, shape, rest):
    src = np.random.default_rng(0).normal(size=shape if name != "diagonal_scatter" else (4, 2))
    both(name, X, src, *rest)

    def call(x, src):
        return getattr(rushlight, name)(x, src, *rest)

    leaves = [rushlight.from_numpy(a.copy()).requires_grad_() for a in (X, src)]
    gradcheck(call, leaves)
    gradgradcheck(call, leaves)
    with pytest.raises(RuntimeError, match="src size"):
        call(leaves[0], leaves[1].reshape(-1))


def test_strides_as_asked():
    assert rushlight.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert rushlight.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    x = rushlight.ones(2, dtype=rushlight.int32).new_empty_strided((2, 2), (4, 1))
    assert x.stride() == (4, 1) and x.dtype is rushlight.int32
    with pytest.raises(RuntimeError, match="dimensionality"):
        rushlight.empty_strided((2, 3), (1,))


def test_resize_keeps_what_is_in_memory():
    x = rushlight.arange(6)
    view = x[1:]
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
    x[1] = 9
    assert view[0] == 9
    x.resize_(8)
    assert x.shape == (8,) and x[:6].tolist() == [0, 9, 2, 3, 4, 5]
    assert x.resize_as_(rushlight.ones(3, 2)).shape == (3, 2)
    with pytest.raises(RuntimeError, match="require grad"):
        rushlight.ones(2, requires_grad=True).resize_(3)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("initial", [None, 0.5])
def test_segments(reduce, initial):
    x = np.random.default_rng(3).normal(size=(6, 2))
    for lengths in ([2, 0, 3, 1], [6]):
        ours = rushlight.from_numpy(x.copy()).requires_grad_()
        theirs = torch.from_numpy(x.copy()).requires_grad_()
        a = rushlight.segment_reduce(
            ours, reduce, lengths=rushlight.tensor(lengths), initial=initial
        )
        b = torch.segment_reduce(theirs, reduce, lengths=torch.tensor(lengths), initial=initial)
        assert_same(a, b)
    rows = rushlight.segment_reduce(
        rushlight.from_numpy(X), reduce, offsets=rushlight.tensor([[0, 1, 3], [0, 2, 3]]), axis=1
    )
    theirs = torch.segment_reduce(
        torch.from_numpy(X), reduce, offsets=torch.tensor([[0, 1, 3], [0, 2, 3]]), axis=1
    )
    assert_same(rows, theirs)


def test_segments_must_cover_the_data():
    with pytest.raises(RuntimeError, match="sum to"):
        rushlight.segment_reduce(rushlight.ones(3), "sum", lengths=rushlight.tensor([1, 1]))


def test_filled_diagonals():
    for shape in ((3, 3), (7, 3), (2, 4), (3, 3, 3)):
        for wrap in (False, True):
            ours = rushlight.zeros(*shape).fill_diagonal_(2.0, wrap)
            assert_same(ours, torch.zeros(*shape).fill_diagonal_(2.0, wrap))
    with pytest.raises(RuntimeError, match="equal length"):
        rushlight.zeros(2, 3, 3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="larger than 1"):
        rushlight.zeros(2).fill_diagonal_(1)


def test_python_functions_over_elements():
    x = rushlight.arange(4)
    assert x.apply_(lambda v: v * v) is x and x.tolist() == [0, 1, 4, 9]
    assert x.map_(rushlight.ones(4), lambda v, w: v + w).tolist() == [1, 2, 5, 10]
    assert x.map2_(x.clone(), x.clone(), lambda v, w, u: v - w + u).tolist() == [1, 2, 5, 10]
    with pytest.raises(TypeError, match="requires grad"):
        rushlight.ones(2, requires_grad=True).apply_(abs)


def test_old_names():
    with pytest.warns(UserWarning, match="arange"):
        assert rushlight.range(1, 4).tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.warns(UserWarning, match="deprecated"):
        assert rushlight.arange(4).resize(2, 2).shape == (2, 2)
    assert rushlight.is_same_size(rushlight.ones(2), rushlight.zeros(2))


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_triangles_of_every_form(name):
    sizes, offsets = (0, 1, 3, 7), (-12, -3, -1, 0, 2, 5, 12)
    for row, col, offset in itertools.product(sizes, sizes, offsets):
        for dtype in ("int32", "int64"):
            found = getattr(rushlight, name)(row, col, offset, dtype=getattr(rushlight, dtype))
            expected = getattr(torch, name)(row, col, offset, dtype=getattr(torch, dtype))
            assert tuple(found.shape) == tuple(expected.shape)
            assert found.tolist() == expected.tolist(), (row, col, offset)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_a_triangle_of_many_rows_is_written_by_several_threads(name):
    found = getattr(rushlight, name)(1500, 700, -50)
    assert torch.equal(torch.from_numpy(found.numpy()), getattr(torch, name)(1500, 700, -50))
