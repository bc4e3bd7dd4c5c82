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
from rushlight.ops.sparse.tensors import RULES, SparseTensor
from rushlight.tensor.tensor import Tensor

__all__ = [
    "_batching_sparse",
    "sparse_arrangement",
    "sparse_elementwise",
    "sparse_reduction",
    "sparse_systems",
]

_OF_LISTS = {"cat", "concat", "concatenate", "stack", "getitem", "__getitem__"}
for _name, _function in RULES.items():
    if _name not in _OF_LISTS and _name in vars(Tensor):
        setattr(SparseTensor, _name, _function)
for _name in ("real", "imag"):
    setattr(SparseTensor, _name, property(RULES[_name], doc=f"The {_name} part of every element."))


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
for _name in ("to_sparse", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc"):
    setattr(Tensor, _name, getattr(sparse_compressed, _name))
Tensor.sparse_mask, Tensor.smm = sparse_creation.sparse_mask, sparse_products.smm
Tensor.sspaddmm = sparse_products.sspaddmm
for _name in ("coalesce", "indices", "is_coalesced", "_nnz", "_indices", "_values"):
    setattr(Tensor, _name, _dense(_name, "sparse coordinate"))
for _name in ("sparse_resize_", "sparse_resize_and_clear_"):
    setattr(SparseTensor, _name, getattr(sparse_creation, _name))
    setattr(Tensor, _name, _dense(_name, "sparse coordinate"))
Tensor.values = _dense("values", "sparse")
for _name in ("crow_indices", "col_indices"):
    setattr(Tensor, _name, _dense(_name, "sparse row compressed"))
for _name in ("ccol_indices", "row_indices"):
    setattr(Tensor, _name, _dense(_name, "sparse column compressed"))
