"""Lists of tensors as one tensor and back, and in parts of a bounded size."""

from __future__ import annotations

from collections import OrderedDict

import rushlight


def _flatten_dense_tensors(tensors):
    """The elements of tensors of one dtype one after the other, as a vector."""
    return rushlight.cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat, tensors) -> tuple:
    """Views of a vector with the shapes of `tensors`, in their order."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors, strict=True))


def _take_tensors(tensors, size_limit: int):
    """Lists of tensors of one type each, of at most `size_limit` bytes unless one tensor alone is
    larger; what is left over comes last."""
    waiting: OrderedDict = OrderedDict()  # of each type: tensors and their bytes
    for tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        kind = tensor.type()
        kept, held = waiting.get(kind, ([], 0))
        if kept and held + size > size_limit:
            yield kept
            kept, held = [], 0
        kept.append(tensor)
        waiting[kind] = (kept, held + size)
    for kept, _ in waiting.values():
        if kept:
            yield kept


def _element_size(dtype) -> int:
    """How many bytes an element of a dtype takes. Raises RuntimeError for what is no dtype."""
    if not isinstance(dtype, rushlight.dtype):
        raise RuntimeError(f"expected rushlight.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _get_available_device_type() -> str | None:
    """The kind of the accelerator that is there, None without one."""
    found = rushlight.accelerator.current_accelerator(check_available=True)
    return None if found is None else found.type
