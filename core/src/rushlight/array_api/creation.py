"""Arrays from nothing, from numbers and from other libraries' arrays."""

from __future__ import annotations

import rushlight
from rushlight import dtypes
from rushlight.array_api.data_types import result_type
from rushlight.dtypes import COMPLEX
from rushlight.errors import type_name
from rushlight.machine import np
from rushlight.tensor.tensor import Tensor


def _shape(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of numbers, nested sequences, an array of any library, or a buffer.

    ``copy=True`` always copies, ``copy=False`` never does and raises ValueError where it would
    have to, ``copy=None`` copies where needed.
    """
    if copy is False and isinstance(obj, bool | int | float | complex | list | tuple):
        raise ValueError(f"asarray: cannot avoid a copy of a {type_name(obj)}")
    if isinstance(obj, Tensor):
        same = (dtype is None or obj.dtype is dtype) and (
            device is None or obj.device == rushlight.device(device)
        )
        if same:
            return obj.detach().clone() if copy else obj
        if copy is False:
            raise ValueError("asarray: cannot avoid a copy for another dtype or device")
        return obj.to(device=device or obj.device, dtype=dtype or obj.dtype)
    if isinstance(obj, np.ndarray) and copy is not False and min(obj.strides, default=0) < 0:
        obj = obj.copy()  # tensors have no negative strides
    return rushlight.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x, /, *, device=None, copy=None):
    """An array that shares the memory of another library's array through DLPack."""
    if device is not None and rushlight.device(device).type != "cpu":
        raise ValueError(f"from_dlpack: device must be 'cpu', got {device!r}")
    found = rushlight.from_dlpack(x)
    return found.clone() if copy else found


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Evenly spaced numbers from `start` (inclusive) to `stop` (exclusive); empty where the step
    leads away from `stop`."""
    if stop is None:
        start, stop = 0, start
    if step > 0 and stop <= start or step < 0 and stop >= start:
        if dtype is None:
            whole = all(isinstance(v, int) for v in (start, stop, step))
            dtype = dtypes.int64 if whole else dtypes.default.float
        return rushlight.empty(0, dtype=dtype, device=device)
    return rushlight.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers from `start` to `stop`, with `stop` itself unless ``endpoint=False``."""
    if num < 0:
        raise ValueError(f"linspace: num must not be negative, got {num}")
    if dtype is None:
        complex_ends = isinstance(start, complex) or isinstance(stop, complex)
        dtype = dtypes.default.float.to_complex() if complex_ends else dtypes.default.float
    if num == 0:
        return rushlight.empty(0, dtype=dtype, device=device)
    if dtype.category == COMPLEX:
        index = rushlight.arange(num, dtype=dtype, device=device)
        return start + index * ((stop - start) / max(num - 1 if endpoint else num, 1))
    if endpoint:
        return rushlight.linspace(start, stop, num, dtype=dtype, device=device)
    return rushlight.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1].clone()


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the diagonal `k`, zeros elsewhere: (n_rows, n_cols)."""
    n_cols = n_rows if n_cols is None else n_cols
    out = rushlight.zeros((n_rows, n_cols), dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        rushlight.diagonal(out, k).fill_(1)
    return out


def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one value; its dtype follows the kind of the value."""
    return rushlight.full(_shape(shape), fill_value, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One value in the shape of `x`."""
    return rushlight.full_like(x, fill_value, dtype=dtype, device=device)


def empty(shape, *, dtype=None, device=None):
    """An array of unspecified elements."""
    return rushlight.empty(_shape(shape), dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """An array of zeros."""
    return rushlight.zeros(_shape(shape), dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """An array of ones."""
    return rushlight.ones(_shape(shape), dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """Unspecified elements in the shape of `x`."""
    return rushlight.empty_like(x, dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros in the shape of `x`."""
    return rushlight.zeros_like(x, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones in the shape of `x`."""
    return rushlight.ones_like(x, dtype=dtype, device=device)


def meshgrid(*arrays, indexing="xy"):
    """The coordinate arrays of a grid, by ``"xy"`` (Cartesian) or ``"ij"`` (matrix) indexing."""
    if not arrays:
        return []
    target = result_type(*arrays)
    if any(a.dtype is not target for a in arrays):
        raise ValueError("meshgrid: all arrays must have the same dtype")
    return list(rushlight.meshgrid(*arrays, indexing=indexing))
