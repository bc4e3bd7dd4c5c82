"""Matrix products against float64, for every layout, dtype and path."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from rushlight.kernels.gemm import products as matrix
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import threads

compiled_only = pytest.mark.skipif(REFERENCE, reason="the reference computes in float64")

SIZES = [
    (1, 1, 1),
    (3, 5, 7),
    (64, 128, 200),
    (29, 33, 65),
    (1, 500, 300),
    (300, 1, 300),
    (64, 10, 128),
    (15, 100, 1024),
    (30, 40, 4200),
    (33, 49, 2048),
    (30, 145, 5120),
    (257, 70, 90),
]


def operand(rng, rows, columns, dtype, kind):
    """A matrix of some layout, with NaN around it where there is an around."""
    values = rng.standard_normal((rows, columns)).astype(dtype)
    if kind == "dense":
        return values
    if kind == "transposed":
        return np.ascontiguousarray(values.T).T
    big = np.full((2 * rows + 2, 2 * columns + 3), np.nan, dtype)
    if kind == "rows":
        view = big[1 : rows + 1, 2 : columns + 2]
    elif kind == "reversed":
        view = big[rows:0:-1, columns:0:-1]
    else:
        view = big[1 : 2 * rows : 2, 1 : 2 * columns : 2]
    view[...] = values
    return view


def check(result, a, b, dtype, extra=0):
    exact = a.astype(np.float64) @ b.astype(np.float64) + extra
    scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64) + np.abs(extra)
    bound = 1e-6 if dtype == np.float32 else 2e-15
    assert result.dtype == dtype
    assert result.shape == exact.shape
    assert (np.abs(result - exact) <= bound * scale + 1e-30).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kinds", ["dense transposed", "transposed dense", "rows strided",
                                   "reversed rows", "dense dense"])  # fmt: skip
def test_layouts(rng, dtype, size, kinds):
    m, n, k = size
    left, right = kinds.split()
    a, b = operand(rng, m, k, dtype, left), operand(rng, k, n, dtype, right)
    check(matrix.matmul(a, b), a, b, dtype)
    bias = rng.standard_normal(n).astype(dtype)
    check(matrix.addmm(bias, a, b), a, b, dtype, bias)
    check(matrix.linear(a, b.T, bias), a, b, dtype, bias)


@compiled_only
@pytest.mark.parametrize("size", [(8, 515, 512), (33, 300, 129), (300, 33, 927), (40, 70, 2048),
                                  (2, 1024, 64), (1024, 2, 64), (513, 129, 65)])  # fmt: skip
@pytest.mark.parametrize("kinds", ["dense transposed", "transposed rows", "strided dense"])
def test_blocks_of_float64(rng, size, kinds):
    m, n, k = size
    left, right = kinds.split()
    a, b = operand(rng, m, k, np.float64, left), operand(rng, k, n, np.float64, right)
    bias, rows = rng.standard_normal(n), rng.standard_normal((m, 1))
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            by_rows = matrix.product_into(a, b, np.empty((m, n)), rows[:, 0], by_rows=True)
            added = matrix.addmm(np.tile(rows, n), a, b)
            found.append([matrix.linear(a, b.T, bias), added, by_rows])
    finally:
        threads.set_num_threads(before)
    check(found[0][0], a, b, np.float64, bias)
    check(found[0][1], a, b, np.float64, rows)
    check(found[0][2], a, b, np.float64, rows)
    assert all(np.array_equal(x, y) for other in found[1:]
               for x, y in zip(found[0], other, strict=True))  # fmt: skip


@pytest.mark.parametrize("size", [(20, 32, 48), (100, 40, 64)])
def test_out_and_addmm(rng, dtype, size):
    m, n, k = size
    a, b = operand(rng, m, k, dtype, "dense"), operand(rng, k, n, dtype, "transposed")
    canvas = np.full((m + 2, n), np.nan, dtype)
    out = canvas[1 : m + 1]
    assert matrix.matmul(a, b, out=out) is out
    check(out, a, b, dtype)
    assert np.isnan(canvas[[0, -1]]).all()
    wide = np.full((m, 2 * n), np.nan, dtype)
    matrix.matmul(a, b, out=wide[:, ::2])
    check(wide[:, ::2], a, b, dtype)
    assert np.isnan(wide[:, 1::2]).all()
    c = rng.standard_normal((m, n)).astype(dtype)
    check(matrix.addmm(c, a, b), a, b, dtype, c.astype(np.float64))
    got = matrix.addmm(c, a, b, beta=0.5, alpha=2.0)
    assert np.allclose(got, 0.5 * c + 2.0 * (a.astype(np.float64) @ b), atol=1e-4)
    assert np.isfinite(matrix.addmm(np.full((m, n), np.nan, dtype), a, b, beta=0)).all()


@pytest.mark.parametrize(
    "shapes",
    [
        ((5, 8, 16), (5, 16, 12)),
        ((2, 1, 8, 16), (3, 16, 12)),
        ((4, 7, 30), (30, 50)),
        ((6, 40), (3, 40, 20)),
        ((2, 200, 150), (2, 150, 180)),
        ((0, 3, 4), (0, 4, 5)),
        ((2, 3, 0), (2, 0, 5)),
    ],
)
def test_batches(rng, dtype, shapes):
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    swapped = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    for left in (a, swapped, a[..., ::-1]):
        got = matrix.matmul(left, b)
        assert got.shape == np.matmul(left, b).shape
        assert np.allclose(got, np.matmul(left.astype(np.float64), b), atol=1e-3)


def test_vectors(rng):
    a, v = rng.standard_normal((4, 3)), rng.standard_normal(3)
    w = rng.standard_normal(4)
    assert np.allclose(matrix.matmul(a, v), a @ v)
    assert np.allclose(matrix.matmul(w, a), w @ a)
    assert np.allclose(matrix.matmul(v, v), v @ v)
    batch = rng.standard_normal((2, 4, 3))
    assert np.allclose(matrix.matmul(w, batch), w @ batch)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.complex64, np.complex128])
def test_other_dtypes(rng, kind):
    a, b = (rng.integers(0, 9, (20, 20)).astype(kind) for _ in range(2))
    got = matrix.matmul(a, b)
    assert got.dtype == kind
    assert np.array_equal(got, np.matmul(a, b))


@compiled_only
@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_low_precision_rounds_once(rng, kind):
    a, b = (rng.standard_normal((40, 60)).astype(kind) for _ in range(2))
    wide = [v.astype(np.float32) for v in (a, b.T)]
    want = matrix.matmul(*wide).astype(kind)
    assert np.array_equal(matrix.matmul(a, b.T), want)
    bias = np.ones(40, kind)
    want = matrix.linear(a.astype(np.float32), b.astype(np.float32), bias.astype(np.float32))
    assert np.array_equal(matrix.linear(a, b, bias), want.astype(kind))


@pytest.mark.parametrize("shape", [(256, 4096, 256), (8, 4096, 64), (70, 2000, 33)])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True)])
def test_errors_of_long_sums(rng, shape, transposed):
    """Sums of 4096 products in one register would have errors of 1e-6."""
    m, k, n = shape
    a = rng.standard_normal((k, m) if transposed[0] else (m, k)).astype(np.float32)
    b = rng.standard_normal((n, k) if transposed[1] else (k, n)).astype(np.float32)
    left, right = (v.T if t else v for v, t in zip((a, b), transposed, strict=True))
    exact = left.astype(np.float64) @ right
    error = np.square(matrix.matmul(left, right) - exact).mean() / np.square(exact).mean()
    assert np.sqrt(error) < 4e-7


def test_empty_sums_are_zero_plus_bias():
    a, b = np.ones((3, 0), np.float32), np.ones((0, 4), np.float32)
    assert np.array_equal(matrix.matmul(a, b), np.zeros((3, 4)))
    assert np.array_equal(matrix.linear(a, b.T, np.arange(4, dtype="f")), [[0, 1, 2, 3]] * 3)
    assert matrix.linear(np.ones((0, 5), "f"), np.ones((4, 5), "f"), None).shape == (0, 4)
    assert matrix.linear(np.ones((2, 3, 5), "f"), np.ones((4, 5), "f"), None).shape == (2, 3, 4)


@pytest.mark.parametrize("size", [(128, 784, 64), (64, 10, 4096), (513, 300, 300)])
def test_same_bits_for_any_number_of_threads(rng, dtype, size):
    m, n, k = size
    a, b = operand(rng, m, k, dtype, "dense"), operand(rng, k, n, dtype, "transposed")
    before, results = threads.get_num_threads(), []
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        results.append(matrix.matmul(a, b))
    threads.set_num_threads(before)
    assert all(np.array_equal(results[0], other) for other in results)


def test_shape_errors_spell_out_the_shapes():
    a, b = np.ones((3, 4), np.float32), np.ones((5, 6), np.float32)
    with pytest.raises(ValueError, match=r"\(3, 4\) @ \(5, 6\)"):
        matrix.matmul(a, b)
    with pytest.raises(ValueError, match="expects 6"):
        matrix.linear(a, b, None)
    with pytest.raises(ValueError, match="broadcast"):
        matrix.matmul(np.ones((2, 3, 4)), np.ones((3, 4, 5)))


def test_reference_agrees(rng):
    a, b = (rng.standard_normal((30, 30)).astype(np.float32) for _ in range(2))
    assert np.allclose(matrix.matmul.reference(a, b), matrix.matmul(a, b), atol=1e-5)
    bias = np.ones(30, np.float32)
    assert np.allclose(matrix.linear.reference(a, b, bias), matrix.linear(a, b, bias), atol=1e-5)
    got, want = (f(a, a, b, 2, 3) for f in (matrix.addmm, matrix.addmm.reference))
    assert np.allclose(got, want, atol=1e-4)


@pytest.mark.skipif(REFERENCE, reason="there are no prepared calls then")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_by_one_call(rng, dtype):
    """Every kernel behind them, the ones that pack on one thread included."""
    from rushlight.kernels.gemm import prepared as prepared_products

    eps = np.finfo(dtype).eps
    for m, k, n in (
        (1, 40, 60),
        (60, 40, 1),
        (31, 31, 31),
        (48, 48, 48),
        (33, 40, 64),
        (64, 32, 63),
    ):
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        exact = a.astype(float) @ b.astype(float)
        for x in (a, np.asfortranarray(a), np.tile(a, 2)[:, :k]):
            for y in (b, np.asfortranarray(b)):
                got = prepared_products.product(x, y)(x, y)
                assert got.flags.c_contiguous and got.dtype == dtype
                assert np.abs(got - exact).max() <= 60 * k * eps
        pair, other = np.stack([a, 2 * a]), np.stack([b, -b])
        got = prepared_products.batch(pair, other)(pair, other)
        assert np.abs(got - np.stack([exact, -2 * exact])).max() <= 120 * k * eps
    wide = np.ones((200, 200), dtype)
    assert prepared_products.product(wide, wide) is None
    assert prepared_products.product(a[::2, ::2], b[: (k + 1) // 2]) is None
