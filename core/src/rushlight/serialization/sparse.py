"""Sparse tensors in PyTorch's checkpoints: layout and parts, checked when they are read."""

from __future__ import annotations

import importlib

from rushlight.tensor.tensor import Tensor

_INDICES = {
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
    "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_bsc": ("ccol_indices", "row_indices"),
}


def parts_of(tensor):
    """The parts that PyTorch's ``_rebuild_sparse_tensor`` takes beside the layout."""
    if tensor.layout == "sparse_coo":
        return tensor._indices(), tensor._values(), tensor.size(), tensor.is_coalesced()
    first, second = _INDICES[str(tensor.layout)]
    return getattr(tensor, first)(), getattr(tensor, second)(), tensor._values(), tensor.size()


def layout(name):
    """A layout by PyTorch's name of it."""
    if name.removeprefix("torch.") not in ("sparse_coo", "strided", *_INDICES):
        raise ValueError(f"a tensor's layout is {name!r}")
    return name.removeprefix("torch.")


def sparse_tensor(layout, parts):
    """A sparse tensor of its parts; the indices are checked."""
    count = 2 if layout == "sparse_coo" else 3 if layout in _INDICES else 0
    if (
        not count
        or not isinstance(parts, tuple)
        or not 3 <= len(parts) <= 4
        or not all(isinstance(p, Tensor) for p in parts[:count])
    ):
        raise ValueError(f"a sparse tensor of layout {layout!r} has unknown parts")
    public = importlib.import_module("rushlight.sparse")
    if layout in _INDICES:
        return getattr(public, f"{layout}_tensor")(*parts, check_invariants=True)
    coalesced = len(parts) == 4 and parts[3] is True
    return public.sparse_coo_tensor(*parts[:3], check_invariants=True, is_coalesced=coalesced)
