"""Finding, ordering and picking elements."""

from __future__ import annotations

from typing import Any, NamedTuple

import rushlight
from rushlight.array_api.data_types import promoted
from rushlight.tensor.tensor import Tensor


class UniqueAll(NamedTuple):
    """What :func:`unique_all` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What :func:`unique_counts` returns."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What :func:`unique_inverse` returns."""

    values: Any
    inverse_indices: Any


def argmax(x, /, *, axis=None, keepdims=False):
    """Where the largest element is, along `axis` or of the flattened array."""
    return _extreme(rushlight.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """Where the smallest element is, along `axis` or of the flattened array."""
    return _extreme(rushlight.argmin, x, axis, keepdims)


def _extreme(function, x, axis, keepdims):
    if axis is not None:
        return function(x, axis, keepdims)
    found = function(x.reshape(-1), 0)
    return found.reshape((1,) * x.ndim) if keepdims else found


def nonzero(x, /):
    """One array of indices for each axis: where `x` is not zero."""
    if not x.ndim:
        raise ValueError("nonzero is not defined for arrays without dimensions")
    return tuple(rushlight.nonzero(x, as_tuple=True))


def where(condition, x1, x2, /):
    """`x1` where `condition` holds, else `x2`."""
    if isinstance(x1, Tensor) or isinstance(x2, Tensor):
        x1, x2 = promoted(x1, x2)
    return rushlight.where(condition, x1, x2)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where each element of `x2` belongs in the sorted `x1` (N,), before or behind equal ones."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    x1, x2 = promoted(x1, x2)
    if sorter is not None:
        x1 = x1[sorter]
    return rushlight.searchsorted(x1.contiguous(), x2.contiguous(), side=side)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along `axis`."""
    return rushlight.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that put the elements in order along `axis`."""
    return rushlight.sort(x, dim=axis, descending=descending, stable=stable)[1]


def take(x, indices, /, *, axis=None):
    """The slices of `x` along `axis` at `indices` (N,)."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: axis must be given for an array of {x.ndim} dimensions")
        axis = 0
    if indices.ndim != 1:
        raise ValueError(f"take: indices must have one dimension, got {indices.ndim}")
    return rushlight.index_select(x, axis, _from_start(indices, x.shape[axis]))


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements of `x` at `indices` along `axis`; the other axes broadcast."""
    if x.ndim != indices.ndim:
        raise ValueError(
            f"take_along_axis: x has {x.ndim} dimensions and indices {indices.ndim}; expected the "
            "same number"
        )
    return rushlight.take_along_dim(x, _from_start(indices, x.shape[axis]), axis)


def _from_start(indices, extent):
    """Indices counted from the start, as int64."""
    indices = indices.to(rushlight.int64)
    return rushlight.where(indices < 0, indices + extent, indices)


def _unique(x):
    """(values, inverse, counts): each NaN is a value of its own."""
    if x.dtype.is_complex:  # by the real parts, then the imaginary ones
        pairs = rushlight.view_as_real(x.reshape(-1))
        values, inverse, counts = rushlight.unique(
            pairs, return_inverse=True, return_counts=True, dim=0
        )
        return rushlight.view_as_complex(values), inverse.reshape(x.shape), counts
    return rushlight.unique(x, sorted=True, return_inverse=True, return_counts=True)


def unique_all(x, /) -> UniqueAll:
    """The different values, where each occurs first, which of them every element is, and how
    often each occurs."""
    values, inverse, counts = _unique(x)
    order = rushlight.argsort(inverse.reshape(-1), stable=True)
    first = rushlight.cumsum(counts, 0) - counts
    return UniqueAll(values, order[first] if x.numel() else order, inverse, counts)


def unique_counts(x, /) -> UniqueCounts:
    """The different values and how often each occurs."""
    values, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x, /) -> UniqueInverse:
    """The different values and which of them every element is."""
    values, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x, /):
    """The different values."""
    return _unique(x)[0] if x.dtype.is_complex else rushlight.unique(x, sorted=True)
