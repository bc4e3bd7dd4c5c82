"""Functions of tensors with sparse layout; the tensors are made by
:func:`rushlight.sparse_coo_tensor`, :func:`rushlight.sparse_csr_tensor` and ``Tensor.to_sparse``.

>>> adjacency = rushlight.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
>>> rushlight.sparse.mm(adjacency, rushlight.tensor([[1.0], [3.0]]))
tensor([[3.],
        [2.]])
"""

from rushlight import refusals
from rushlight.ops import sparse_layouts as _layouts  # noqa: F401 - binds the methods
from rushlight.ops.sparse_creation import (
    check_sparse_tensor_invariants,
    sparse_coo_tensor,
    sparse_csr_tensor,
)
from rushlight.ops.sparse_products import hspmm, mm, sampled_addmm, smm, spdiags
from rushlight.ops.sparse_reduction import log_softmax, softmax
from rushlight.ops.sparse_reduction import sparse_sum as sum
from rushlight.ops.sparse_tensors import COO as sparse_coo  # noqa: N811 - PyTorch's names
from rushlight.ops.sparse_tensors import CSR as sparse_csr  # noqa: N811


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """``beta * mat + alpha * mat1 @ mat2`` with a sparse `mat1`."""
    from rushlight.ops.sparse_products import addmm as product

    return product(mat, mat1, mat2, beta=beta, alpha=alpha)


def spmm(mat1, mat2):
    """The product of a sparse and a dense matrix; as :func:`mm`."""
    return mm(mat1, mat2)


__all__ = [
    "addmm",
    "check_sparse_tensor_invariants",
    "hspmm",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "smm",
    "sparse_coo",
    "sparse_coo_tensor",
    "sparse_csr",
    "sparse_csr_tensor",
    "softmax",
    "spdiags",
    "spmm",
    "sum",
]
__getattr__ = refusals.rest_of(__name__)
