"""Sparse tensors in PyTorch's checkpoints: layout and parts, checked when they are read."""

from __future__ import annotations

from rushlight.machine import np
from rushlight.serialization.budget import current
from rushlight.serialization.restricted import shown
from rushlight.tensor.tensor import Tensor

_OBJECTS = 1500  # bytes of a sparse tensor, its pattern and their arrays
_LOOK = 4  # bytes of indices that are looked at again for one of the budget

_INDICES = {
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
    "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_bsc": ("ccol_indices", "row_indices"),
}
_PARTS = {"sparse_coo": 2, **dict.fromkeys(_INDICES, 3)}  # tensors of a layout


def parts_of(tensor):
    """The parts that PyTorch's ``_rebuild_sparse_tensor`` takes beside the layout."""
    if tensor.layout == "sparse_coo":
        return tensor._indices(), tensor._values(), tensor.size(), tensor.is_coalesced()
    first, second = _INDICES[tensor.layout]
    return getattr(tensor, first)(), getattr(tensor, second)(), tensor._values(), tensor.size()


def layout(name):
    """A layout by PyTorch's name of it."""
    if type(name) is not str or name.removeprefix("torch.") not in (
        "sparse_coo",
        "strided",
        *_INDICES,
    ):
        raise ValueError(f"a tensor's layout is {shown(name)}")
    return name.removeprefix("torch.")


def sparse_tensor(layout, parts):
    """A sparse tensor of its parts; the indices are checked."""
    known = type(layout) is str  # a tensor would be compared by its elements
    count = _PARTS.get(layout, 0) if known else 0
    if (
        not count
        or not isinstance(parts, tuple)
        or not count < len(parts) <= 4
        or not all(isinstance(p, Tensor) for p in parts[:count])
    ):
        raise ValueError(f"a sparse tensor of layout {shown(layout)} has unknown parts")
    budget = current()
    if not budget.complete:  # the indices are still to come; the values stand for it until then
        budget.again = True
        return parts[count - 1]
    budget.charge(_OBJECTS)
    for part in parts[: count - 1]:
        _charge_check(budget, part)
    from rushlight.ops.sparse import (  # 10 ms that few files need
        compressed as sparse_compressed,
    )
    from rushlight.ops.sparse import (
        creation as sparse_creation,
    )

    if layout in _INDICES:
        return sparse_compressed.of_parts(layout, *parts)
    coalesced = len(parts) == 4 and parts[3] is True
    return sparse_creation.sparse_coo_tensor(
        *parts[:3], check_invariants=True, is_coalesced=coalesced
    )


def _charge_check(budget, indices):
    """Charge for indices that are copied, and for looking at the same ones again. The first look at
    a storage is part of reading the file."""
    array = indices._array
    if not (isinstance(array, np.ndarray) and array.flags.c_contiguous):
        budget.charge(indices.numel() * indices.dtype.itemsize)
    storage = indices._storage
    if storage is not None:
        looked = storage.__dict__.get("looked", 0) + indices.numel() * indices.dtype.itemsize
        budget.charge(max(0, looked - storage.nbytes()) // _LOOK)
        storage.__dict__["looked"] = looked
