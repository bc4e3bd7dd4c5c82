"""Products with matrices of signed bytes, of rows of every length about a vector and a block."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.gemm import bytes as products
from rushlight.kernels.gemm.byte_kernels import BESIDE, ROWS, UNROLL
from rushlight.machine.language.element_vectors import VL
from rushlight.settings import kernels_mode

pytestmark = pytest.mark.skipif(kernels_mode() == "reference", reason="nothing is compiled")

BLOCK = UNROLL * VL
LENGTHS = sorted(
    {1, 2, VL - 1, VL, VL + 1, 2 * VL - 1, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + VL, 2 * BLOCK + 5}
)


def given(rows, channels, length):
    rng = np.random.default_rng(rows + channels + length)
    x = rng.standard_normal((rows, length)).astype(np.float32)
    w = rng.integers(-128, 128, (channels, length)).astype(np.int8)
    scale, bias = (rng.standard_normal(channels).astype(np.float32) for _ in range(2))
    return x, w, scale, bias


def agree(x, w, scale, bias):
    found = products.product(x, w, scale, bias)
    exact = x.astype(np.float64) @ w.T.astype(np.float64) * scale + (0 if bias is None else bias)
    size = np.abs(x).astype(np.float64) @ np.abs(w.T.astype(np.float64)) * np.abs(scale)
    assert found.shape == (len(x), len(w)) and found.dtype == np.float32
    assert (np.abs(found - exact) <= 4e-7 * size + 1e-6).all()
    return found


@pytest.mark.parametrize("rows", sorted({1, 2, BESIDE, BESIDE + 1, 7, 16}))
@pytest.mark.parametrize("length", LENGTHS)
def test_products(rows, length):
    for channels in (1, ROWS - 1, ROWS, 2 * ROWS + 3):
        x, w, scale, bias = given(rows, channels, length)
        agree(x, w, scale, bias)
        agree(x, w, scale, None)


def test_rows_do_not_read_their_neighbours():
    """The last vector of a row begins among elements that are done; none is behind the row."""
    x, w, scale, bias = given(3, 6, VL + 3)
    expected = agree(x, w, scale, bias)
    padded = np.full((3, VL + 3 + VL), np.nan, np.float32)
    padded[:, : VL + 3] = x
    inner = np.ascontiguousarray(padded[:, : VL + 3])
    np.testing.assert_array_equal(products.product(inner, w, scale, bias), expected)
    x[1] = np.inf
    found = products.product(x, np.abs(w) + 1, scale, bias)
    assert np.isfinite(found[[0, 2]]).all() and not np.isfinite(found[1]).any()


@pytest.mark.parametrize("shape", [(1, 700, 513), (5, 301, 260)])
def test_threads_give_the_same_bits(shape):
    x, w, scale, bias = given(*shape)
    before, found = rushlight.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            rushlight.set_num_threads(count)
            found.append(agree(x, w, scale, bias))
    finally:
        rushlight.set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found[1:])
