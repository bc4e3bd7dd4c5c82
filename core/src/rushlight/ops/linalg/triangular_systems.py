"""Systems of equations with triangular matrices."""

from __future__ import annotations

from rushlight.errors import shape_text
from rushlight.kernels.linalg import lapack
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.op import composite, op
from rushlight.ops.linalg.matrix_checks import (
    broadcast_batches,
    check_dtype,
    check_matrix,
    check_square,
)
from rushlight.tensor.memory_format import by_columns, contiguous_format
from rushlight.tensor.results import named
from rushlight.tensor.tensor import Tensor

Solution = named("triangular_solve", "solution cloned_coefficient")


def check_system(name, A, B, left=True):
    """A square, B of as many rows (columns if not `left`), equal dtypes."""
    check_matrix(name, B, "B")
    check_square(name, A, "A")
    check_dtype(name, A, B)
    size = B.shape[-2] if left else B.shape[-1]
    if A.shape[-1] != size:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'}: A has shape {shape_text(A.shape)}, B has shape "
            f"{shape_text(B.shape)}"
        )


def _samples(make):
    def factor(*shape):
        return make(*shape) + 4 * _eye(make, shape[-1])

    return [
        ((factor(3, 3), make(3, 2)), {"upper": True}),
        ((factor(2, 3, 3), make(2, 3, 2)), {"upper": False}),
        ((factor(2, 3, 3), make(4, 3)), {"upper": False, "left": False}),
        ((factor(3, 3), make(2, 3, 1)), {"upper": True, "unitriangular": True}),
        ((factor(3, 3), make(0, 3, 2)), {"upper": True}),
        ((make(0, 0), make(0, 2)), {"upper": True}),
    ]


def _eye(make, size):
    from rushlight.ops.creation.tensors import eye

    return eye(size, dtype=make.dtype)


def _meta(A, B, upper, left=True, unitriangular=False):
    check_system("linalg.solve_triangular", A, B, left)
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    return (*batch, *B.shape[-2:]), dtype_of(B)


@op(
    batching="trailing of several",
    method=False,
    oracle="_C._linalg",
    samples=_samples,
    meta=_meta,
    columns=(0,),
    sweep=(2, 3),
    saves="left result self unitriangular upper",
)
def linalg_solve_triangular(input: Tensor, B: Tensor, *, upper, left=True, unitriangular=False):
    """X of ``A @ X = B`` (``X @ A = B`` if not `left`) for triangular A ``(*, n, n)``; the other
    triangle is not read, nor the diagonal if `unitriangular`. No check for zeros on the diagonal.
    """
    check_system("linalg.solve_triangular", input, B, left)
    input, B = broadcast_batches("linalg.solve_triangular", input, B)
    return by_columns(lapack.solve_triangular(input, B, upper, left, unitriangular))


def _gradient(grad, input, out, B_shape, upper, left, unitriangular):
    turned = linalg_solve_triangular(
        input.mH, grad, upper=not upper, left=left, unitriangular=unitriangular
    )
    return turned


def _matrix_gradient(grad, input, out, upper, left, unitriangular):
    turned = _gradient(grad, input, out, None, upper, left, unitriangular)
    outer = -(turned @ out.mH) if left else -(out.mH @ turned)
    outside = 1 if unitriangular else 0
    return outer.triu(outside) if upper else outer.tril(-outside)


linalg_solve_triangular.gradient(input=_matrix_gradient, B=_gradient)


@composite(
    schemas=(
        "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
        "bool unitriangular=False) -> (Tensor, Tensor)",
    ),
    method=True,
    samples=lambda make: [
        (make(3, 2), make.invertible(3, 3)),
        (make(2, 2, 1), make.invertible(2, 2, 2), False, True, True),
    ],
    autocast="float32",
    aten="default X",
)
def triangular_solve(input: Tensor, A: Tensor, upper=True, transpose=False, unitriangular=False):
    """``(solution, cloned_coefficient)`` of ``A @ X = input`` for triangular A; new programs use
    :func:`rushlight.linalg.solve_triangular`."""
    check_system("triangular_solve", A, input)
    matrix = A.mT if transpose else A
    solution = linalg_solve_triangular(
        matrix, input, upper=upper != transpose, unitriangular=unitriangular
    )
    batch = tuple(solution.shape[:-2])
    turned = A.expand(*batch, *A.shape[-2:]).mT.clone(memory_format=contiguous_format)
    return Solution(solution, turned.mT)
