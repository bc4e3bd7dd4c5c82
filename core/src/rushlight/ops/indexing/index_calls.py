"""Kernels of the ops that read and write at index tensors: dense arrays by one call, others by the
op's body."""

from __future__ import annotations

import ctypes
import functools
import math

from rushlight.kernels.copying import blocks
from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.gemm import vectors
from rushlight.kernels.indexing import indices as places
from rushlight.kernels.launch.execution import FLOAT32, holds_low_precision
from rushlight.kernels.launch.prepared import Short, of_copies
from rushlight.machine import np
from rushlight.ops._calls.direct import tensor_of
from rushlight.ops.indexing.index_forms import WHOLE
from rushlight.tensor.shape import wrap_dim

NUMBERS = frozenset({int, float})
_MANY = 4  # times as many elements as are read that are not copied for that


def along(general, wrap=False):
    """The kernel of ``op(input, dim, index)`` that reads elements along a dimension."""

    def prepare(input, index, dim):
        if not input.flags.c_contiguous and input.size > _MANY * index.size:
            return None
        return places.take_along(input, index, wrap_dim(dim, input.ndim), wrap)

    prepare = of_copies(prepare, 2)
    taken = places.checked(prepare, lambda input, index, dim: general(input, dim, index), 3)

    def call(input, dim, index, sparse_grad=False):
        return taken(input, index, dim)

    call.general, call.short = general, taken.short
    return call


def rows(general):
    """The kernel of ``op(input, dim, index)`` that reads slices at a vector of indices."""

    def prepare(input, index, dim):
        dim = wrap_dim(dim, input.ndim)
        return places.take_rows(input, index, dim) if index.ndim == 1 else None

    prepare = of_copies(prepare, 2)
    taken = places.checked(prepare, lambda input, index, dim: general(input, dim, index), 3)

    def call(input, dim, index):
        return taken(input, index, dim)

    call.general, call.short = general, taken.short
    return call


def writing(way, general):
    """The kernel of ``op(input, dim, index, src)`` that combines along a dimension."""

    def prepare(input, index, src, dim):
        if src.shape != index.shape:
            return None
        return places.put_along(input, index, src, dim, way)

    return _with_source(prepare, general, way != places.PUT)


def writing_into(way):
    """What writes ``target.op_(dim, index, source)`` into an array; `source` may be a number."""

    return _writing_into(places.put_into, way, places.written_at)


def writing_rows_into(way):
    """The same for slices at a vector of indices."""
    write = _writing_into(places.put_rows, way, places.rows_written_at)
    if way == places.PUT:
        write.known = written_slices
    return write


def written_slices(target, dim, index, source):
    """Write slices, or a number, where machine code knows the layouts, else NotImplemented."""
    if type(source) in NUMBERS:
        dtype = target._array.dtype
        if not places.is_plain(source, dtype):
            return NotImplemented
        source = _single(source, math.copysign(1.0, source), dtype)
    return places.rows_written_at.call(target, index, source, target, dim)


@functools.lru_cache(256, typed=True)
def _single(value, sign, dtype):
    """A number, zeros with their sign, as a tensor of one element."""
    return tensor_of(np.array([value], dtype))


def on_a_copy(write, general):
    """The kernel of an op that gives a copy of its first operand, out of what writes into arrays
    and the op's body for all other layouts."""

    def call(input, *arguments):
        if type(input) is np.ndarray and input.flags.c_contiguous:
            out = blocks.copied(input)
            out = input.copy() if out is None else out
            if write(out, *arguments):
                return out
        return general(input, *arguments)

    call.general = general
    return call


def _writing_into(put, way, short):
    def write(target, dim, index, source):
        if type(dim) is not int:
            return False
        dim = dim + target.ndim if dim < 0 else dim
        return 0 <= dim < target.ndim and put(target, index, source, dim, way)

    if way == places.PUT:  # what may be done twice, where another thread's index is out of range
        write.known = lambda target, dim, index, source: short.call(
            target, index, source, target, dim
        )
    return write


_REDUCING = {
    "sum": places.ADD,
    "mean": places.ADD,
    "prod": places.MULTIPLY,
    "amax": places.LARGEST,
    "amin": places.SMALLEST,
}


def reducing(general, neutral):
    """The kernel of ``op(input, dim, index, src, reduce, include_self=True)``. ``neutral(reduce,
    dtype)`` gives the value that changes nothing."""
    calls = {way: writing(way, lambda *arguments: None) for way in places.WAYS}

    def call(input, dim, index, src, reduce, include_self=True):
        way, found = _REDUCING.get(reduce), input
        if way is not None and not include_self:
            values = np.full(index.shape, neutral(reduce, input.dtype), input.dtype)
            found = calls[places.PUT](input, dim, index, values)
        if way is not None and found is not None:
            found = calls[way](found, dim, index, src)
        if way is None or found is None:
            return general(input, dim, index, src, reduce, include_self=include_self)
        if reduce == "mean":
            start = np.full(input.shape, bool(include_self), input.dtype)
            count = calls[places.ADD](start, dim, index, np.ones(index.shape, input.dtype))
            np.divide(found, np.maximum(count, 1), out=found)
        return found

    return call


