"""Size, dimension numbers and strides."""

from __future__ import annotations

import math

from rushlight.errors import argument_error
from rushlight.machine import np

MOST_DIMS = 64  # of an array of NumPy's
_item = tuple.__getitem__


class Size(tuple):
    """A tensor's shape: a tuple that knows its number of elements."""

    __slots__ = ()

    def numel(self) -> int:
        """The product of the extents."""
        return math.prod(self)

    def __repr__(self):
        return f"rushlight.Size({list(self)})"

    __str__ = __repr__

    def __getitem__(self, index):
        if type(index) is int:
            return _item(self, index)
        item = _item(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other):
        return Size(tuple.__add__(self, other))

    def __radd__(self, other):
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times):
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


def wrap_dim(dim, ndim: int) -> int:
    """A dimension number in 0..ndim-1; 0-d tensors accept 0 and -1."""
    extent = ndim or 1
    if type(dim) is not int:
        dim = as_int(dim, "dim")
    if not -extent <= dim < extent:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-extent}, {extent - 1}], "
            f"but got {dim})"
        )
    return dim % extent


def wrap_dims(dim, ndim: int, empty_is_all: bool = True) -> tuple:
    """Dimension numbers of an int, a sequence or None (all)."""
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, (tuple, list)):
        dims = tuple(wrap_dim(d, ndim) for d in dim)
        if len(set(dims)) != len(dims):
            repeated = next(d for d in dims if dims.count(d) > 1)
            raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
        if not ndim:
            return ()
        if not dims and empty_is_all:
            return tuple(range(ndim))
        return dims
    found = wrap_dim(dim, ndim)
    return (found,) if ndim else ()


def as_int(value, name: str, op: str = "") -> int:
    """An exact int from anything with ``__index__`` but truth values."""
    try:
        if type(value) is bool:
            raise TypeError
        return value.__index__()
    except (AttributeError, TypeError):
        raise argument_error(op, name, "int", value) from None


def strides_of(tensor) -> tuple:
    """Strides in elements."""
    array, size = tensor._array, tensor._dtype.itemsize
    if type(array) is np.ndarray and array.size:
        return tuple([s // size for s in array.strides])
    if not array.size and not any(array.strides):
        return contiguous_strides(array.shape)
    return tuple(s // size for s in array.strides)


def contiguous_strides(shape) -> tuple:
    """Row-major strides in elements, as PyTorch gives them (extent 0 counts as 1)."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def normalize_size(sizes, op: str = "") -> tuple:
    """``f(2, 3)``, ``f((2, 3))``, ``f([2, 3])``, ``f(Size)`` to a tuple of ints; `op` is named
    where one is none."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    check_dims(len(sizes))
    return tuple(s if type(s) is int else as_int(s, "size", op) for s in sizes)


def check_dims(count: int) -> None:
    """NotImplementedError for more dimensions than NumPy's arrays have."""
    if count > MOST_DIMS:
        raise NotImplementedError(
            f"tensors have at most {MOST_DIMS} dimensions, got {count}: merge some of them, for "
            "example with flatten"
        )
