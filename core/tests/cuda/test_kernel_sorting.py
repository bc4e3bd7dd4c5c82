"""Scans and sorts on the emulator, against NumPy."""

import numpy as np
import pytest
from kernel_cases import BFLOAT16, FLOAT32, FLOATS, INT64, both_orders, close, on_device, wide

from rushlight.kernels.scan_sort import cuda_scan as scan
from rushlight.kernels.scan_sort import cuda_sort as sorting

SHAPES = [((3, 33), 1), ((2, 5000), 1), ((4, 9, 5), 1), ((4, 9), 0), ((1,), 0), ((0, 4), 1)]


def draw(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iub":
        return generator.integers(-9, 9, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, INT64], ids=str)
def test_sums_and_products(dtype):
    for shape, axis in SHAPES:
        x = draw(shape, dtype)
        found = both_orders(lambda x=x, a=axis: scan.scanned(on_device(x), a, False))
        if dtype == INT64:
            np.testing.assert_array_equal(found, x.cumsum(axis))
        else:
            close(found, wide(x).cumsum(axis), dtype, 8)
        x = np.abs(x) if dtype == INT64 else (1 + x.astype(np.float64) / 100).astype(dtype)
        found = both_orders(lambda x=x, a=axis: scan.scanned(on_device(x), a, True))
        if dtype == INT64:
            np.testing.assert_array_equal(found, x.cumprod(axis))
        else:
            close(found, wide(x).cumprod(axis), dtype, 32)


def extremes(x, axis, largest):
    """As PyTorch's cummax: the later of equal ones; NaN wins."""
    rows = np.moveaxis(wide(x), axis, -1)
    values, places = np.empty(rows.shape), np.empty(rows.shape, np.int64)
    for row in np.ndindex(rows.shape[:-1]):
        best, place = None, 0
        for i, value in enumerate(rows[row]):
            better = best is None or value != value
            if not better and best == best:
                better = value >= best if largest else value <= best
            if better:
                best, place = value, i
            values[row][i], places[row][i] = best, place
    return np.moveaxis(values, -1, axis), np.moveaxis(places, -1, axis)


@pytest.mark.parametrize("dtype", [FLOAT32, INT64], ids=str)
def test_extremes(dtype):
    for shape, axis in SHAPES:
        x = draw(shape, dtype)
        if dtype == FLOAT32 and shape[-1] == 33:
            x[1, 20] = np.nan
        for largest in (True, False):
            found = both_orders(
                lambda x=x, a=axis, g=largest: scan.cumulative_extremes(on_device(x), a, g)
            )
            expected = extremes(x, axis, largest)
            np.testing.assert_array_equal(wide(found[0]), expected[0])
            np.testing.assert_array_equal(found[1], expected[1])


def test_logcumsumexp():
    for shape, axis in SHAPES:
        x = draw(shape, FLOAT32)
        x.reshape(-1)[:1] = -np.inf
        found = both_orders(lambda x=x, a=axis: scan.logcumsumexp(on_device(x), a))
        np.testing.assert_allclose(found, np.logaddexp.accumulate(wide(x), axis), 1e-5, 1e-5)


def order(x, descending):
    """Stable places; NaN largest, equal elements in their order also when descending."""
    x = wide(x)
    keys = np.where(np.isnan(x), np.inf, x) if x.dtype.kind == "f" else x.astype(np.int64)
    return np.argsort(-keys if descending else keys, -1, kind="stable")


@pytest.mark.parametrize("dtype", [*FLOATS, INT64, np.uint8], ids=str)
@pytest.mark.parametrize("shape", [(3, 33), (2, 2048), (2, 4500), (1, 1), (0, 5)], ids=str)
def test_sort(shape, dtype):
    x = draw(shape, dtype) if dtype != np.uint8 else draw(shape, INT64).astype(np.uint8)
    if dtype != INT64 and dtype != np.uint8 and x.size > 40:
        x[0, 5], x[0, 9], x[0, 7], x[0, 8] = np.nan, np.nan, -0.0, 0.0
    for descending in (False, True):
        values, places = both_orders(lambda d=descending: sorting.sorted_along(on_device(x), -1, d))
        expected = order(x, descending)
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_array_equal(wide(values), wide(np.take_along_axis(x, expected, -1)))


def test_sort_of_another_axis_and_top():
    x = draw((7, 5), FLOAT32)
    values, places = both_orders(lambda: sorting.sorted_along(on_device(x), 0))
    np.testing.assert_array_equal(values, np.sort(x, 0))
    np.testing.assert_array_equal(places, np.argsort(x, 0, kind="stable"))
    values, places = both_orders(lambda: sorting.top(on_device(x), 3, True))
    np.testing.assert_array_equal(values, -np.sort(-x, 1)[:, :3])


@pytest.mark.parametrize("dtype", [*FLOATS, INT64, np.uint8], ids=str)
@pytest.mark.parametrize("k", [1, 5, 700])
def test_top_of_long_rows(k, dtype):
    x = draw((2, 4500), INT64 if dtype == np.uint8 else dtype)
    x = np.abs(x).astype(dtype) if dtype == np.uint8 else x
    if dtype == FLOAT32:
        x[0, 77] = np.nan
    for largest in (True, False):
        values, places = both_orders(lambda g=largest: sorting.top(on_device(x), k, g))
        expected = order(x, largest)[:, :k]
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_array_equal(wide(values), wide(np.take_along_axis(x, expected, -1)))


def test_sorting_few_bits():
    x = np.random.default_rng(0).integers(0, 300, (1, 5000))
    values, places = both_orders(lambda: sorting.sorted_rows(on_device(x), bits=9))
    np.testing.assert_array_equal(values, np.sort(x, 1))
    np.testing.assert_array_equal(places, np.argsort(x, 1, kind="stable"))


@pytest.mark.parametrize("dtype", [FLOAT32, BFLOAT16, INT64], ids=str)
@pytest.mark.parametrize("n", [1, 50, 3000])
def test_unique(n, dtype):
    x = (draw((n,), FLOAT32) * 3).astype(np.int64).astype(dtype)
    found = both_orders(lambda: sorting.unique(on_device(x)))
    expected = np.unique(wide(x), return_inverse=True, return_counts=True)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(wide(a), b)


def test_unique_of_runs_and_of_nothing():
    x = np.array([1, 1, 2, 2, 1, 3], np.int64)
    values, inverse, counts = both_orders(lambda: sorting.unique(on_device(x), True))
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == (
        [1, 2, 1, 3], [0, 0, 1, 1, 2, 3], [2, 2, 1, 1]
    )  # fmt: skip
    assert sorting.unique(on_device(x[:0]))[0].size == 0


def test_searches():
    rows = np.sort(draw((3, 40), FLOAT32), 1)
    values = draw((3, 7), FLOAT32, 1)
    values[:, 0] = rows[:, 5]
    for right in (False, True):
        side = "right" if right else "left"
        found = both_orders(lambda r=right: sorting.searched(on_device(rows), on_device(values), r))
        for row, value, places in zip(rows, values, found, strict=True):
            np.testing.assert_array_equal(places, np.searchsorted(row, value, side))
        found = both_orders(
            lambda r=right: sorting.searched(on_device(rows[0]), on_device(values), r)
        )
        np.testing.assert_array_equal(found, np.searchsorted(rows[0], values, side))
