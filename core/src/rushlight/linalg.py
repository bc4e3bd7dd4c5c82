"""Linear algebra: ``rushlight.linalg``, PyTorch's ``torch.linalg``.

Matrices are the last two dimensions; the ones before are a batch. Every function takes float32,
float64, complex64 and complex128 and is differentiable where the field defines a derivative.
"""

from __future__ import annotations

from rushlight.ops.linalg.determinant import linalg_det as det
from rushlight.ops.linalg.determinant import linalg_slogdet as slogdet
from rushlight.ops.linalg.eigenvalues import linalg_eig as eig
from rushlight.ops.linalg.eigenvalues import linalg_eigh as eigh
from rushlight.ops.linalg.eigenvalues import linalg_eigvals as eigvals
from rushlight.ops.linalg.eigenvalues import linalg_eigvalsh as eigvalsh
from rushlight.ops.linalg.eigenvalues import linalg_svd as svd
from rushlight.ops.linalg.eigenvalues import linalg_svdvals as svdvals
from rushlight.ops.linalg.factorization import linalg_cholesky as cholesky
from rushlight.ops.linalg.factorization import linalg_cholesky_ex as cholesky_ex
from rushlight.ops.linalg.factorization import linalg_ldl_factor as ldl_factor
from rushlight.ops.linalg.factorization import linalg_ldl_factor_ex as ldl_factor_ex
from rushlight.ops.linalg.factorization import linalg_lu as lu
from rushlight.ops.linalg.factorization import linalg_lu_factor as lu_factor
from rushlight.ops.linalg.factorization import linalg_lu_factor_ex as lu_factor_ex
from rushlight.ops.linalg.factorization import linalg_qr as qr
from rushlight.ops.linalg.matrix_checks import LinAlgError
from rushlight.ops.linalg.matrix_functions import linalg_cross as cross
from rushlight.ops.linalg.matrix_functions import linalg_diagonal as diagonal
from rushlight.ops.linalg.matrix_functions import linalg_householder_product as householder_product
from rushlight.ops.linalg.matrix_functions import linalg_matmul as matmul
from rushlight.ops.linalg.matrix_functions import linalg_matrix_exp as matrix_exp
from rushlight.ops.linalg.matrix_functions import linalg_matrix_power as matrix_power
from rushlight.ops.linalg.matrix_functions import linalg_multi_dot as multi_dot
from rushlight.ops.linalg.matrix_functions import linalg_pinv as pinv
from rushlight.ops.linalg.matrix_functions import linalg_tensorinv as tensorinv
from rushlight.ops.linalg.matrix_functions import linalg_tensorsolve as tensorsolve
from rushlight.ops.linalg.matrix_functions import linalg_vander as vander
from rushlight.ops.linalg.matrix_functions import linalg_vecdot as vecdot
from rushlight.ops.linalg.matrix_norm import linalg_cond as cond
from rushlight.ops.linalg.matrix_norm import linalg_matrix_norm as matrix_norm
from rushlight.ops.linalg.matrix_norm import linalg_matrix_rank as matrix_rank
from rushlight.ops.linalg.matrix_norm import linalg_norm as norm
from rushlight.ops.linalg.matrix_norm import linalg_vector_norm as vector_norm
from rushlight.ops.linalg.solver import linalg_inv as inv
from rushlight.ops.linalg.solver import linalg_inv_ex as inv_ex
from rushlight.ops.linalg.solver import linalg_ldl_solve as ldl_solve
from rushlight.ops.linalg.solver import linalg_lstsq as lstsq
from rushlight.ops.linalg.solver import linalg_lu_solve as lu_solve
from rushlight.ops.linalg.solver import linalg_solve as solve
from rushlight.ops.linalg.solver import linalg_solve_ex as solve_ex
from rushlight.ops.linalg.triangular_systems import linalg_solve_triangular as solve_triangular

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