def adding_rows(general):
    """The kernel of ``op(input, dim, index, source, alpha=1)`` that adds slices at an index."""

    def prepare(input, index, source, dim):
        return places.add_rows(input, index, source, dim) if index.ndim == 1 else None

    added = _with_source(prepare, general)

    def call(input, dim, index, source, alpha=1):
        if type(alpha) is int and alpha == 1:
            return added(input, dim, index, source)
        return general(input, dim, index, source, alpha=alpha)

    call.general, call.short = general, added.short
    return call


def added_slices(input, index, source):
    """A copy of `input` with `source` added at an index of one tensor of int64 (from the end where
    they are negative) and whole slices, or at a mask; None where that is left to others."""
    tensors = [d for d, item in enumerate(index) if type(item) is not slice]
    if len(tensors) != 1 or type(input) is not np.ndarray or type(source) is not np.ndarray:
        return None
    (dim,) = tensors
    if len(index) == 1 and type(index[0]) is np.ndarray and index[0].dtype == np.bool_:
        return vectors.added_at_mask(input, index[0], source)
    others = (item for d, item in enumerate(index) if d != dim)
    if type(index[dim]) is not np.ndarray or any(item != WHOLE for item in others):
        return None
    return _slices(input, index[dim], source, dim)


def add_at(out, index, values):
    """Add in place at index tensors that stand next to each other among whole slices; False, and
    nothing written, where that is left to others."""
    tables = [d for d, item in enumerate(index) if type(item) is np.ndarray]
    if not tables or type(out) is not np.ndarray or not (out.flags.c_contiguous and out.size):
        return False
    first, last = tables[0], tables[-1] + 1
    others = (*index[:first], *index[last:])
    if len(tables) != last - first or any(type(i) is not slice or i != WHOLE for i in others):
        return False
    before, behind = out.shape[:first], out.shape[last:]
    place = _joined(index[first:last], out.shape[first:last])
    if place is None:
        return False
    try:
        source = np.broadcast_to(values, (*before, *place.shape, *behind))
    except ValueError:
        return False
    source = np.ascontiguousarray(source).reshape(*before, place.size, *behind)
    target = out.reshape(*before, -1, *behind)
    return places.put_rows(target, place.reshape(-1), source, first, places.ADD)


def _joined(tables, sizes):
    """Positions in dimensions of these sizes that are seen as one, from their indices; None where
    there are none, or some are masks or out of range."""
    if any(table.dtype.kind == "b" or not table.size for table in tables):
        return None
    place = np.int64(0)
    for table, n in zip(tables, sizes, strict=True):
        least = table.min()
        if least < -n or table.max() >= n:
            return None
        place = place * n + (table if least >= 0 else np.where(table < 0, table + n, table))
    return np.asarray(place, order="C")


def _with_source(prepare, general, combines=True):
    """A kernel of ``(input, dim, index, source)`` by one call of the three arrays; what it combines
    in low precision is rounded once, at the end."""
    dense = of_copies(prepare, 3)
    written = _of_three(
        lambda input, index, source, dim: dense(input, index, source, wrap_dim(dim, input.ndim)),
        lambda input, index, source, dim: general(input, dim, index, source),
    )

    def call(input, dim, index, source):
        if not (combines and holds_low_precision(input)) or source.dtype != input.dtype:
            return written(input, index, source, dim)
        found = written(cast(input, FLOAT32), index, cast(source, FLOAT32), dim)
        return None if found is None else cast(found, input.dtype)

    call.general, call.short = general, written.short
    return call


def writing_flat(general):
    """The kernel of ``op(input, index, source, accumulate=False)`` that writes (or adds) elements
    of the flattened input."""
    written = _of_three(places.put_flat, general)

    def call(input, index, source, accumulate=False):
        return written(input, index, source, bool(accumulate))

    call.general, call.short = general, written.short
    return call


def _of_three(prepare, general):
    """``f(input, index, source, attribute)`` out of `prepare`, which gives a call of the arrays for
    their layouts (or None), and `general`, which says which index is wrong."""
    short = Short(3, 4, failures=ctypes.addressof(places.failures))
    known = short.layouts

    def call(input, index, source, attribute):
        arrays = input, index, source
        key = attribute, *[(a.shape, a.strides, a.dtype) for a in arrays]
        try:
            found = known[key]
            short.miss(found, arrays, (attribute,))
        except KeyError:
            found = known.keep(key, prepare(*arrays, attribute))
            short.learn(found, arrays, (attribute,))
        if found is not None:
            before = places.failures.value
            result = found(*arrays)
            if result is not NotImplemented and places.failures.value == before:
                return result
        return general(*arrays, attribute)

    call.short = short
    return call


_slices = _of_three(
    lambda input, index, source, dim: places.add_rows(input, index, source, dim, True),
    lambda input, index, source, dim: None,
)
