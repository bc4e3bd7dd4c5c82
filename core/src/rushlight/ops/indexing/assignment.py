"""Assignments to elements that nothing records, straight into the array."""

from __future__ import annotations

import functools

from rushlight import dtypes
from rushlight.compiler import xp
from rushlight.dtypes import FLOAT, LARGE, bool_, held
from rushlight.errors import argument_error
from rushlight.kernels.copying.assignment import written as written_to
from rushlight.kernels.copying.blocks import LEAST
from rushlight.kernels.indexing import indices as rows
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.inplace import is_free, written
from rushlight.ops._table.rules import number_dtype
from rushlight.ops.indexing.index_calls import NUMBERS, written_slices
from rushlight.ops.indexing.index_forms import (
    BOOL,
    alone,
    arrays_of,
    is_basic,
    is_places,
    one_among_slices,
    slices,
)
from rushlight.tensor.dispatch import readable
from rushlight.tensor.tensor import EXACT, Tensor

_LEAST = -(1 << 63)
_SCALARS = {"f32": "f64", "f64": "f64", "i32": "i64", "i64": "i64"}


@functools.cache
def filling(short):
    """The compiled selection for a dtype."""
    from rushlight.compiler import compile_kernel

    inputs = {"input": short, "mask": bool_.short}
    return compile_kernel(
        lambda input, mask, value: xp.where(mask, value, input),
        inputs,
        inputs,
        {"value": _SCALARS[short]},
        {},
        (short,),
    )


def written_where(target, mask, value):
    """Write a number into an array where a mask that broadcasts to it is true; False where that is
    left to others. The number is one that the dtype holds."""
    name = dtype_of(target).short
    kind = _SCALARS.get(name)
    if kind is None or type(mask) is not np.ndarray or mask.dtype != np.bool_:
        return False
    if kind == "f64" and type(value) is int:
        value = float(value)
    if type(value) is not (float if kind == "f64" else int):
        return False
    if kind == "i64" and not _LEAST <= value <= -_LEAST - 1:
        return False
    if mask.shape != target.shape:
        try:
            if np.broadcast_shapes(mask.shape, target.shape) != target.shape:
                return False
        except ValueError:
            return False
    kernel = filling(name)
    into = kernel.short_into
    if into is None or into(target, mask, value, target) is NotImplemented:
        kernel.into((target,), target, mask, value)
    return True


def number_or_scalar(name, input, value):
    """A value to fill with: a number that fits the dtype, or a 0-d tensor."""
    if type(value) is float and input._dtype.category >= FLOAT:
        return held(value, input._dtype)
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(
                f"{name} only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.dim()} dimension(s)."
            )
        if value.requires_grad or not readable(value):
            return value
        value = value.item()
    if number_dtype(value) is None:
        raise argument_error(name, "value", "Number", value)
    return held(value, input._dtype)


def written_at(self, index, value):
    """``tensor[index] = value`` where nothing is recorded and NumPy means the same by the index;
    False where the general path must do it."""
    kind = type(value)
    plain = kind in EXACT
    if not is_free(self, value if plain else None):
        return False
    dtype = self._dtype
    if plain:
        if value._dtype is not dtype or type(value._array) is not np.ndarray:
            return False
    elif dtype.category == FLOAT:
        if kind not in NUMBERS or not -LARGE < value < LARGE or dtype.itemsize == 2:
            return False  # NumPy would round a half twice
    elif dtype is not dtypes.int64 or kind is not int:
        return False
    try:
        if not _assigned(self, index, value):
            return False
    except (IndexError, ValueError, OverflowError):
        return False
    written(self, None)
    return True


def _assigned(self, index, value):
    """Write into an array; False, and nothing written, where NumPy may read the index otherwise."""
    array, kind = self._array, type(index)
    if kind is tuple and not all(map(is_basic, index)):
        found = alone(index)
        if found and written_slices(self, *found, value) is not NotImplemented:
            return True
        places = arrays_of(index)
        if places is None:
            found = one_among_slices(index, array.ndim)
            return found is not None and _write_slices(self, *found, value)
        array[places] = _array_of(value)
    elif kind in EXACT:
        places = index._array
        if not is_places(places):
            return False
        if places.dtype != BOOL:
            return _write_slices(self, None, 0, index, value)
        if type(value) in EXACT or not _filled_where(array, places, value):
            array[places] = _array_of(value)
    elif kind is tuple or is_basic(index):
        _write_basic(array, index, _array_of(value))
    else:
        return False
    return True


def _write_basic(array, index, value):
    """Write where a basic index shows an array: by all threads where that is much."""
    if array.nbytes >= LEAST:
        shown = array[index]
        if type(shown) is np.ndarray and written_to(shown, value):
            return
    array[index] = value


def _array_of(value):
    return value._array if type(value) in EXACT else value


def _write_slices(self, first, dim, index, value):
    """Write at an index of one tensor among slices, those that are not whole taken `first`."""
    if first is None and written_slices(self, dim, index, value) is not NotImplemented:
        return True
    array, places, value = self._array, index._array, _array_of(value)
    array = array if first is None else array[first]
    if places.ndim != 1 or not rows.put_rows(array, places, value, dim, rows.PUT):
        array[slices(dim, places)] = value
    return True


def _filled_where(array, mask, value):
    """Write a number at a mask of leading dimensions; False for other positions."""
    if mask.shape != array.shape[: mask.ndim]:
        return False
    trailing = array.ndim - mask.ndim
    return written_where(
        array, mask.reshape(mask.shape + (1,) * trailing) if trailing else mask, value
    )
