"""Systems of equations, inverses, least squares."""

import pytest

import rushlight
from rushlight import linalg
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.testing.agreement import agree, random

DTYPES = ["float64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_inverse(dtype):
    matrices = random(2, 3, 3, dtype=dtype)
    for name in ("linalg.inv", "inverse", "linalg.inv_ex"):
        agree(name, matrices)
    assert linalg.inv(rushlight.zeros(0, 2, 2)).shape == (0, 2, 2)


def test_singular_matrices():
    matrices = rushlight.eye(2).repeat(3, 1, 1)
    matrices[2] = 1.0
    with pytest.raises(linalg.LinAlgError, match=r"linalg.inv: \(Batch element 2\).*singular"):
        linalg.inv(matrices)
    with pytest.raises(linalg.LinAlgError, match=r"linalg.solve: .*singular"):
        linalg.solve(matrices, rushlight.ones(2))
    assert linalg.inv_ex(matrices).info.tolist() == [0, 0, 2]
    assert issubclass(linalg.LinAlgError, RuntimeError)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        ((3, 3), (3,), True),
        ((3, 3), (2, 3, 2), True),
        ((2, 3, 3), (2, 3), True),
        ((2, 3, 3), (3, 2), True),
        ((2, 3, 3), (4, 3), False),
        ((0, 3, 3), (0, 3, 2), True),
        ((2, 0, 0), (2, 0, 3), True),
    ],
)
def test_solve(dtype, first, second, left):
    matrices, other = random(*first, dtype=dtype), random(*second, dtype=dtype, seed=1)
    agree("linalg.solve", matrices, other, left=left)
    agree("linalg.solve_ex", matrices, other, left=left)
    if matrices.numel():
        leaves = [matrices.requires_grad_(), other.requires_grad_()]
        assert gradcheck(lambda a, b: linalg.solve(a, b, left=left), leaves)
        assert gradgradcheck(lambda a, b: linalg.solve(a, b, left=left), leaves)


def test_solve_refuses_what_does_not_fit():
    with pytest.raises(RuntimeError, match=r"\[3, 3\].*\[2, 2\]"):
        linalg.solve(rushlight.eye(3), rushlight.eye(2))
    with pytest.raises(RuntimeError, match="same dtype"):
        linalg.solve(rushlight.eye(2), rushlight.eye(2, dtype=rushlight.float64))
    with pytest.raises(RuntimeError, match="left=False"):
        linalg.solve(rushlight.eye(2), rushlight.ones(2), left=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_solve(dtype, left, adjoint):
    matrices, other = random(2, 3, 3, dtype=dtype), random(2, 3, 3, dtype=dtype, seed=1)
    factors, pivots = linalg.lu_factor(matrices)
    agree("linalg.lu_solve", factors, pivots, other, left=left, adjoint=adjoint)
    agree("lu_solve", other, factors, pivots)

    def solved(matrix, right):
        return linalg.lu_solve(*linalg.lu_factor(matrix), right, left=left, adjoint=adjoint)

    assert gradcheck(solved, [matrices.requires_grad_(), other.requires_grad_()])


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("upper", [False, True])
def test_triangular_solve(upper, transpose):
    matrix, other = random(3, 3) + 3 * rushlight.eye(3), random(2, 3, 2, seed=1)
    agree("triangular_solve", other, matrix.double(), upper, transpose)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 3), (0, 4, 3)])
def test_least_squares(dtype, driver, shape):
    matrices = random(*shape, dtype=dtype)
    other = random(*shape[:-1], 2, dtype=dtype, seed=1)
    found = agree("linalg.lstsq", matrices, other, driver=driver)
    assert found._fields == ("solution", "residuals", "rank", "singular_values")
    if matrices.numel():
        leaves = [matrices.requires_grad_(), other.requires_grad_()]
        assert gradcheck(lambda a, b: linalg.lstsq(a, b, driver=driver)[0], leaves)


def test_least_squares_of_low_rank():
    matrix = rushlight.ones(4, 2, dtype=rushlight.float64)
    found = linalg.lstsq(matrix, matrix[:, :1], driver="gelsd")
    assert found.rank.item() == 1 and found.residuals.numel() == 0
    with pytest.raises(RuntimeError, match="gelsx"):
        linalg.lstsq(matrix, matrix, driver="gelsx")
