"""Functions of tensors with sparse layout; the tensors are made by
:func:`rushlight.sparse_coo_tensor`, :func:`rushlight.sparse_compressed_tensor` and
``Tensor.to_sparse``.

>>> adjacency = rushlight.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
>>> rushlight.sparse.mm(adjacency, rushlight.tensor([[1.0], [3.0]]))
tensor([[3.],
        [2.]])
"""

from rushlight import refusals
from rushlight.dtypes import float16, float32, float64, int32, int64
from rushlight.ops.sparse import layouts as _layouts  # noqa: F401 - binds the methods
from rushlight.ops.sparse.compressed import (
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from rushlight.ops.sparse.creation import check_sparse_tensor_invariants, sparse_coo_tensor
from rushlight.ops.sparse.products import add_product as _add_product
from rushlight.ops.sparse.products import hspmm, mm_reduce, sampled_addmm, smm, spdiags, spmm
from rushlight.ops.sparse.products import masked_mm as _mm
from rushlight.ops.sparse.reduction import log_softmax, softmax
from rushlight.ops.sparse.reduction import sparse_sum as sum
from rushlight.tensor.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """``beta * mat + alpha * mat1 @ mat2`` with a sparse `mat1`."""
    return _add_product(mat, _mm(mat1, mat2), beta, alpha)


def mm(mat1, mat2, reduce=None):
    """The product of two matrices, sparse if both are; with `reduce` (sum, mean, amax or max, amin
    or min) the terms of each element are combined in that way: `mat1` CSR, `mat2` dense.

    >>> scores = rushlight.tensor([[1.0, 0.0], [2.0, 3.0]]).to_sparse_csr()
    >>> rushlight.sparse.mm(scores, rushlight.tensor([[1.0], [2.0]]), "amax")
    tensor([[1.],
            [6.]])
    """
    return _mm(mat1, mat2) if reduce is None else mm_reduce(mat1, mat2, reduce)


def _of_dtype(name, dtype):
    def make(indices=None, values=None, size=None, *, device=None):
        if values is None and indices is None:
            return sparse_coo_tensor(size=size or (0,), dtype=dtype)
        return sparse_coo_tensor(indices, values, size, dtype=dtype, device=device)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The former constructor: ``sparse_coo_tensor(..., dtype={dtype.name})``."
    return make


DoubleTensor = _of_dtype("DoubleTensor", float64)
FloatTensor = _of_dtype("FloatTensor", float32)
HalfTensor = _of_dtype("HalfTensor", float16)
IntTensor = _of_dtype("IntTensor", int32)
LongTensor = _of_dtype("LongTensor", int64)

__all__ = [
    "addmm",
    "check_sparse_tensor_invariants",
    "hspmm",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "smm",
    "sparse_bsc",
    "sparse_bsc_tensor",
    "sparse_bsr",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo",
    "sparse_coo_tensor",
    "sparse_csc",
    "sparse_csc_tensor",
    "sparse_csr",
    "sparse_csr_tensor",
    "softmax",
    "spdiags",
    "spmm",
    "sum",
]
__getattr__ = refusals.rest_of(__name__)
