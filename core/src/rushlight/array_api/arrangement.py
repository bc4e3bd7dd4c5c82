"""The same elements in another shape, order or number."""

from __future__ import annotations

import rushlight
from rushlight.array_api.data_types import promoted


def broadcast_to(x, /, shape):
    """`x` repeated to `shape`."""
    return rushlight.broadcast_to(x, tuple(shape))


def broadcast_arrays(*arrays):
    """All arrays repeated to their common shape."""
    return list(rushlight.broadcast_tensors(*arrays))


def concat(arrays, /, *, axis=0):
    """Arrays one after the other along `axis`; flattened first with ``axis=None``."""
    arrays = promoted(*arrays)
    if axis is None:
        arrays, axis = [rushlight.reshape(a, (-1,)) for a in arrays], 0
    return rushlight.cat(list(arrays), axis)


def stack(arrays, /, *, axis=0):
    """Arrays one after the other along a new axis."""
    return rushlight.stack(list(promoted(*arrays)), axis)


def unstack(x, /, *, axis=0):
    """The slices along `axis`, as a tuple."""
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"unstack: axis {axis} is out of range for {x.ndim} dimensions")
    return tuple(rushlight.unbind(x, axis))


def expand_dims(x, /, *, axis=0):
    """`x` with a new axis of one element at `axis`."""
    return rushlight.unsqueeze(x, axis)


def squeeze(x, /, axis):
    """`x` without the axes in `axis`, which must have one element."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for a in axes:
        if not -x.ndim <= a < x.ndim:
            raise ValueError(f"squeeze: axis {a} is out of range for {x.ndim} dimensions")
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} has {x.shape[a]} elements, expected 1")
    return rushlight.squeeze(x, axes) if axes else x


def flip(x, /, *, axis=None):
    """`x` with the order of elements reversed along one, several or all axes."""
    if axis is None:
        axis = tuple(range(x.ndim))
    return rushlight.flip(x, (axis,) if isinstance(axis, int) else tuple(axis))


def moveaxis(x, source, destination, /):
    """`x` with axes moved to other positions."""
    return rushlight.movedim(x, source, destination)


def permute_dims(x, /, axes):
    """`x` with its axes in the order `axes`."""
    return rushlight.permute(x, tuple(axes))


def repeat(x, repeats, /, *, axis=None):
    """Each element repeated, flattened first with ``axis=None``."""
    return rushlight.repeat_interleave(x, repeats, axis)


def reshape(x, /, shape, *, copy=None):
    """`x` in another shape. ``copy=False`` raises ValueError where elements would have to move."""
    out = rushlight.reshape(x, tuple(shape))
    shared = x.numel() == 0 or out.untyped_storage() is x.untyped_storage()
    if copy is False and not shared:
        raise ValueError(f"reshape: cannot give {tuple(x.shape)} the shape {shape} without a copy")
    return out.clone() if copy and shared else out


def roll(x, /, shift, *, axis=None):
    """`x` with elements moved on by `shift`; those beyond the end come back at the beginning."""
    if isinstance(axis, tuple | list) and isinstance(shift, int):
        shift = (shift,) * len(axis)
    return rushlight.roll(x, shift, axis)


def tile(x, repetitions, /):
    """`x` put side by side, so often along each axis."""
    return rushlight.tile(x, tuple(repetitions))


def tril(x, /, *, k=0):
    """The lower triangle of each matrix, on and below the diagonal `k`."""
    return rushlight.tril(x, k)


def triu(x, /, *, k=0):
    """The upper triangle of each matrix, on and above the diagonal `k`."""
    return rushlight.triu(x, k)
