"""Memory formats: in which order the dimensions of an image batch are laid out in memory."""

from __future__ import annotations

import functools

from rushlight.machine import memory, np
from rushlight.machine.meta_array import MetaArray, meta_array
from rushlight.tensor.shape import contiguous_strides


class memory_format:  # noqa: N801 - PyTorch's public name
    """``contiguous_format``, ``preserve_format``, ``channels_last``, ``channels_last_3d``."""

    __slots__ = ("name", "order")
    constants = True  # there is one object of each

    def __init__(self, name, order=None):
        self.name, self.order = name, order  # dimensions from the slowest to the fastest

    def __repr__(self):
        return f"rushlight.{self.name}"

    def __reduce__(self):
        return _named, (self.name,)


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))
_ALL = {f.name: f for f in (contiguous_format, preserve_format, channels_last, channels_last_3d)}


def _named(name):
    return _ALL[name]


def check_format(op, value, default=preserve_format):
    """A memory format (`default` for None); TypeError for anything else."""
    if value is None:
        return default
    if not isinstance(value, memory_format):
        raise TypeError(
            f"{op}(): argument 'memory_format' must be rushlight.memory_format, not "
            f"{type(value).__name__}"
        )
    return value


def _check_rank(chosen, ndim):
    if ndim != len(chosen.order):
        raise RuntimeError(
            f"required rank {len(chosen.order)} tensor to use {chosen.name} format, but the tensor "
            f"has {ndim} dimensions"
        )


def is_laid_out(array, chosen):
    """Whether an array is in memory without gaps in a format's order."""
    if chosen.order is None:
        return array.flags.c_contiguous
    return array.ndim == len(chosen.order) and array.transpose(chosen.order).flags.c_contiguous


def empty_in(shape, dtype, chosen, kind=np.ndarray):
    """A new array of uninitialised memory in a format (row-major unless it names an order); one
    without memory if `kind` is that of the meta device."""
    if kind is MetaArray:
        return turned(meta_array, shape, dtype, order_in(shape, chosen))
    if chosen.order is None:
        return memory.empty(tuple(shape), dtype)
    return turned(memory.empty, shape, dtype, order_in(shape, chosen))


def order_in(shape, chosen):
    """The dimensions of a shape from the slowest to the fastest, in a format."""
    if chosen.order is None:
        return range(len(shape))
    _check_rank(chosen, len(shape))
    return chosen.order


def turned(make, shape, dtype, order):
    """A new array whose dimensions are in an order, the slowest first."""
    made = make(tuple([shape[d] for d in order]), dtype)
    return made.transpose(np.argsort(order)) if len(shape) > 1 else made


def suggests(shape, strides, chosen):
    """Whether strides are those of a channels-last format rather than of rows, gaps or not:
    PyTorch's rule, by which rows win where dimensions of one element leave both open."""
    if len(shape) != len(chosen.order) or strides[1] == 0:
        return False
    least = 0
    for d in chosen.order[::-1]:
        if not shape[d] or strides[d] < least or (not d and least == strides[1]):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


def is_channels_last(array):
    """Whether strides of an array are those of a channels-last format."""
    if array.ndim not in (4, 5) or array.strides[1] > array.strides[-1]:  # which says most
        return False
    if array.flags.c_contiguous and array.strides[1] != array.itemsize:
        return False
    chosen = channels_last if array.ndim == 4 else channels_last_3d
    return suggests(array.shape, array.strides, chosen)


def format_giver(inputs, ranks, count):
    """Which of the first `count` arguments gives its channels-last format to the results, where the
    first one has one of so many dimensions; None if no one does. With a `count` of 0 the first one
    decides, and counts as row-major if it is that, too, with one channel."""
    first = inputs[0]
    if first.ndim not in ranks or not count and first.flags.c_contiguous:
        return None
    return next((each for each in inputs[: max(count, 1)] if is_channels_last(each)), None)


def follow(array, result):
    """A result, laid out channels last if `array` is and not row-major too."""
    for chosen in (channels_last, channels_last_3d):
        if array.ndim == result.ndim == len(chosen.order):
            lies = suggests(array.shape, array.strides, chosen)
            return copied(result, chosen) if lies else result
    return result


def copied(array, chosen, dtype=None):
    """A copy of an array in a format; `preserve_format` keeps the order of dense arrays."""
    dtype = array.dtype if dtype is None else dtype
    if chosen is preserve_format:
        out = empty_like(array, dtype)
    else:
        out = empty_in(array.shape, dtype, chosen, type(array))
    return written(out, array)


def written(out, array):
    """`out` after the elements of an array are written to it, where it has memory."""
    if type(out) is not MetaArray:
        out[...] = array
    return out


def same_order(array):
    """A copy of an array; a dense one keeps the order of its dimensions."""
    if type(array) is not np.ndarray or array.flags.c_contiguous:
        return array.copy() if type(array) is not MetaArray else empty_like(array, array.dtype)
    return copied(array, preserve_format)


