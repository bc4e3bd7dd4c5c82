"""Singular values and eigenvalues; vectors through functions that do not see their phases."""

import pytest

import rushlight
from rushlight import linalg
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.testing.agreement import agree, random

DTYPES = ["float64", "complex128"]
SHAPES = [(3, 3), (2, 4, 3), (3, 5), (0, 3, 3), (2, 0, 3)]


def checked(function, *inputs):
    """First and second derivatives agree with finite differences."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    return gradcheck(function, leaves) and gradgradcheck(function, leaves)


def weighted(u, values, v):
    """What singular vectors determine, phases left out: ``U f(S) V^H`` and ``|U|^2``."""
    middle = (values * values + 1).unsqueeze(-2)
    return (u * middle) @ v, u.abs() ** 2, values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(dtype, shape):
    matrices = random(*shape, dtype=dtype)
    agree("linalg.svdvals", matrices)
    for full in (False, True):
        u, s, vh = linalg.svd(matrices, full)
        k = min(shape[-2:])
        product = (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]
        assert rushlight.allclose(product, matrices)
        assert u.shape[-1] == (shape[-2] if full else k) and vh.shape[-1] == shape[-1]
    if matrices.numel():
        assert checked(lambda x: weighted(*linalg.svd(x, False)), matrices)
        assert checked(linalg.svdvals, matrices)


def test_svd_of_each_part_alone():
    matrix = random(4, 3)
    assert checked(lambda x: linalg.svd(x, False).U.abs(), matrix)
    assert checked(lambda x: linalg.svd(x, False).Vh.abs(), matrix)
    assert checked(lambda x: linalg.svd(x).S, matrix)


def test_older_svd_gives_v():
    matrix = random(4, 3, dtype="complex128")
    u, s, v = rushlight.svd(matrix)
    assert rushlight.allclose((u * s.unsqueeze(-2)) @ v.mH, matrix)
    found = rushlight.svd(matrix, compute_uv=False)
    assert found._fields == ("U", "S", "V") and not bool(found.U.any())
    assert found.U.shape == (4, 4) and found.V.shape == (3, 3)


def test_a_loss_that_sees_phases_is_refused():
    matrix = random(3, 3, dtype="complex128").requires_grad_()
    with pytest.raises(RuntimeError, match="ill-defined"):
        linalg.svd(matrix).U.imag.sum().backward()


def test_no_values_of_what_is_not_finite():
    matrix = rushlight.full((2, 2), float("nan"))
    for function in (linalg.svd, linalg.eigh):
        with pytest.raises(linalg.LinAlgError, match="non-finite"):
            function(matrix)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("UPLO", ["L", "U"])
def test_eigh(dtype, UPLO):
    matrices = random(2, 4, 4, dtype=dtype)
    agree("linalg.eigvalsh", matrices, UPLO)
    hermitian = matrices + matrices.mH
    values, vectors = linalg.eigh(hermitian, UPLO)
    assert rushlight.allclose((vectors * values.unsqueeze(-2)) @ vectors.mH, hermitian)

    def decomposed(x):
        values, vectors = linalg.eigh(x + x.mH, UPLO)
        return weighted(vectors, values, vectors.mH)

    assert checked(decomposed, matrices)
    assert checked(lambda x: linalg.eigvalsh(x + x.mH, UPLO), matrices)
    with pytest.raises(RuntimeError, match="UPLO"):
        linalg.eigh(hermitian, "X")


@pytest.mark.parametrize("dtype", DTYPES)
def test_eig(dtype):
    matrices = random(2, 4, 4, dtype=dtype)
    agree("linalg.eigvals", matrices)
    values, vectors = linalg.eig(matrices)
    wide = matrices.to(values.dtype)
    assert rushlight.allclose(wide @ vectors, vectors * values.unsqueeze(-2))
    assert checked(lambda x: linalg.eig(x).eigenvectors.abs(), matrices)
    assert checked(linalg.eigvals, matrices)


@pytest.mark.parametrize("function", ["svd", "eigh", "eig", "eigvals", "eigvalsh", "svdvals"])
def test_empty_batches(function):
    agree(f"linalg.{function}", rushlight.zeros(0, 3, 3))
    agree(f"linalg.{function}", rushlight.zeros(2, 0, 0))


def test_meta_shapes():
    matrix = rushlight.empty(2, 4, 3, device="meta")
    assert [t.shape for t in linalg.svd(matrix)] == [(2, 4, 4), (2, 3), (2, 3, 3)]
    square = rushlight.empty(2, 3, 3, device="meta")
    assert linalg.eig(square).eigenvalues.dtype is rushlight.complex64
    assert linalg.inv(square).shape == (2, 3, 3)
    assert linalg.cholesky(square).is_meta and linalg.solve(square, square).is_meta
