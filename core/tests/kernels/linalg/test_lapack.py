"""Factorizations and solvers of batches of small matrices against NumPy's products."""

import numpy as np
import pytest

from rushlight.kernels.linalg import lapack, spectra
from rushlight.machine import threads

DTYPES = ["f4", "f8", "c8", "c16"]
BATCHES = [(), (1,), (5,), (2, 3)]


def drawn(dtype, *shape):
    parts = np.random.default_rng(sum(shape)).standard_normal((2, *shape))
    array = parts[0] if dtype[0] == "f" else parts[0] + 1j * parts[1]
    return array.astype(dtype)


def adjoint(array):
    return np.conj(np.swapaxes(array, -1, -2))


def layouts(array):
    """By rows, by columns, and with gaps."""
    yield array
    yield np.ascontiguousarray(np.swapaxes(array, -1, -2)).swapaxes(-1, -2)
    yield np.repeat(array, 2, -1)[..., ::2]


def near(found, wanted, dtype):
    bound = 2e-4 if dtype in ("f4", "c8") else 1e-10
    assert found.dtype == wanted.dtype == np.dtype(dtype) and found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=bound, atol=bound)


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_systems(n, dtype, batch):
    a, b = drawn(dtype, *batch, n, n), drawn(dtype, *batch, n, 3)
    sure = (a / n + 2 * np.eye(n)).astype(dtype)
    positive = (a @ adjoint(a) + n * np.eye(n)).astype(dtype)
    for matrices, other in zip(layouts(sure), layouts(b), strict=True):
        found, info = lapack.solve(matrices, other)
        near(matrices @ found, b, dtype)
        assert info.dtype == np.int32 and info.shape == batch and not info.any()
        for upper in (False, True):
            triangle = np.triu(sure) if upper else np.tril(sure)
            near(triangle @ lapack.solve_triangular(matrices, other, upper), b, dtype)
            turned = lapack.solve_triangular(matrices, adjoint(other), upper, False)
            near(turned @ triangle, adjoint(b), dtype)
            unit = triangle - triangle * np.eye(n, dtype=dtype) + np.eye(n, dtype=dtype)
            found = lapack.solve_triangular(matrices, other, upper, unitriangular=True)
            near(unit @ found, b, dtype)
    for matrices, other in zip(layouts(positive), layouts(b), strict=True):
        for upper in (False, True):
            factor, info = lapack.cholesky(matrices, upper)
            assert (
                not info.any() and not (np.tril(factor, -1) if upper else np.triu(factor, 1)).any()
            )
            near((adjoint(factor) @ factor if upper else factor @ adjoint(factor)), positive, dtype)
            for held in layouts(factor):
                near(positive @ lapack.cholesky_solve(held, other, upper), b, dtype)


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (8, 8), (9, 4), (4, 9), (20, 20), (70, 66)])
def test_factors(shape, dtype, batch):
    a, (m, n) = drawn(dtype, *batch, *shape), shape
    k = min(m, n)
    for matrices in layouts(a):
        for complete in (False, True):
            q, r = lapack.qr(matrices, complete)
            near(q @ r, a, dtype)
            size = m if complete else k
            near(adjoint(q) @ q, np.broadcast_to(np.eye(size, dtype=dtype), (*batch, size, size)),
                 dtype)  # fmt: skip
            assert not np.tril(r, -1).any()
        factors, pivots, info = lapack.lu(matrices)
        lower = np.tril(factors, -1)[..., :k] + np.eye(m, k, dtype=dtype)
        upper = np.triu(factors)[..., :k, :]
        order = lapack.permutations(pivots, m, np.dtype(dtype))
        near(order @ lower @ upper, a, dtype)
        first, second, same = lapack.lu_parts(matrices)
        assert (first == lower).all() and (second == upper).all() and (same == pivots).all()
        assert not info.any()
        if m == n:
            diagonal, sign = lapack.triangle_of(matrices)
            wanted = np.linalg.det(a.astype("c16" if dtype[0] == "c" else "f8"))
            bound = 2e-3 if dtype in ("f4", "c8") else 1e-9
            np.testing.assert_allclose(diagonal.prod(-1) * sign / wanted, 1, rtol=bound)


def test_what_fails_is_told():
    matrices = np.stack([np.eye(3), np.diag([1.0, -1.0, 0.0]), np.zeros((3, 3))])
    assert lapack.cholesky(matrices)[1].tolist() == [0, 2, 1]
    found, info = lapack.solve(matrices, np.ones((3, 3, 1)))
    assert info.tolist() == [0, 3, 1] and found[0].tolist() == [[1], [1], [1]]
    assert lapack.lu(matrices)[2].tolist() == [0, 3, 1]
    diagonal, sign = lapack.triangle_of(matrices)
    assert (diagonal.prod(-1) * sign).tolist() == [1, 0, 0]
    factors, pivots, info = lapack.lu(np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 3.0], [0.0, 4.0, 5.0]]))
    assert info == 1 and pivots.tolist() == [1, 3, 3]
    assert factors.tolist() == [[0, 2, 1], [0, 4, 5], [0, 0, 3]]


