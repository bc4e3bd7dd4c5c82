"""Systems of linear equations with triangular CSR matrices."""

from __future__ import annotations

from rushlight.errors import shape_text
from rushlight.kernels.sparse.systems import substituted
from rushlight.machine import np
from rushlight.ops.creation.tensors import empty
from rushlight.ops.linalg import triangular_systems
from rushlight.ops.linalg.triangular_systems import Solution
from rushlight.ops.linalg.triangular_systems import triangular_solve as dense_solve
from rushlight.ops.sparse.creation import to_dense
from rushlight.ops.sparse.history import whole
from rushlight.ops.sparse.products import _places
from rushlight.ops.sparse.tensors import CSR, is_sparse, missing, rule
from rushlight.tensor.tensor import make_tensor


def _pull(grad, args, options, needs):
    right, matrix, upper, transpose, unitriangular = args
    conjugate = matrix.conj() if matrix.is_complex() else matrix
    of_right = _solved(grad, conjugate, upper, not transpose, unitriangular)
    of_matrix = None
    if needs[1]:
        solution = _solved(right, matrix, upper, transpose, unitriangular)
        product = -(of_right @ solution.mH)
        product = product.mT if transpose else product
        diagonal = int(bool(unitriangular))
        of_matrix = product.triu(diagonal) if upper else product.tril(-diagonal)
    return of_right if needs[0] else None, of_matrix, None, None, None


@whole(_pull, dense=True)
def _solved(right, matrix, upper, transpose, unitriangular):
    if matrix._held.requires_grad or (right.requires_grad and matrix._node is None):
        return dense_solve(right, to_dense(matrix), upper, transpose, unitriangular).solution
    pattern, rows = _places(matrix), int(transpose)
    starts, order = pattern.by(rows)
    columns = np.ascontiguousarray(pattern.indices[1 - rows])
    arrays = [t.detach().resolve_conj()._array for t in (matrix._held, right)]
    found = substituted(starts, order, columns, *arrays, upper != transpose, unitriangular)
    return make_tensor(found, right.dtype)


@rule(triangular_systems.triangular_solve, every=True)
def triangular_solve(input, A, upper=True, transpose=False, unitriangular=False):
    """``(solution, empty)`` of ``A @ X = input`` for a triangular CSR matrix A (N, N) and a dense
    input (N, K); elements on the other side of the diagonal are not read."""
    if is_sparse(input):
        raise missing("triangular_solve with a sparse right-hand side")
    if A.layout != CSR or A._pattern.special:
        raise ValueError(f"triangular_solve: expected A of layout sparse_csr, got {A.layout}")
    if A.shape[0] != A.shape[1] or input.dim() != 2 or input.shape[0] != A.shape[0]:
        raise RuntimeError(
            f"triangular_solve: expected A (N, N) and input (N, K), got {shape_text(A.shape)} and "
            f"{shape_text(input.shape)}"
        )
    if A.dtype is not input.dtype:
        raise RuntimeError(
            f"triangular_solve: expected input and A of one dtype, got {input.dtype} and {A.dtype}"
        )
    nothing = empty(0, dtype=A.dtype, device=A.device)
    return Solution(_solved(input, A, upper, transpose, unitriangular), nothing)
