"""Sparse layouts as a family of Tensor methods: loads the rules of sparse tensors, binds them."""

from __future__ import annotations

from rushlight.ops import (
    _batching_sparse,
    sparse_arrangement,
    sparse_creation,
    sparse_elementwise,
    sparse_products,
    sparse_reduction,
)
from rushlight.ops.sparse_tensors import RULES, SparseTensor
from rushlight.tensor.tensor import Tensor

__all__ = ["_batching_sparse", "sparse_arrangement", "sparse_elementwise", "sparse_reduction"]

_OF_LISTS = {"cat", "concat", "concatenate", "stack", "getitem", "__getitem__"}
for _name, _function in RULES.items():
    if _name not in _OF_LISTS and _name in vars(Tensor):
        setattr(SparseTensor, _name, _function)


def _dense(name, layout):
    def call(self, *args, **kwargs):
        raise RuntimeError(
            f"{name} expected {layout} tensor layout but got Strided; use to_sparse() first"
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Answers for sparse tensors only; raises RuntimeError for dense ones."
    return call


def _without(name, layout):
    def call(self, *args, **kwargs):
        raise NotImplementedError(
            f"Tensor.{name}: {layout} layout is not available; use to_sparse() or to_sparse_csr()"
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Not available: there is no {layout} layout; use `to_sparse_csr`."
    call.refuses = True
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
Tensor.to_sparse, Tensor.to_sparse_csr = sparse_creation.to_sparse, sparse_creation.to_sparse_csr
Tensor.sparse_mask, Tensor.smm = sparse_creation.sparse_mask, sparse_products.smm
for _name in ("coalesce", "indices", "is_coalesced", "_nnz", "_indices", "_values"):
    setattr(Tensor, _name, _dense(_name, "sparse coordinate"))
for _name in ("sparse_resize_", "sparse_resize_and_clear_"):
    setattr(SparseTensor, _name, getattr(sparse_creation, _name))
    setattr(Tensor, _name, _dense(_name, "sparse coordinate"))
for _name, _word in (("to_sparse_csc", "CSC"), ("to_sparse_bsr", "BSR"), ("to_sparse_bsc", "BSC")):
    setattr(Tensor, _name, _without(_name, _word))
Tensor.values = _dense("values", "sparse")
for _name in ("crow_indices", "col_indices"):
    setattr(Tensor, _name, _dense(_name, "sparse row compressed"))
