"""What an index says: items as NumPy takes them, tensors alone, one tensor among slices."""

from __future__ import annotations

import warnings

from rushlight import dtypes
from rushlight.dtypes import FLOAT
from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.machine.arrays import is_array
from rushlight.tensor.dispatch import stack
from rushlight.tensor.tensor import EXACT, Tensor

BASIC = (int, slice, type(None), type(Ellipsis))
WHOLE = slice(None)
BOOL = np.dtype(np.bool_)
_PLACES = frozenset({np.dtype(np.int64), BOOL})


# Items of a list that make it mean one index for each dimension, as PyTorch reads lists.
_OF_DIMENSIONS = (slice, type(None), type(Ellipsis), Tensor, list, tuple, range, str, np.ndarray)
_MOST_DIMENSIONS = 32  # a longer list is always one of positions


def listed(index: list):
    """What a list says as an index: one item for each dimension, as a tuple would, where slices,
    tensors, lists, None or ``...`` are in it, which warns as PyTorch does; else positions."""
    if len(index) >= _MOST_DIMENSIONS or not any(isinstance(i, _OF_DIMENSIONS) for i in index):
        return index
    warnings.warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated; use "
        "x[tuple(seq)] for one index of each dimension, or x[tensor(seq)] for positions",
        UserWarning,
        stacklevel=3,
    )
    return tuple(index)


class WrappedIndex(Exception):
    """An index holds a tensor of a function transform."""


def expanded(items, ndim) -> list:
    """The items of an index of `ndim` dimensions, with an ellipsis as whole slices."""
    items = list(items)
    at = next((i for i, item in enumerate(items) if item is Ellipsis), None)
    if at is None:
        return items
    rest = ndim - sum(map(width, items))
    return [*items[:at], *[WHOLE] * rest, *items[at + 1 :]]


