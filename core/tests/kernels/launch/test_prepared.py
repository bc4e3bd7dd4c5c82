"""Kernels that make their own results: odd sizes and strides, with and without built-in doors."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from rushlight.kernels.copying import moving
from rushlight.kernels.launch.prepared import LIMIT, Remembered, by_layout
from rushlight.kernels.random import fills
from rushlight.kernels.reduction import folds
from rushlight.kernels.resampling import padding
from rushlight.ops.indexing import items as indexing

SHAPES = [(1,), (3,), (65,), (7, 1), (5, 33), (2, 3, 4), (3, 1, 5, 7), (1, 130)]
DTYPES = ["u1", "i2", "f4", "f8", "?"]


def sample(shape, dtype):
    """Numbers of a dtype, zeros among them."""
    drawn = np.random.default_rng(len(shape)).integers(0, 5, shape)
    return drawn.astype(dtype) if dtype == "?" else (drawn - 1).astype(dtype)


def same(call, arguments, wanted):
    """A prepared call gives the wanted array, dense."""
    found = call(*arguments)
    assert found.dtype == wanted.dtype and found.flags.c_contiguous
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_moving(shape, dtype):
    x = sample(shape, dtype)
    for dim in range(x.ndim):
        same(moving.flipped(x, (dim,)), [x], np.flip(x, dim))
        for shift in (0, 1, -2, 9):
            same(moving.rolled(x, shift, dim), [x], np.roll(x, shift, dim))
        other = x[(slice(None),) * dim + (slice(0, 1),)].copy()
        wanted = np.concatenate([x, other, x], dim)
        same(moving.joined([x, other, x], dim, wanted.shape), [x, other, x], wanted)
    turned = x.transpose()
    same(moving.copied(turned, turned.shape, turned.strides, 0, turned.shape), [turned], turned)
    if x.ndim > 1:
        for diagonal in (-9, -1, 0, 2, 9):
            same(moving.triangle(x, diagonal, True), [x], np.tril(x, diagonal))
            same(moving.triangle(x, diagonal, False), [x], np.triu(x, diagonal))


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_padded(shape, dtype):
    x = sample(shape, dtype)
    for pad in [(0, 0), (1, 2), (3, 0, 0, 1), (1, 1, 2, 0, 0, 3)]:
        if len(pad) <= 2 * x.ndim:
            widths = [(0, 0)] * (x.ndim - len(pad) // 2)
            widths += [pad[i : i + 2] for i in range(len(pad) - 2, -1, -2)]
            for value in (-1.5, float("inf")):
                wanted = np.pad(x, widths, constant_values=value)
                same(padding.surrounded(x, pad), [x, value], wanted)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("pad", [(-1, 2), (2, -3), (-1, -1, -2, 1), (5, 40, -1, 0, 2, -2), (0, -7)])
def test_cropped(pad, dtype):
    for shape in [(3, 4, 5, 8), (4, 5, 70), (40, 3, 129)]:
        x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
        pairs = [(0, 0)] * (x.ndim - len(pad) // 2)
        pairs += [pad[i : i + 2] for i in range(len(pad) - 2, -1, -2)]
        kept = [slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, shape, strict=True)]
        grown = [(max(a, 0), max(b, 0)) for a, b in pairs]
        wanted = np.pad(x[tuple(kept)], grown, constant_values=2.5)
        same(padding.surrounded(x, pad), [x, 2.5], wanted)


WINDOWS = [
    ((64, 32), (Ellipsis, slice(16, 32))),
    ((64, 32), (slice(3, 60), slice(0, 5))),
    ((5, 6, 7, 8), (slice(1, 2), Ellipsis, slice(2, 3))),
    ((5, 6, 7, 8), (slice(0, 4), slice(2, 6), slice(1, 7), slice(3, 8))),
    ((5, 6, 7, 80), (3, slice(1, 5), None, slice(0, 7), slice(11, 78))),
    ((40,), (slice(7, 30),)),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("shape", "index"), WINDOWS)
def test_values_of_any_strides_in_zeros(shape, index, dtype):
    part = np.empty(shape)[index].shape
    values = np.random.default_rng(1).standard_normal([n + 3 for n in part]).astype(dtype)
    inner = values[tuple(slice(2, 2 + n) for n in part)]
    dense = np.ascontiguousarray(inner)
    turned = np.ascontiguousarray(inner.transpose()).transpose()
    for given in (inner, dense, turned, inner[::-1], inner[..., ::-1], inner[..., :1] + 0 * inner,
                  np.broadcast_to(inner[..., :1], part)):  # fmt: skip
        wanted = np.zeros(shape, dtype)
        wanted[index] = given
        for _ in range(2):
            found = indexing._embedded_slice(given, shape, index)
            assert found.dtype == dtype
            assert found.flags.c_contiguous
            assert np.array_equal(found, wanted)


def axes_of(x):
    """Runs of neighbouring axes."""
    return [tuple(range(a, b)) for a in range(x.ndim) for b in range(a + 1, x.ndim + 1)]


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [*SHAPES, (4, 5000), (40, 70), (2, 700, 3)])
def test_folded(shape, dtype):
    x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    wide, bound = x.astype("f8"), 3e-6 if dtype == "f4" else 1e-13
    formulas = {
        "sum": lambda a, k: wide.sum(axis=a, keepdims=k),
        "variance": lambda a, k: wide.var(axis=a, keepdims=k),
        "deviation": lambda a, k: wide.std(axis=a, keepdims=k),
        "norm": lambda a, k: np.sqrt((wide * wide).sum(axis=a, keepdims=k)),
        "product": lambda a, k: wide.prod(axis=a, keepdims=k),
        "logsumexp": lambda a, k: np.log(np.exp(wide).sum(axis=a, keepdims=k)),
    }
    for axes in axes_of(x):
        for keep in (False, True):
            for kind, formula in formulas.items():
                count = float(np.prod([x.shape[a] for a in axes]))
                found = folds.folded(kind, x, axes, keep, count)(x)
                wanted = formula(axes, keep)
                assert found.dtype == x.dtype and found.shape == wanted.shape, kind
                np.testing.assert_allclose(found, wanted, bound, bound * count**0.5, err_msg=kind)


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("dtype", ["?", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("every", [False, True])
def test_truth(every, dtype):
    judge = np.all if every else np.any
    for n in (1, 7, 511, 512, 513, 1500):
        for place in (0, n // 2, n - 1):
            x = np.full((3, n), every).astype(dtype)
            x[1, place] = 1 - every
            same(folds.truth(every, x, (1,), False), [x], judge(x, axis=1))
            same(folds.truth(every, x, (0, 1), True), [x], judge(x, axis=(0, 1), keepdims=True))


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
def test_infinities_and_nan():
    x = np.array([[np.inf, 1], [-np.inf, -np.inf], [np.nan, 1], [-np.inf, 2]], "f4")
    found = folds.folded("logsumexp", x, (1,), False)(x)
    np.testing.assert_array_equal(found, np.array([np.inf, -np.inf, np.nan, 2], "f4"))
    for rows in (2, 6):  # of columns four go together
        columns = np.full((rows, 4), -np.inf, "f4")
        columns[:2] = x.T
        found = folds.folded("logsumexp", columns, (0,), False)(columns)
        np.testing.assert_array_equal(found, np.array([np.inf, -np.inf, np.nan, 2], "f4"))
    assert folds.truth(False, x[2:3, :1].copy(), (0, 1), False)(x[2:3, :1].copy())[()]


def test_what_is_left_to_others():
    strided, empty = np.ones((4, 6))[:, ::2], np.ones((0, 3))
    assert moving.triangle(strided, 0, True) is None and moving.triangle(empty, 0, True) is None
    assert folds.folded("sum", strided, (0,), False) is None
    assert folds.folded("sum", np.ones((2, 3), "i8"), (0,), False) is None
    assert folds.folded("sum", np.ones((2, 3, 2)), (0, 2), False) is None
    assert moving.joined([np.ones(2), np.ones(2, "f4")], 0, (4,)) is None
    assert moving.joined([np.ones(1)] * (moving.MOST + 1), 0, (moving.MOST + 1,)) is None
    assert fills.made("uniform", object(), (100,)) is None


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
def test_other_dtypes_and_alignment_are_refused():
    x = np.arange(12.0).reshape(3, 4)
    call = moving.flipped(x, (0,))
    assert call(x.astype("f4")) is NotImplemented
    shifted = np.frombuffer(bytearray(8 * 12 + 1), "f8", 12, 1).reshape(3, 4)
    assert not shifted.flags.aligned and call(shifted) is NotImplemented


def test_remembered_layouts_are_few():
    prepared, asked = [], []

    def prepare(x, *attributes):
        prepared.append(attributes)
        return None if attributes == ((),) else lambda x: x + len(attributes)

    call = by_layout(prepare, lambda x, *rest: asked.append(rest) or x)
    x = np.zeros(3)
    assert call(x, 1)[0] == 1 and call(x, 1)[0] == 1 and call(x[:2], 1)[0] == 1
    assert len(prepared) == 2 and call(x, []) is x and call(x, ()) is x and asked == [([],), ((),)]
    known = Remembered()
    for i in range(LIMIT + 5):
        known.keep(i, str)
    assert len(known) == 5


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
def test_without_built_in_doors():
    names = ["test_moving", "test_padded", "test_folded", "test_truth", "test_other_dtypes"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k"]
    environment = {**os.environ, "RUSHLIGHT_FAST_PATH": "off"}
    done = subprocess.run(
        [*command, " or ".join(names)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
