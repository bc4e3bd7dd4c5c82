"""Products of rounded rows with matrices of bytes: the bits that exact sums give, for every number
of rows, length of a row and number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.gemm import bytes as products
from rushlight.kernels.gemm.integer_lines import COUNT
from rushlight.kernels.gemm.integer_products import FEW
from rushlight.kernels.gemm.integer_tiles import DEPTH_LIMIT
from rushlight.kernels.gemm.microkernel import MAX_ROWS, PANEL
from rushlight.settings import kernels_mode

pytestmark = pytest.mark.skipif(kernels_mode() == "reference", reason="nothing is compiled")

ROWS = sorted({1, 2, 5, FEW, FEW + 1, MAX_ROWS, 2 * MAX_ROWS + 3, 70})
LENGTHS = sorted({1, 2, 3, 4, 7, COUNT - 1, COUNT, COUNT + 1, 2 * COUNT + 5, 8 * COUNT + 6})


def given(rows, channels, length):
    rng = np.random.default_rng(rows + channels + length)
    x = rng.standard_normal((rows, length)).astype(np.float32)
    w = rng.integers(-128, 128, (channels, length)).astype(np.int8)
    scale, bias = (rng.standard_normal(channels).astype(np.float32) for _ in range(2))
    return x, w, scale, bias


def expected(x, w, scale, bias):
    """Rows rounded to the nearest byte, sums in int64."""
    largest = np.maximum(np.abs(x).max(1), np.float32(1e-30))
    whole = np.rint(x * (np.float32(127) / largest)[:, None]).astype(np.int64)
    both = (largest / np.float32(127))[:, None] * scale
    found = (whole @ w.T.astype(np.int64)).astype(np.float32) * both
    return found if bias is None else found + bias


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("length", LENGTHS)
def test_products(rows, length):
    for channels in (1, 6, PANEL, 2 * PANEL + 3):
        x, w, scale, bias = given(rows, channels, length)
        for each in (bias, None):
            found = products.rounded_product(x, w, scale, each)
            np.testing.assert_array_equal(found, expected(x, w, scale, each))


def test_the_largest_sums():
    x, w = np.ones((20, DEPTH_LIMIT), np.float32), np.full((40, DEPTH_LIMIT), -127, np.int8)
    scale = np.ones(40, np.float32)
    for rows in (1, 20):
        found = products.rounded_product(x[:rows], w, scale, None)
        np.testing.assert_array_equal(found, expected(x[:rows], w, scale, None))
    x, w = np.ones((1, DEPTH_LIMIT + 1), np.float32), np.ones((40, DEPTH_LIMIT + 1), np.int8)
    assert products.rounded_product(x, w, scale, None) is None


def test_a_row_does_not_depend_on_the_others():
    x, w, scale, bias = given(90, 101, 333)
    all_rows = products.rounded_product(x, w, scale, bias)
    for rows in (slice(0, 1), slice(3, 8), slice(40, 90)):
        some = products.rounded_product(np.ascontiguousarray(x[rows]), w, scale, bias)
        np.testing.assert_array_equal(some, all_rows[rows])


@pytest.mark.parametrize("rows", [3, 50])
def test_rows_that_are_not_finite_zero_and_tiny(rows):
    x, w, scale, bias = given(rows, 40, 2 * COUNT)
    x[0, 5], x[1, 7], x[2] = np.nan, -np.inf, 0.0
    found = products.rounded_product(x, w, scale, bias)
    assert np.isnan(found[:2]).all() and (found[2] == bias).all()
    np.testing.assert_array_equal(found[3:], expected(x[3:], w, scale, bias))
    x[0], x[1] = 1e-38, 3e38
    found = products.rounded_product(x, w, np.abs(scale), bias)
    assert np.isfinite(found[0]).all() and not np.isnan(found[1]).any()


def test_other_arrays_are_left_alone():
    x, w, scale, bias = given(5, 6, 8)
    assert products.rounded_product(x.astype(np.float64), w, scale, bias) is None
    assert products.rounded_product(x, w.astype(np.int16), scale, bias) is None
    assert products.rounded_product(x, w, scale[:5], bias) is None
    assert products.rounded_product(x[:, :7].copy(), w, scale, bias) is None
    assert products.rounded_product(np.asfortranarray(x), w, scale, bias) is None
    assert products.rounded_product(x[:0], w, scale, bias) is None


@pytest.mark.parametrize("shape", [(1, 700, 513), (300, 500, 130), (900, 64, 1000)])
def test_threads_give_the_same_bits(shape):
    x, w, scale, bias = given(*shape)
    before, found = rushlight.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            rushlight.set_num_threads(count)
            found.append(products.rounded_product(x, w, scale, bias))
    finally:
        rushlight.set_num_threads(before)
    np.testing.assert_array_equal(found[0], expected(x, w, scale, bias))
    assert all(np.array_equal(found[0], other) for other in found[1:])


@pytest.mark.parametrize("rows", [1, 13, 70])
@pytest.mark.parametrize("length", LENGTHS)
def test_products_of_bytes_alone(rows, length):
    rng = np.random.default_rng(rows + length)
    for columns in (1, PANEL, 2 * PANEL + 3):
        a = rng.integers(-128, 128, (rows, length)).astype(np.int8)
        b = rng.integers(-128, 128, (length, columns)).astype(np.int8)
        wanted = a.astype(np.int32) @ b.astype(np.int32)
        for matrix in (b, np.asfortranarray(b), np.repeat(b, 2, 1)[:, ::2]):
            found = products.whole_product(a, matrix)
            assert found.dtype == np.int32
            np.testing.assert_array_equal(found, wanted)
    assert products.whole_product(a[:0], b).shape == (0, columns)
    assert not products.whole_product(np.ones((2, 0), np.int8), b[:0]).any()


def test_sums_of_bytes_wrap_around():
    length = DEPTH_LIMIT + 8
    a = np.full((2, length), -128, np.int8)
    found = products.whole_product(a, a.T.copy())
    assert (found == np.int64(length * 128 * 128).astype(np.int32)).all()
