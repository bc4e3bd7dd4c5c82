"""Norms, ranks, powers, reflectors, determinants and tensors seen as matrices."""

import math

import pytest

import rushlight
from rushlight import linalg
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.testing.agreement import agree, random

DTYPES = ["float64", "complex128"]


def checked(function, *inputs):
    """First and second derivatives agree with finite differences."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    return gradcheck(function, leaves) and gradgradcheck(function, leaves)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms(dtype, ord):
    matrices = random(2, 3, 4, dtype=dtype)
    for options in ({}, {"dim": (0, 2)}, {"dim": (2, 1), "keepdim": True}):
        agree("linalg.matrix_norm", matrices, ord, **options)
    agree("linalg.norm", matrices[0], ord)
    assert checked(lambda x: linalg.matrix_norm(x, ord), matrices)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ord", [0, 0.5, 1, 2, 2.5, 3, -1, math.inf, -math.inf])
def test_vector_norms(dtype, ord):
    values = random(3, 4, dtype=dtype)
    for options in ({}, {"dim": 1}, {"dim": (0, 1), "keepdim": True}):
        agree("linalg.vector_norm", values, ord, **options)
    if ord:
        assert checked(lambda x: linalg.vector_norm(x, ord, 0), values)


def test_norms_in_another_dtype():
    agree("linalg.norm", random(3, dtype="float32"), dtype=rushlight.float64)
    with pytest.raises(RuntimeError, match="narrowing"):
        linalg.vector_norm(random(3), dtype=rushlight.float32)
    with pytest.raises(RuntimeError, match="int64"):
        linalg.norm(rushlight.arange(3))
    with pytest.raises(RuntimeError, match="length 1 or 2"):
        linalg.norm(random(2, 2, 2), 2, (0, 1, 2))


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, math.inf, "fro", "nuc"])
def test_condition(p):
    agree("linalg.cond", random(2, 3, 3), p)
    assert math.isinf(linalg.cond(rushlight.ones(2, 2, dtype=rushlight.float64), 1).item())


def test_rank():
    matrix = rushlight.diag(rushlight.tensor([1.0, 1e-3, 0.0]))
    agree("linalg.matrix_rank", matrix)
    agree("linalg.matrix_rank", matrix, hermitian=True)
    agree("linalg.matrix_rank", matrix, 1e-2)
    agree("linalg.matrix_rank", matrix, atol=rushlight.tensor(1e-2), rtol=0.0)
    agree("linalg.matrix_rank", rushlight.zeros(2, 0, 3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (3, 4), (2, 0, 3)])
def test_pseudo_inverse(dtype, shape):
    matrices = random(*shape, dtype=dtype)
    agree("linalg.pinv", matrices)
    agree("pinverse", matrices)
    if matrices.numel():
        assert checked(linalg.pinv, matrices)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5])
def test_powers(n):
    matrices = random(2, 3, 3)
    agree("linalg.matrix_power", matrices, n)
    agree("matrix_power", matrices, n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponential(dtype):
    matrices = random(2, 3, 3, dtype=dtype) * 3
    agree("linalg.matrix_exp", matrices)
    assert checked(linalg.matrix_exp, matrices / 3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_determinants(dtype):
    matrices = random(2, 3, 3, dtype=dtype)
    for name in ("linalg.det", "det", "slogdet", "logdet", "linalg.slogdet"):
        agree(name, matrices)
    assert checked(linalg.det, matrices) and checked(linalg.slogdet, matrices)
    assert linalg.slogdet(matrices)._fields == ("sign", "logabsdet")


def test_determinant_of_singular_matrices_has_a_gradient():
    matrix = rushlight.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=rushlight.float64)
    matrix.requires_grad_()
    linalg.det(matrix).backward()
    expected = rushlight.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=rushlight.float64)
    assert rushlight.allclose(matrix.grad, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reflectors(dtype):
    matrix = random(2, 5, 3, dtype=dtype)
    packed, tau = agree("geqrf", matrix)
    agree("linalg.householder_product", packed, tau)
    agree("orgqr", packed, tau)
    other = random(2, 5, 4, dtype=dtype, seed=1)
    for transpose in (False, True):
        agree("ormqr", packed, tau, other, True, transpose)
        agree("ormqr", packed, tau, other.mT, False, transpose)
    assert checked(linalg.householder_product, packed, tau)
    assert checked(rushlight.ormqr, packed, tau, other)


def test_reflectors_recorded_give_what_the_routine_gives():
    packed, tau = rushlight.geqrf(random(4, 3))
    recorded = linalg.householder_product(packed.clone().requires_grad_(), tau)
    assert rushlight.allclose(recorded, linalg.householder_product(packed, tau))


def test_chains():
    tensors = [random(3, 7), random(7, 2, seed=1), random(2, 5, seed=2), random(5, seed=3)]
    agree("linalg.multi_dot", tensors)
    agree("chain_matmul", *tensors[:3])
    with pytest.raises(RuntimeError, match=r"\[3, 7\] and \[2, 5\]"):
        linalg.multi_dot([tensors[0], tensors[2]])


def test_tensors_as_matrices():
    agree("linalg.tensorinv", random(2, 3, 6), ind=2)
    agree("linalg.tensorsolve", random(2, 3, 6), random(2, 3, seed=1))
    agree("linalg.tensorsolve", random(6, 2, 3), random(2, 3, seed=1), dims=(0,))
    agree("linalg.vander", random(2, 3), N=4)
    for count in (None, 0, 1, 2, 4):
        for increasing in (False, True):
            agree("vander", random(3), count, increasing)
    with pytest.raises(RuntimeError, match="N must be non-negative"):
        rushlight.vander(rushlight.ones(3), -1)
    agree("linalg.vecdot", random(2, 3, dtype="complex128"), random(3, dtype="complex128"))


def test_cross():
    a, b = random(2, 3, 3), random(2, 3, 3, seed=1)
    agree("cross", a, b)
    agree("linalg.cross", a, b, dim=1)
    with pytest.raises(RuntimeError, match="length 3"):
        linalg.cross(random(2), random(2))
