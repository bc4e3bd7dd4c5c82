"""Built-in reductions of small arrays against NumPy, at odd shapes, with NaN; what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.reduction.small_reduction import LIMIT, small
from rushlight.machine import native_functions as llvm_door

pytestmark = pytest.mark.skipif(
    REFERENCE or not llvm_door.is_available(), reason="these need machine code"
)
NUMPY = {
    "sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "argmax": np.argmax,
    "argmin": np.argmin,
}  # fmt: skip
SHAPES = [(), (1,), (7,), (8, 8), (3, 4, 5), (2, 1, 3), (33, 17), (1, 64), (64, 1), (1000,)]
DTYPES = [np.float32, np.float64, np.int64, np.bool_]


@pytest.fixture(scope="module", autouse=True)
def learned():
    for name in small.known:
        for dtype in DTYPES:
            for _ in range(5):
                small.learn(name, np.ones(3, dtype), None, False)


def values(shape, dtype):
    x = np.random.default_rng(len(shape)).standard_normal(shape) * 3
    return np.asarray(x > 0.5 if dtype is np.bool_ else x.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_against_numpy(shape, dtype):
    x = values(shape, dtype)
    for name, function in NUMPY.items():
        if np.dtype(dtype) not in small.known[name]:
            continue
        for dim in (None, *range(-x.ndim, x.ndim)):
            for keepdim in (False, True):
                with np.errstate(all="ignore"):
                    want = np.asarray(function(x, axis=dim, keepdims=keepdim))
                got = getattr(small, name)(x, dim, keepdim)
                assert got.shape == want.shape and got.dtype == want.dtype
                if name in ("sum", "mean") and dtype is not np.int64:
                    wide = function(x.astype(np.float64), axis=dim, keepdims=keepdim)
                    scale = np.abs(x.astype(np.float64)).sum(axis=dim, keepdims=keepdim) + 1
                    error = np.abs(got - wide)
                    assert (error <= 2e-6 * scale).all()
                else:
                    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES[:3])
@pytest.mark.parametrize("shape", [(9,), (40,), (8, 8), (3, 4, 5)])
def test_extremes_and_where_they_are(shape, dtype):
    x = values(shape, dtype)
    x = (x * 2).astype(np.int64).astype(dtype)  # ties
    for name in ("max", "min"):
        for dim in range(x.ndim):
            found, place = getattr(small, name + "_at")(x, dim, False)
            np.testing.assert_array_equal(found, NUMPY[name](x, axis=dim))
            np.testing.assert_array_equal(place, NUMPY["arg" + name](x, axis=dim))


@pytest.mark.parametrize("count", [3, 15, 16, 40, 1000])
def test_nan_and_infinities(count):
    x = np.linspace(-1, 1, count, dtype=np.float32)
    x[count // 2], x[-1], x[0] = np.nan, np.inf, -np.inf
    assert np.isnan(small.max(x, None, False)) and np.isnan(small.min(x, None, False))
    assert small.argmax(x, None, False) == small.argmin(x, None, False) == count // 2
    x[count // 2 + 1 :] = np.nan  # the first one counts
    found, place = small.max_at(x, 0, True)
    assert np.isnan(found[0]) and place[0] == count // 2


def test_long_sums_are_as_good_as_float32_allows():
    x = np.random.default_rng(0).random(LIMIT).astype(np.float32)
    exact = x.astype(np.float64).sum()
    assert abs(small.sum(x, None, False) - exact) <= 4e-7 * exact


def test_what_is_refused():
    x, ones = np.ones((4, 4), np.float32), np.ones(LIMIT + 1, np.float32)
    refused = [
        (x, 2, False), (x, -3, False), (x, 1 << 70, False), (x, True, False), (x, (0,), False),
        (x, 0, 1), (x, 0.0, False), (x[:, ::2], 0, False), (x.T.copy().T, 0, False),
        (x[:0], 0, False), (x.astype(np.float16), 0, False), (ones, None, False), (None, 0, False),
        (x.astype(">f4"), 0, False), (x, 0), (x, 0, False, 1),
    ]  # fmt: skip
    for arguments in refused:
        assert small.sum(*arguments) is NotImplemented


def test_nothing_is_kept():
    x = np.ones((4, 4), np.float32)
    objects = (x, x.dtype, small.max_at(x, 0, False)[1].dtype)
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        small.sum(x, 0, True)
        small.max_at(x, 1, False)
        small.argmax(x, None, False)
        small.sum(x, 7, True)
    assert [sys.getrefcount(o) for o in objects] == before


def test_ops_use_them():
    x = rushlight.tensor([[1.0, 5.0], [7.0, 2.0]], requires_grad=True)
    for _ in range(6):
        assert x.sum(1).tolist() == [6.0, 9.0] and x.mean().item() == 3.75
        assert x.max().item() == 7.0 and x.max(1).indices.tolist() == [1, 0]
        assert (x > 6).any(1).tolist() == [False, True] and x.prod(0).tolist() == [7.0, 10.0]
    x.grad = None
    (x.max(0).values.sum() + x.amin()).backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 0.0]]