def same_strides(array):
    """A copy of an array with its strides, gaps included; :func:`same_order` where elements are
    close together or over one another."""
    if type(array) not in (np.ndarray, MetaArray) or array.flags.c_contiguous or not array.size:
        return same_order(array)
    reach = array.itemsize  # bytes from the first element to the end of the last
    for step, n in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if step < reach:
            return same_order(array)
        reach += (n - 1) * step
    if reach == array.nbytes:
        return same_order(array)
    if type(array) is MetaArray:
        return meta_array(array.shape, array.dtype, array.strides)
    room = np.zeros(-(-reach // array.itemsize), array.dtype)
    out = np.ndarray(array.shape, array.dtype, room, 0, array.strides)
    out[...] = array
    return out


def by_columns(array):
    """Matrices ``(*, m, n)`` that are column-major, as LAPACK and PyTorch leave them."""
    if type(array) is MetaArray and array.ndim > 1:
        *batch, m, n = array.shape
        return meta_array((*batch, n, m), array.dtype).swapaxes(-1, -2)
    if type(array) is not np.ndarray or array.ndim < 2:
        return array
    return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)


def unusual_order(array):
    """The order in memory of a dense array's dimensions; None if it is row by row."""
    if not isinstance(array, np.ndarray) or array.flags.c_contiguous or not is_dense(array):
        return None
    return [int(d) for d in np.argsort([-s for s in array.strides], kind="stable")]


def empty_like(array, dtype, kind=None):
    """Uninitialised memory with the shape of an array: with its strides where it is dense, else
    with its order of dimensions. `kind` is the class of the result where it is another."""
    kind = type(array) if kind is None else kind
    if kind is MetaArray:
        return _meta_like(array, np.dtype(dtype))
    if not array.size:  # NumPy forgets the strides of such arrays, PyTorch does not
        size = np.dtype(dtype).itemsize
        steps = tuple(step // array.itemsize * size for step in array.strides)
        return np.ndarray(array.shape, dtype, np.empty(0, dtype), 0, steps)
    if lies_by_rows(array):
        return memory.empty(array.shape, dtype)
    if kind is not np.ndarray:
        return empty_iterated(array.shape, dtype, (array.strides,))
    steps = dense_strides(array.shape, array.strides, array.itemsize, np.dtype(dtype).itemsize)
    return np.ndarray(array.shape, dtype, memory.empty(array.size, dtype), 0, steps)


def _meta_like(array, dtype):
    if not array.size:
        steps = tuple([step // array.itemsize * dtype.itemsize for step in array.strides])
    elif lies_by_rows(array):
        steps = None
    else:
        steps = dense_strides(array.shape, array.strides, array.itemsize, dtype.itemsize)
    return meta_array(array.shape, dtype, steps)


@functools.lru_cache(maxsize=1024)
def _row_strides(shape, step):
    strides = []
    for n in reversed(shape):
        strides.append(step)
        step *= n or 1
    return tuple(reversed(strides))


def lies_by_rows(array):
    """Whether the strides of an array are those of rows, of dimensions of one element and of empty
    arrays too, which NumPy leaves out when it asks for contiguity."""
    return array.strides == _row_strides(array.shape, array.itemsize)


@functools.lru_cache(maxsize=1024)
def dense_strides(shape, strides, itemsize, size):
    """Strides in bytes, for elements of `size` bytes, of what a copy of an array that is not
    contiguous has: its own where it is dense, else those of its order of dimensions, without gaps.
    """
    if _is_dense(shape, strides, itemsize):
        return tuple([step // itemsize * size for step in strides])
    steps, step = [0] * len(shape), size
    for d in reversed(iterated(shape, (strides,))):
        steps[d] = step
        step *= max(shape[d], 1)
    return tuple(steps)


def iterated(shape, operands):
    """The order of dimensions, outermost first, in which PyTorch walks over operands of a shape and
    lays out the result: by the strides of the first operand that tells two dimensions apart."""
    order = list(range(len(shape)))[::-1]  # innermost first
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            swap = _compared(shape, operands, order[before], order[at])
            if swap > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif swap < 0:
                break
    return tuple(order[::-1])


def _compared(shape, operands, inner, outer):
    """1 if the dimension `inner` ought to be outside of `outer`, -1 if not, 0 if all is one."""
    for strides in operands:
        a, b = strides[inner], strides[outer]
        if a and b:
            if a != b:
                return 1 if a > b else -1
            if shape[inner] > shape[outer]:
                return 1
    return 0


def empty_iterated(shape, dtype, operands, make=None):
    """Uninitialised memory for the result of a walk over operands with these strides."""
    return turned(make or memory.empty, shape, dtype, iterated(shape, operands))


def goes_by_rows(input):
    """Whether a copy of an array that is not contiguous is row-major."""
    steps = dense_strides(input.shape, input.strides, input.itemsize, 1)
    return steps == contiguous_strides(input.shape)


def as_input(array, result):
    """A result of the input's shape, copied to where a dense input's would be."""
    if array.flags.c_contiguous and result.flags.c_contiguous and 1 not in array.shape:
        return result
    if type(array) is np.ndarray and array.size:
        steps = dense_strides(array.shape, array.strides, array.itemsize, result.itemsize)
        if steps == result.strides:
            return result
    return written(empty_like(array, result.dtype), result)


def is_dense(array):
    """Whether an array fills its stretch of memory, in some order of dimensions."""
    return _is_dense(array.shape, array.strides, array.itemsize)


def _is_dense(shape, strides, expected):
    for step, n in sorted(zip(strides, shape, strict=True)):
        if n != 1:
            if step != expected:
                return False
            expected *= n
    return True