def width(item) -> int:
    """How many dimensions an item of an index takes."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    masks = isinstance(item, Tensor) and item._dtype in (dtypes.bool_, dtypes.uint8)
    return item.dim() if masks else 1


def _plain(item):
    """One index item as NumPy takes it; tensors become arrays."""
    if isinstance(item, bool):
        return np.asarray(item)
    if isinstance(item, BASIC):
        return _plain_slice(item) if isinstance(item, slice) else item
    if isinstance(item, Tensor):
        if stack.levels and getattr(item, "_level", None) is not None:
            raise WrappedIndex
        if item._dtype.category >= FLOAT or item._dtype.code >= dtypes.FIRST_LIMITED:
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors; got "
                f"{item._dtype}"
            )
        if item._dtype is dtypes.uint8:
            return item._array != 0
        if item._array.ndim == 0 and item._dtype is not dtypes.bool_:
            return int(item._array)
        return item._array
    if isinstance(item, (list, tuple, range)):
        array = np.asarray([i.item() if isinstance(i, Tensor) else i for i in item])
        return array.astype(np.int64) if array.size == 0 else array
    if is_array(item):
        return item
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {type(item).__name__})"
    )


def _plain_slice(item):
    if item.step is not None and _number(item.step) <= 0:
        raise ValueError("step must be greater than zero")
    parts = (item.start, item.stop, item.step)
    return slice(*[None if p is None else _number(p) for p in parts])


def _number(value):
    return int(value.item()) if isinstance(value, Tensor) else value.__index__()


_PLAIN_BOUNDS = frozenset({int, type(None)})


def normalize(index):
    """An index as a tuple NumPy takes, and whether it is basic (a view)."""
    items = index if isinstance(index, tuple) else (index,)
    if all(map(is_basic, items)):
        return items, True
    plain = tuple(_plain(item) for item in items)
    return plain, all(isinstance(item, BASIC) for item in plain)


def is_basic(item):
    """Whether NumPy reads an index item as we do, and gives a view."""
    if type(item) is slice:
        step = item.step
        return (
            type(item.start) in _PLAIN_BOUNDS
            and type(item.stop) in _PLAIN_BOUNDS
            and (step is None or type(step) is int and step > 0)
        )
    return type(item) is int or item is None or item is Ellipsis


def _consumed(item):
    """How many dimensions an index item uses up."""
    if item is None:
        return 0
    return item.ndim if is_array(item) and item.dtype == bool else 1


def in_two_steps(index, ndim):
    """An index with arrays as a basic one, applied first, and one of arrays and whole slices.

    NumPy counts integers among the advanced indices once there is an array; PyTorch selects first.
    """
    used = sum(_consumed(i) for i in index if i is not Ellipsis)
    whole = slice(None)
    if not any(i is Ellipsis for i in index):
        index = (*index, Ellipsis)
    first, second = [], []
    for item in index:
        if item is Ellipsis:
            rest = max(ndim - used, 0)
            first += [whole] * rest
            second += [whole] * rest
        elif is_array(item) and not (item.dtype == bool and item.ndim == 0):
            first += [whole] * _consumed(item)
            second.append(item)
        elif is_array(item):
            first.append(None)
            second.append(item.reshape(1))
        else:
            first.append(item)
            if not isinstance(item, int):
                second.append(whole)
    basic = any(i is None or isinstance(i, int) or i != whole for i in first)
    return (tuple(first) if basic else None), tuple(second)


def explain(error, shape, index):
    """NumPy's index errors in PyTorch's words."""
    used = sum(
        1 if not is_array(i) or i.dtype != bool else i.ndim
        for i in index
        if i is not None and i is not Ellipsis
    )
    if used > len(shape):
        return IndexError(f"too many indices for tensor of dimension {len(shape)}")
    for dim, item in enumerate(i for i in index if i is not None):
        if item is Ellipsis:
            break
        if isinstance(item, int) and not -shape[dim] <= item < shape[dim]:
            return IndexError(
                f"index {item} is out of bounds for dimension {dim} with size {shape[dim]}"
            )
        if is_array(item) and item.dtype == bool and item.ndim == 1:
            if item.shape[0] != shape[dim]:
                return IndexError(
                    f"The shape of the mask {shape_text(item.shape)} at index {dim} does not match "
                    f"the shape of the indexed tensor {shape_text(shape)} at index {dim}"
                )
    return IndexError(str(error))


def arrays_of(index):
    """The arrays of a tuple of tensors of int64 or bool, or None."""
    found = tuple([item._array if type(item) in EXACT else None for item in index])
    return found if all([is_places(array) for array in found]) else None


def is_places(array):
    """Whether an index tensor's array is one that NumPy reads as we do."""
    return type(array) is np.ndarray and array.ndim and array.dtype in _PLACES


def slices(dim, index):
    """The NumPy index of slices along `dim`."""
    return (WHOLE,) * dim + (index,)


def alone(index):
    """``(dim, tensor)`` for a tuple of one tensor among whole slices, else None: at a glance, what
    kind of tensor is not looked at."""
    found = None
    for dim, item in enumerate(index):
        if type(item) in EXACT:
            if found is not None:
                return None
            found = dim, item
        elif type(item) is not slice or item != WHOLE:
            return None
    return found


def one_among_slices(index, ndim):
    """``(slices, dim, tensor)`` for a tuple of one tensor of int64, or one mask of one dimension,
    among slices and perhaps an ellipsis: what is to be applied first (None for nothing), then at
    which dimension the tensor is. None for every other index."""
    dim, places, first, wide = None, None, [], False
    for item in index:
        kind = type(item)
        if kind is slice and is_basic(item):
            first.append(item)
        elif item is Ellipsis and not wide:
            first += [WHOLE] * (ndim + 1 - len(index))
            wide = True
        elif kind in EXACT and places is None and is_places(item._array):
            dim, places = len(first), item
            first.append(WHOLE)
        else:
            return None
    if places is None or len(first) > ndim:
        return None
    if places._array.dtype == BOOL and places._array.ndim != 1:
        return None
    return None if all(item == WHOLE for item in first) else tuple(first), dim, places
