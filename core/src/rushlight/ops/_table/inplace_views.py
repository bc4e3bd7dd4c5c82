"""In-place forms of views, such as ``x.t_()``: the tensor itself takes the new shape."""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.autograd.node import STALE
from rushlight.ops._table.arrays import run_view
from rushlight.ops._table.inplace import check_writable
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor

_new = object.__new__


def run_inplace_view(op, target, args, kwargs):
    """Give `target` the shape and strides of the view; its memory stays where it is.

    Raises NotImplementedError where recorded views of `target` exist: they know how they were made
    from the shape it had.
    """
    values = op.bind((target, *args), kwargs)
    recording = mode.recording and target._node is not None
    check_writable(target, recording)
    if recording and target._base is None and _has_views(target):
        raise NotImplementedError(
            f"{op.name}_: other views of this tensor are part of a graph; use "
            f"x = x.{op.name}(...) instead"
        )
    before = _alias(target)
    view = run_view(op, [before, *values[1:]])
    storage_of(target).version += 1
    target._array, target._node, target._index = view._array, view._node, view._index
    if target._base is not None:
        target._path = view._path
    return target


def _has_views(target):
    storage = target._storage
    return storage is not None and any(v is not target for v in storage.live_views())


def _alias(target):
    """The tensor as it was: what the recorded view op has as its input."""
    if target._node is STALE:
        target._refresh()
    before = _new(Tensor)
    before._array, before._dtype, before._node = target._array, target._dtype, target._node
    before._storage = storage_of(target)
    before.__dict__.update(target.__dict__)
    return before
