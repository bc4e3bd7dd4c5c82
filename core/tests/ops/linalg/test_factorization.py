"""Cholesky, LU, LDL and QR: what the op table cannot say."""

import pytest

import rushlight
from rushlight import linalg
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.testing.agreement import agree, definite, random

DTYPES = ["float64", "complex128"]


def checked(function, *inputs):
    """First and second derivatives agree with finite differences."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    return gradcheck(function, leaves) and gradgradcheck(function, leaves)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_of_definite_matrices(dtype, upper):
    matrices = definite(2, 3, 3, dtype=dtype)
    factor = agree("linalg.cholesky", matrices, upper=upper)
    agree("cholesky", matrices, upper)
    agree("cholesky_inverse", factor, upper)
    agree("cholesky_solve", random(2, 3, 2, dtype=dtype), factor, upper)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_gradient(dtype, upper):
    def factor(x):
        return linalg.cholesky(x @ x.mH + rushlight.eye(3, dtype=x.dtype), upper=upper)

    assert checked(factor, random(2, 3, 3, dtype=dtype))


def test_cholesky_failure_names_the_matrix_and_the_minor():
    matrices = rushlight.eye(3).repeat(2, 1, 1)
    matrices[1, 1, 1] = -1.0
    with pytest.raises(linalg.LinAlgError, match=r"Batch element 1.*order 2"):
        linalg.cholesky(matrices)
    with pytest.raises(RuntimeError, match="not positive-definite"):
        linalg.cholesky(matrices[1])
    found = linalg.cholesky_ex(matrices)
    assert found.info.tolist() == [0, 2]
    with pytest.raises(linalg.LinAlgError):
        linalg.cholesky_ex(matrices, check_errors=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 4), (0, 3, 3), (2, 0, 3)])
def test_lu(dtype, shape):
    matrices = random(*shape, dtype=dtype)
    order, lower, upper = agree("linalg.lu", matrices)
    product = order @ lower @ upper
    assert rushlight.allclose(product, matrices)
    factors = agree("linalg.lu_factor_ex", matrices)
    agree("lu_unpack", factors.LU, factors.pivots)
    agree("lu", matrices, get_infos=True)
    if matrices.numel():
        assert checked(lambda x: linalg.lu(x)[1:], matrices)
        for part in (1, 2):  # the gradient of one triangle alone
            assert checked(lambda x, part=part: linalg.lu(x)[part], matrices)


def test_lu_factor_of_a_singular_matrix():
    with pytest.raises(linalg.LinAlgError, match=r"U\[2,2\] is zero"):
        linalg.lu_factor(rushlight.ones(2, 2))
    with pytest.raises(RuntimeError, match="without pivoting"):
        linalg.lu_factor(rushlight.ones(2, 2), pivot=False)
    assert linalg.lu_factor_ex(rushlight.ones(2, 2)).info.item() == 2


def test_lu_unpack_gives_what_is_asked_for():
    factors, pivots = linalg.lu_factor(random(3, 3))
    found = rushlight.lu_unpack(factors, pivots, unpack_data=False)
    assert found.L.numel() == 0 and found.U.numel() == 0 and found.P.shape == (3, 3)
    with pytest.raises(RuntimeError, match="int32"):
        rushlight.lu_unpack(factors, pivots.long())


@pytest.mark.parametrize("dtype", DTYPES)
def test_ldl(dtype):
    matrix = random(2, 4, 4, dtype=dtype)
    for hermitian, symmetric in ((False, matrix + matrix.mT), (True, matrix + matrix.mH)):
        factors, pivots = agree("linalg.ldl_factor", symmetric, hermitian=hermitian)
        other = random(2, 4, 3, dtype=dtype, seed=1)
        found = agree("linalg.ldl_solve", factors, pivots, other, hermitian=hermitian)
        assert rushlight.allclose(symmetric @ found, other)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (2, 3, 5), (0, 4, 2), (2, 0, 3)])
def test_qr(dtype, mode, shape):
    matrices = random(*shape, dtype=dtype)
    found = agree("linalg.qr", matrices, mode)
    assert found._fields == ("Q", "R")
    if mode != "r" and matrices.numel() and shape[-2] <= shape[-1]:
        assert checked(lambda x: linalg.qr(x, mode), matrices)


def test_qr_without_a_derivative():
    with pytest.raises(RuntimeError, match="mode='r'"):
        linalg.qr(random(3, 3).requires_grad_(), "r").R.sum().backward()
    with pytest.raises(RuntimeError, match="mode='complete'"):
        linalg.qr(random(4, 3).requires_grad_(), "complete").R.sum().backward()
    with pytest.raises(RuntimeError, match="'full'"):
        linalg.qr(random(3, 3), "full")


def test_out_and_named_results():
    matrix = definite(3, 3)
    factor = rushlight.empty(3, 3, dtype=rushlight.float64)
    info = rushlight.empty((), dtype=rushlight.int32)
    linalg.cholesky_ex(matrix, out=(factor, info))
    assert rushlight.equal(factor, linalg.cholesky(matrix))
    named = "rushlight.return_types.linalg_qr(\nQ=tensor"
    assert repr(linalg.qr(rushlight.eye(1))).startswith(named)


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "eigh", "eig"])
def test_bad_input_is_named(name):
    function = getattr(linalg, name)
    with pytest.raises(RuntimeError, match=r"3 by 2"):
        function(rushlight.ones(3, 2))
    with pytest.raises(RuntimeError, match=r"at least 2 dimensions.*\[3\]"):
        function(rushlight.ones(3))
    with pytest.raises(RuntimeError, match="int64"):
        function(rushlight.ones(2, 2, dtype=rushlight.int64))
    with pytest.raises(RuntimeError, match="low precision"):
        function(rushlight.ones(2, 2, dtype=rushlight.float16))


@pytest.mark.parametrize("pivots", [[1, 2, 9], [0, 2, 3], [1, 2, 3, 3]], ids=str)
def test_pivots_that_no_factorization_gives(pivots):
    """LAPACK would write anywhere with them."""
    matrix, given = rushlight.eye(3), rushlight.tensor(pivots, dtype=rushlight.int32)
    with pytest.raises(RuntimeError, match="pivots"):
        rushlight.lu_unpack(matrix, given)
    with pytest.raises(RuntimeError, match="pivots"):
        rushlight.linalg.lu_solve(matrix, given, matrix)


@pytest.mark.parametrize("pivots", [[1, 2, 9], [0, 2, 3], [1, 2, -3], [-2, 2, 3]], ids=str)
def test_pivots_that_no_ldl_factorization_gives(pivots):
    matrix, given = rushlight.eye(3), rushlight.tensor(pivots, dtype=rushlight.int32)
    with pytest.raises(RuntimeError, match="negative in pairs"):
        rushlight.linalg.ldl_solve(matrix, given, matrix)
