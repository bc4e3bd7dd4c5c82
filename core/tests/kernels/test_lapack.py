"""Factorizations and solvers of batches of small matrices against NumPy's products."""

import numpy as np
import pytest

from rushlight.kernels import lapack

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


def test_what_fails_is_told():
    matrices = np.stack([np.eye(3), np.diag([1.0, -1.0, 0.0]), np.zeros((3, 3))])
    assert lapack.cholesky(matrices)[1].tolist() == [0, 2, 1]
    found, info = lapack.solve(matrices, np.ones((3, 3, 1)))
    assert info.tolist() == [0, 3, 1] and found[0].tolist() == [[1], [1], [1]]
    assert lapack.lu(matrices)[2].tolist() == [0, 3, 1]


def test_nothing():
    for shape in ((0, 3, 3), (2, 0, 0), (0, 0)):
        array = np.zeros(shape)
        assert lapack.cholesky(array)[0].shape == shape
        assert lapack.solve(array, array)[0].shape == shape
        assert lapack.solve_triangular(array, array, True)[0:].shape == shape
        assert lapack.cholesky_solve(array, array, False).shape == shape
        assert lapack.lu_parts(array)[1].shape == shape
        assert lapack.qr(array)[0].shape == shape and lapack.lu(array)[0].shape == shape
