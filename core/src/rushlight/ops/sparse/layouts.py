"""Sparse layouts as a family of Tensor methods: loads the rules of sparse tensors, binds them."""

from __future__ import annotations

from rushlight.ops._transforms import batching_sparse as _batching_sparse
from rushlight.ops.sparse import (
    arrangement as sparse_arrangement,
)
from rushlight.ops.sparse import (
    compressed as sparse_compressed,
)
from rushlight.ops.sparse import (
    creation as sparse_creation,
)
from rushlight.ops.sparse import (
    elementwise as sparse_elementwise,
)
from rushlight.ops.sparse import (
    products as sparse_products,
)
from rushlight.ops.sparse import (
    reduction as sparse_reduction,
)
from rushlight.ops.sparse import (
    systems as sparse_systems,
)
from rushlight.ops.sparse.tensors import SparseTensor
from rushlight.tensor.tensor import Tensor

__all__ = [
    "_batching_sparse",
    "sparse_arrangement",
    "sparse_elementwise",
    "sparse_reduction",
    "sparse_systems",
]


def _dense(name, layout):
    def call(self, *args, **kwargs):
        raise RuntimeError(
            f"{name} expected {layout} tensor layout but got Strided; use to_sparse() first"
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Answers for sparse tensors only; raises RuntimeError for dense ones."
    return call


def to_dense(self, dtype=None, *, masked_grad: bool = True) -> Tensor:
    """The tensor in dense layout, as it is; in another dtype if one is given."""
    return self if dtype is None else self.to(dtype)


def sparse_dim(self) -> int:
    """The number of sparse dimensions of a sparse tensor; 0 of a dense one."""
    return 0


def dense_dim(self) -> int:
    """The number of dense dimensions."""
    return self.dim()


def to_sparse_coo(self) -> Tensor:
    """The tensor in coordinate layout; as :meth:`to_sparse` without arguments."""
    return self.to_sparse()


Tensor.to_sparse_coo = to_sparse_coo
Tensor.to_dense, Tensor.sparse_dim, Tensor.dense_dim = to_dense, sparse_dim, dense_dim
Tensor.to_sparse = sparse_compressed.to_sparse
Tensor.to_sparse_csr = sparse_compressed.to_sparse_csr
Tensor.to_sparse_csc = sparse_compressed.to_sparse_csc
Tensor.to_sparse_bsr = sparse_compressed.to_sparse_bsr
Tensor.to_sparse_bsc = sparse_compressed.to_sparse_bsc
Tensor.sparse_mask, Tensor.smm = sparse_creation.sparse_mask, sparse_products.smm
Tensor.sspaddmm = sparse_products.sspaddmm
SparseTensor.sparse_resize_ = sparse_creation.sparse_resize_
SparseTensor.sparse_resize_and_clear_ = sparse_creation.sparse_resize_and_clear_
Tensor.coalesce = _dense("coalesce", "sparse coordinate")
Tensor.indices = _dense("indices", "sparse coordinate")
Tensor.is_coalesced = _dense("is_coalesced", "sparse coordinate")
Tensor._nnz = _dense("_nnz", "sparse coordinate")
Tensor._indices = _dense("_indices", "sparse coordinate")
Tensor._values = _dense("_values", "sparse coordinate")
Tensor.sparse_resize_ = _dense("sparse_resize_", "sparse coordinate")
Tensor.sparse_resize_and_clear_ = _dense("sparse_resize_and_clear_", "sparse coordinate")
Tensor.values = _dense("values", "sparse")
Tensor.crow_indices = _dense("crow_indices", "sparse row compressed")
Tensor.col_indices = _dense("col_indices", "sparse row compressed")
Tensor.ccol_indices = _dense("ccol_indices", "sparse column compressed")
Tensor.row_indices = _dense("row_indices", "sparse column compressed")
