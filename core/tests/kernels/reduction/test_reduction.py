"""Compiled reductions against float64: long rows, long columns, both at once, NaN and infinity."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.reduction import sums as reduction
from rushlight.machine import threads

pytestmark = pytest.mark.skipif(REFERENCE, reason="the reference leaves all of it to NumPy")

CASES = [
    ((9000,), (0,)),
    ((300_001,), (0,)),
    ((3, 70_003), (1,)),
    ((129, 131), (1,)),
    ((129, 131), (0,)),
    ((5000, 3), (0,)),
    ((7, 33, 40), (0, 1)),
    ((20, 9, 77), (1,)),
    ((4, 5, 30, 31), (2, 3)),
    ((11, 1037), (0, 1)),
]


def wanted(x, axes, keepdims, kind):
    wide = x.astype(np.float64)
    if kind == "product":
        return np.multiply.reduce(wide, axes, keepdims=keepdims)
    return np.add.reduce(wide * wide if kind == "squares" else wide, axes, keepdims=keepdims)


@pytest.mark.parametrize("kind", reduction.KINDS)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_against_float64(rng, case, dtype, keepdims, kind):
    shape, axes = case
    x = rng.standard_normal(shape).astype(dtype)
    if kind == "product":
        x = np.exp(x * 1e-3)
    found = reduction.reduced(x, axes, keepdims, kind)
    assert found.dtype == dtype
    right = wanted(x, axes, keepdims, kind)
    assert found.shape == right.shape
    size = wanted(np.abs(x), axes, keepdims, kind)
    assert np.all(np.abs(found - right) <= size * (3e-6 if dtype == np.float32 else 1e-13))


def test_nan_and_infinity(rng):
    x = rng.standard_normal((40, 600)).astype(np.float32)
    x[3, 5], x[4, 7] = np.nan, np.inf
    rows, columns = (reduction.reduced(x, (i,), False, "sum") for i in (1, 0))
    assert np.isnan(rows[3]) and np.isinf(rows[4]) and np.isfinite(np.delete(rows, [3, 4])).all()
    assert np.isnan(columns[5]) and np.isinf(columns[7])


def test_what_is_left_to_numpy(rng):
    x = rng.standard_normal((40, 60, 50)).astype(np.float32)
    assert reduction.reduced(x, (0, 2), False, "sum") is None
    assert reduction.reduced(x.transpose(2, 0, 1), (1,), False, "sum") is None
    assert reduction.reduced(x[:2, :2], (1,), False, "sum") is None
    assert reduction.reduced(x.astype(np.int32), (1,), False, "sum") is None


def test_same_bits_for_any_number_of_threads(rng):
    x = rng.standard_normal((3, 100_000)).astype(np.float32)
    results, before = [], threads.get_num_threads()
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            results.append(reduction.reduced(x, (1,), False, "sum").tobytes())
    finally:
        threads.set_num_threads(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(700, 801), (2, 500, 401), (3000, 130), (130, 4001)], ids=str)
def test_columns_of_large_arrays(shape, dtype):
    """Products and norms go by rows, variances by blocks of columns that are no divisor."""
    x = 1 + 0.01 * np.random.default_rng(2).standard_normal(shape)
    ours = rushlight.tensor(x, dtype=getattr(rushlight, dtype))
    wide, limit = ours.double().numpy(), {"float32": 2e-5, "float64": 1e-12}[dtype]
    for dim in range(len(shape) - 1):
        for found, wanted in (
            (ours.prod(dim), wide.prod(dim)),
            (ours.norm(dim=dim), np.sqrt((wide**2).sum(dim))),
            (ours.std(dim), wide.std(dim, ddof=1)),
            (ours.logsumexp(dim), np.log(np.exp(wide).sum(dim))),
        ):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=limit, atol=limit / 200)
