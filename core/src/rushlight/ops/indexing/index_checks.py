"""What gather, scatter and the ``index_*`` ops ask of their indices and sources."""

from __future__ import annotations

from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.tensor.shape import wrap_dim

INDEX_DTYPES = (np.dtype(np.int64), np.dtype(np.int32))


def line(array):
    """A 0-d array as a vector of one element (a view); others as they are."""
    return array if array.ndim else array.reshape(1)


def check_index(name, index, ndim, other="input"):
    """The dtype and number of dimensions of an index that goes with a tensor of `ndim`."""
    if index.dtype not in INDEX_DTYPES and index.size:
        raise RuntimeError(f"{name}(): Expected dtype int64 for index, got {index.dtype}")
    if index.size and max(index.ndim, 1) != max(ndim, 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {other} tensor: {name} got "
            f"{index.ndim} and {ndim}"
        )


def distinct(index):
    """An index without the dims along which it was expanded."""
    return index[tuple([slice(None) if step else slice(1) for step in index.strides])]


def check_bounds(name, index, size, dim, error=RuntimeError):
    """Refuse indices outside ``0 <= index < size``."""
    if not index.size:
        return
    index = distinct(index)
    if index.min() < 0 or index.max() >= size:
        bad = index[(index < 0) | (index >= size)].flat[0]
        raise error(f"{name}: index {bad} is out of bounds for dimension {dim} with size {size}")


def check_extents(name, index, array, dim, source=None):
    """Refuse an index that reaches beyond an array, or its source, apart from `dim`."""
    for d, n in enumerate(index.shape):
        if d != dim and n > array.shape[d] or source is not None and n > source.shape[d]:
            beyond = "" if source is None else f" and than src {shape_text(source.shape)}"
            raise RuntimeError(
                f"{name}: Size does not match at dimension {d} expected index "
                f"{shape_text(index.shape)} to be no larger than self {shape_text(array.shape)} "
                f"apart from dimension {dim}{beyond}"
            )


def check_same_dtype(name, array, source, word="src"):
    """Refuse a source of another dtype."""
    if array.dtype != source.dtype:
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to {word}.dtype; got {dtype_of(array)} and "
            f"{dtype_of(source)}"
        )


def check_vector_index(name, input, dim, index, source=None):
    """The checks of the ``index_*`` family; gives the dimension and the index as a vector."""
    dim = wrap_dim(dim, input.ndim)
    _check_vector(name, index)
    index = line(index)
    check_bounds(name, index, line(input).shape[dim], dim, IndexError)
    if source is not None:
        check_same_dtype(name, input, source, "source")
        _check_slices(name, input, dim, index, source)
    return dim, index


def _check_vector(name, index):
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, got shape {shape_text(index.shape)}"
        )
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index, got {index.dtype}")


def _check_slices(name, input, dim, index, source):
    whole, part = list(line(input).shape), list(line(source).shape)
    if not source.ndim and input.ndim or dim < len(part) and part[dim] != len(index):
        given = part[dim] if source.ndim else 1
        if given != len(index):
            raise RuntimeError(
                f"{name}(): Number of indices ({len(index)}) should be equal to source.size(dim): "
                f"({given}), for dim: {dim}"
            )
    if source.ndim and whole[:dim] + whole[dim + 1 :] != part[:dim] + part[dim + 1 :]:
        raise RuntimeError(
            f"{name}(): source tensor shape must match self tensor shape, excluding the specified "
            f"dimension. Got self.shape = {shape_text(input.shape)} source.shape = "
            f"{shape_text(source.shape)}"
        )


# For shape rules, which know no elements.
def slices_of(name):
    """The check that an op of the ``index_*`` family makes of shapes."""

    def check(input, dim, index, source=None, *args, **kwargs):
        dim = wrap_dim(dim, input.ndim)
        _check_vector(name, index)
        if getattr(source, "ndim", None) is not None:
            _check_slices(name, input, dim, line(index), source)

    return check


def extents_of(name):
    """The check that an op of the ``scatter`` family makes of shapes."""

    def check(input, dim, index, src, *args, **kwargs):
        check_index(name, index, input.ndim)
        check_index(name, index, src.ndim, "src")
        if index.size:
            dim = wrap_dim(dim, input.ndim)
            check_extents(name, line(index), line(input), dim, line(src))

    return check
