"""bfloat16 products by pairs: float32 sums rounded once, at any size, layout and special value."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rushlight.kernels.gemm import matrix_units, pair_tiles
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import threads

if REFERENCE or matrix_units.available() or not pair_tiles.available():
    pytest.skip("products of bfloat16 go another way here", allow_module_level=True)

from rushlight.kernels.convolution import choice as convolution
from rushlight.kernels.gemm import plans as gemm
from rushlight.kernels.gemm import products as matrix
from rushlight.kernels.gemm.pairs import PairProduct, fits

GUARD = 64  # elements of NaN before and after every buffer
bfloat16 = ml_dtypes.bfloat16
SIZES = [(64, 128, 784), (33, 47, 62), (1, 512, 128), (15, 40, 2048), (100, 33, 4096),
         (29, 65, 512), (7, 1000, 6), (300, 16, 130), (17, 70, 16384)]  # fmt: skip


def guarded(values, transposed=False):
    """The same matrices inside of NaN, stored by rows or by columns."""
    stored = np.swapaxes(values, -1, -2) if transposed else values
    room = np.full(stored.size + 2 * GUARD, np.nan, values.dtype)
    inside = room[GUARD : GUARD + stored.size].reshape(stored.shape)
    inside[...] = stored
    return room, (np.swapaxes(inside, -1, -2) if transposed else inside)


def check(result, a, b, extra=0.0):
    """Float32 sums, of any order, rounded once."""
    exact = a.astype(np.float64) @ b.astype(np.float64) + extra
    scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64) + np.abs(extra)
    error = np.abs(result.astype(np.float64) - exact)
    assert (error <= 2.0**-8 * np.abs(exact) + 2e-6 * scale).all()


def product(a, b, bias=None, by_rows=False):
    """Run the plan itself, and look at the guards of C."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    room, out = guarded(np.zeros((*batch, m, n), bfloat16))
    layouts = [gemm.layout(x.shape[-2:], x.strides[-2:], 2) for x in (a, b)]
    offsets = [gemm._offsets(x.shape, x.strides, batch) for x in (a, b)]
    PairProduct(m, n, k, *layouts, offsets, by_rows).run(a, b, out, bias)
    assert np.isnan(room[:GUARD].astype("f")).all() and np.isnan(room[-GUARD:].astype("f")).all()
    return out


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
def test_layouts(rng, size, transposed):
    m, n, k = size
    assert fits(m, n, k)
    _, a = guarded(rng.standard_normal((m, k)).astype(bfloat16), transposed[0])
    _, b = guarded(rng.standard_normal((k, n)).astype(bfloat16), transposed[1])
    check(product(a, b), a, b)


@given(st.integers(1, 40), st.integers(1, 80), st.integers(1, 40), st.tuples(*[st.booleans()] * 3))
@settings(max_examples=60, deadline=None)
def test_any_size(m, n, pairs, choices):
    rng = np.random.default_rng(m + 100 * n + 10000 * pairs)
    _, a = guarded(rng.standard_normal((m, 2 * pairs)).astype(bfloat16), choices[0])
    _, b = guarded(rng.standard_normal((2 * pairs, n)).astype(bfloat16), choices[1])
    bias = rng.standard_normal(m if choices[2] else n).astype(np.float32)
    extra = bias[:, None] if choices[2] else bias
    check(product(a, b, bias, choices[2]), a, b, extra.astype(np.float64))


@pytest.mark.parametrize(
    "shapes",
    [
        ((5, 3, 20, 64), (5, 3, 64, 33)),
        ((5, 1, 20, 64), (1, 3, 64, 33)),
        ((2, 70, 130), (2, 130, 65)),
    ],
)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)])
def test_batches(rng, shapes, transposed):
    operands = []
    for shape, turned in zip(shapes, transposed, strict=True):
        operands.append(guarded(rng.standard_normal(shape).astype(bfloat16), turned)[1])
    check(product(*operands), *operands)
    assert np.array_equal(matrix.matmul(*operands), product(*operands))


def test_special_values_stay_where_they_belong(rng):
    a, b = (rng.standard_normal(s).astype(bfloat16) for s in ((20, 64), (64, 40)))
    a[3, 5], a[4, 6], b[7, 8] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        exact = a.astype(np.float64) @ b.astype(np.float64)
    found = product(a, b).astype(np.float64)
    assert np.array_equal(np.isnan(found), np.isnan(exact))
    assert np.array_equal(np.isinf(found), np.isinf(exact))
    big = np.full((1, 64), 3e38).astype(bfloat16)
    assert np.isinf(product(big, np.ones((64, 16), bfloat16)).astype("f")).all()


def test_bits_do_not_depend_on_threads(rng):
    a, b = (rng.standard_normal(s).astype(bfloat16) for s in ((500, 256), (256, 300)))
    count, found = threads.get_num_threads(), []
    try:
        for number in (1, 2, 5):
            threads.set_num_threads(number)
            found.append((product(a, b), product(a.T.copy().T, b)))
    finally:
        threads.set_num_threads(count)
    for other in found[1:]:
        assert all(np.array_equal(x, y) for x, y in zip(found[0], other, strict=True))


def test_what_does_not_fit_goes_by_float32(rng):
    assert not fits(64, 64, 65) and not fits(64, 15, 64) and not fits(64, 64, 32768)
    for m, n, k in [(64, 64, 65), (64, 15, 64), (0, 64, 64), (64, 64, 0), (64, 0, 64)]:
        a, b = (rng.standard_normal(s).astype(bfloat16) for s in ((m, k), (k, n)))
        check(matrix.matmul(a, b), a, b)
        check(matrix.matmul(a[None], np.stack([b, b])), a[None], np.stack([b, b]))
    a, b = (rng.standard_normal(s).astype(bfloat16) for s in ((80, 80), (80, 160)))
    check(matrix.matmul(a, b[:, ::2]), a, b[:, ::2])


@pytest.mark.parametrize(
    "shape", [(3, 8, 5, 6, 7), (2, 64, 64, 20, 28), (5, 32, 70, 4, 4), (2, 7, 5, 8, 8)]
)
def test_one_by_one_convolutions(rng, shape):
    n, c, o, h, w = shape
    x, k = rng.standard_normal((n, c, h, w)), rng.standard_normal((o, c, 1, 1))
    x, k, bias = (v.astype(bfloat16) for v in (x, k, rng.standard_normal(o)))
    args = (1, 1), (0, 0), (1, 1), 1
    flat, weight = x.reshape(n, c, -1), k.reshape(o, c)
    found = convolution.convolution_forward(x, k, bias, *args).reshape(n, o, -1)
    check(found, weight, flat, bias.astype(np.float64)[:, None])
    back = convolution.convolution_input_gradient(found.reshape(n, o, h, w), k, x.shape, *args)
    check(back.reshape(n, c, -1), weight.T, found)
