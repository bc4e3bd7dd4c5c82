"""Products with matrices of signed bytes, of rows of every length about a vector and a block."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.gemm import bytes as products
from rushlight.kernels.gemm import matrix_units
from rushlight.kernels.gemm.byte_kernels import BESIDE, ROWS, UNROLL
from rushlight.machine.language.element_vectors import VL
from rushlight.nn.int8 import Int8Linear
from rushlight.settings import kernels_mode

pytestmark = pytest.mark.skipif(kernels_mode() == "reference", reason="nothing is compiled")

needs_units = pytest.mark.skipif(
    not matrix_units.available(), reason="this processor has no matrix units"
)
BLOCK = UNROLL * VL
LENGTHS = sorted(
    {1, 2, VL - 1, VL, VL + 1, 2 * VL - 1, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + VL, 2 * BLOCK + 5}
)


# (rows, channels, length): whole blocks and edges of each, one block of k and several chunks
MANY = [
    (64, 256, 256), (65, 271, 300), (300, 96, 1111), (130, 500, 801), (1030, 70, 95), (256, 300, 64)
]  # fmt: skip


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


@needs_units
@pytest.mark.parametrize("shape", MANY)
def test_products_of_many_rows_on_matrix_units(shape):
    x, w, scale, bias = given(*shape)
    agree(x, w, scale, bias)
    agree(x, w, scale, None)


@pytest.mark.parametrize("shape", MANY)
def test_layers_with_many_rows(shape):
    """With matrix units and without, where the matrix is made in floats."""
    x, w, scale, bias = (rushlight.from_numpy(each) for each in given(*shape))
    layer = Int8Linear(shape[2], shape[1])
    layer.weight, layer.scale, layer.bias = w, scale, bias
    exact = x.double() @ layer.dequantized(rushlight.float64).t() + bias.double()
    size = x.double().abs() @ layer.dequantized(rushlight.float64).t().abs()
    with rushlight.no_grad():
        found = layer(x.reshape(1, *x.shape))
    assert found.shape == (1, *shape[:2])
    assert ((found[0] - exact).abs() <= 1e-6 * size + 1e-6).all()


@needs_units
@pytest.mark.parametrize(("precision", "error"), [("high", 3e-5), ("medium", 8e-3)])
def test_less_exact_products(precision, error):
    x, w, scale, bias = given(64, 256, 256)
    exact = products.product(x, w, scale, bias)
    try:
        rushlight.set_float32_matmul_precision(precision)
        found = products.product(x, w, scale, bias)
    finally:
        rushlight.set_float32_matmul_precision("highest")
    size = np.abs(x) @ np.abs(w.T.astype(np.float32)) * np.abs(scale)
    assert 0 < np.abs(found - exact).max() and (np.abs(found - exact) <= error * size).all()


@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38])
def test_rows_that_matrix_units_cannot_multiply(value):
    """They give what products of floats give, and their neighbours their own values."""
    x, w, scale, bias = given(80, 256, 256)
    w[:, 7] = 1
    x[3, 7] = value
    scale[:] = 1.0
    layer = Int8Linear(256, 256)
    arrays = layer.weight, layer.scale, layer.bias
    for tensor, given_array in zip(arrays, (w, scale, bias), strict=True):
        tensor.copy_(rushlight.from_numpy(given_array))
    with rushlight.no_grad():
        found = layer(rushlight.from_numpy(x)).numpy()
    expected = x.astype(np.float64) @ w.T + bias
    np.testing.assert_allclose(found[3], np.full(256, value), rtol=1e-6)
    others = np.arange(80) != 3
    np.testing.assert_allclose(found[others], expected[others], rtol=1e-4, atol=1e-2)


@needs_units
def test_rows_next_to_zero_are_left_to_floats():
    x, w, scale, bias = given(64, 256, 256)
    assert products.product(x * np.float32(1e-35), w, scale, bias) is None
    np.testing.assert_array_equal(
        products.product(np.zeros_like(x), w, scale, bias), np.broadcast_to(bias, (64, 256))
    )


@pytest.mark.parametrize(
    "shape", [(1, 700, 513), (5, 301, 260), pytest.param((300, 900, 130), marks=needs_units),
              pytest.param((2000, 128, 130), marks=needs_units)],
)  # fmt: skip
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