def test_arrays_of_a_file(tmp_path):
    a = np.memmap(tmp_path / "matrix", "f8", "w+", shape=(3, 70, 70))
    a[...] = drawn("f8", 3, 70, 70)
    other = drawn("f8", 3, 70, 2)
    near(np.asarray(a) @ lapack.solve(a, other)[0], other, "f8")
    q, r = lapack.qr(a)
    near(np.asarray(q @ r), np.asarray(a), "f8")


def test_nothing():
    for shape in ((0, 3, 3), (2, 0, 0), (0, 0)):
        array = np.zeros(shape)
        assert lapack.cholesky(array)[0].shape == shape
        assert lapack.solve(array, array)[0].shape == shape
        assert lapack.solve_triangular(array, array, True)[0:].shape == shape
        assert lapack.cholesky_solve(array, array, False).shape == shape
        assert lapack.lu_parts(array)[1].shape == shape
        assert lapack.qr(array)[0].shape == shape and lapack.lu(array)[0].shape == shape


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e18, 1e30, 0.0])
def test_numbers_with_squares_out_of_range(scale, dtype):
    scale = scale if dtype == "f4" else scale**8
    a = drawn(dtype, 3, 6, 4) * np.dtype(dtype).type(scale)
    a[0, :, 1] = 0
    a[1, 2:, 0] = 0
    q, r = lapack.qr(a)
    near(np.swapaxes(q, -1, -2) @ q, np.broadcast_to(np.eye(4, dtype=dtype), (3, 4, 4)), dtype)
    unit = np.dtype(dtype).type(scale or 1)
    near(q @ (r / unit), a / unit, dtype)


def test_numbers_that_are_not_finite_stay_in_their_matrix():
    for value in (np.nan, np.inf):
        a = drawn("f4", 3, 5, 5)
        whole = a @ np.swapaxes(a, -1, -2) + 5 * np.eye(5, dtype="f4")
        a[1, 2, 3] = whole[1, 3, 2] = value
        q, r = lapack.qr(a)
        assert np.isfinite(q[::2]).all() and np.isfinite(r[::2]).all()
        assert not np.isfinite(q[1]).all()
        factor, info = lapack.cholesky(whole)
        assert np.isfinite(factor[::2]).all() and not np.isfinite(factor[1]).all()
        assert info[0] == info[2] == 0
    assert info.dtype == np.int32


def test_bits_do_not_depend_on_threads():
    a, found, before = drawn("f4", 600, 16, 12), [], threads.get_num_threads()
    square = a @ np.swapaxes(a, -1, -2) + 16 * np.eye(16, dtype="f4")
    try:
        for count in (1, 3):
            threads.set_num_threads(count)
            found.append([x.tobytes() for x in (*lapack.qr(a), *lapack.cholesky(square))])
    finally:
        threads.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_eigenvalues(n, dtype, batch):
    a = drawn(dtype, *batch, n, n)
    a = a + adjoint(a)
    for matrices in layouts(a):
        for upper in (False, True):
            half = np.triu(matrices) if upper else np.tril(matrices)
            values, vectors = spectra.eigh(half, upper)
            near(vectors * values[..., None, :], a @ vectors, dtype)
            near(
                adjoint(vectors) @ vectors, np.broadcast_to(np.eye(n, dtype=dtype), a.shape), dtype
            )
            alone, none = spectra.eigh(half, upper, False)
            near(alone, values, values.dtype.str[1:])
            assert none is None and (np.diff(values) >= 0).all()


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (9, 4), (4, 9), (40, 40)])
def test_singular_values(shape, dtype, batch):
    a, k = drawn(dtype, *batch, *shape), min(shape)
    for matrices in layouts(a):
        for full in (False, True):
            u, values, vh = spectra.svd(matrices, full)
            near(u[..., :k] * values[..., None, :] @ vh[..., :k, :], a, dtype)
            for q in (u, adjoint(vh)):
                size = q.shape[-1]
                one = np.broadcast_to(np.eye(size, dtype=dtype), (*batch, size, size))
                near(adjoint(q) @ q, one, dtype)
        none, alone, _ = spectra.svd(matrices, vectors=False)
        near(alone, values, values.dtype.str[1:])
        assert none is None and (np.diff(values) <= 0).all()
