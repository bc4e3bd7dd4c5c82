"""Reading rows and elements at indices, and writing or adding there, each by one call.

Each function gives a call for one layout (see :mod:`rushlight.kernels.launch.prepared`), or None
where it is left to others: strided arrays, elements of 16 bytes, sizes that do not fit. A call that
met an index out of range counts it in :data:`failures`; its result is of no use then.
"""

from __future__ import annotations

import ctypes
import functools
import math

from rushlight.kernels.copying.moving import merged
from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, is_floating
from rushlight.kernels.launch.prepared import (
    LIMIT,
    Remembered,
    Short,
    by_layouts,
    prepared,
    prepared_into,
)
from rushlight.machine import np, threads
from rushlight.machine.memory import address, empty
from rushlight.machine.processors import streams_from

__all__ = [
    "checked",
    "add_rows",
    "all_inside",
    "failures",
    "put_along",
    "put_flat",
    "put_into",
    "put_rows",
    "rows_written_at",
    "take_along",
    "take_rows",
    "triangle",
    "written_at",
]

failures = ctypes.c_int64(0)  # how often an index was out of range; only ever counts up
_INT64 = np.dtype(np.int64)
PUT, ADD, MULTIPLY, LARGEST, SMALLEST = WAYS = range(5)
_SCATTERED = 16_384  # units of work of a chunk: elements here and there take longer than neighbours
SHORT_ROWS = (32, 64, 128)  # bytes of rows that are copied without a loop
_FAR = 64 << 20  # bytes of indices that no cache keeps until they are read again
NARROWED = 2048  # indices that a buffer takes
_UINT16 = np.dtype(np.uint16)
_COLUMNS = 2048  # of a slice that are written together, at least
# Slices of so many bytes, but not more, are written whole, in so many bands.
_PAGE, _LONG_SLICE, _BANDS = 1 << 12, 1 << 18, 16
_LARGE = 1 << 15  # numbers beyond it may overflow a narrow dtype
_NAMES = {1: "u8", 2: "u16", 4: "i32", 8: "i64"}


def _kernel(name, dtype, kind=None, **parameters):
    kind = kind or _NAMES.get(dtype.itemsize)
    if REFERENCE or kind is None:
        return None
    from rushlight.kernels.indexing import index_kernels as native
    from rushlight.machine.language import functions as language

    kind = getattr(language, kind)
    return getattr(native, name).address(element=kind, size=dtype.itemsize, **parameters)


def _fits(input, index):
    return input.flags.c_contiguous and input.size and _are_indices(index)


def _seen(shape, dim):
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])


def _are_indices(index):
    return index.dtype == _INT64 and index.flags.c_contiguous and index.size


def _steps(input, dim, rows):
    """Bytes from one block of the dimensions from `dim` on to the next, `rows` (and from one slice
    of it to the next): None where that is no single step, or where slices, or without `rows`
    blocks, are not dense."""
    dense, last = input.itemsize, dim + 1 if rows else dim
    inner = zip(reversed(input.shape[last:]), reversed(input.strides[last:]), strict=True)
    for n, step in inner:
        if n != 1 and step != dense:
            return None
        dense *= n
    extents, steps = merged(input.shape[:dim], input.strides[:dim])
    return None if len(extents) > 1 else (*(steps or (0,)), *input.strides[dim:last])


def take_rows(input, index, dim, wrap=False):
    """``f(input, index)``: slices along `dim` at an index of any shape, which takes its place."""
    if not input.size or not input.ndim or not _are_indices(index):
        return None
    outer, n, inner = _seen(input.shape, dim)
    steps = _steps(input, dim, True)
    if steps is None or inner == 1 and steps[1] != input.itemsize:
        return None
    width = inner * input.itemsize
    width = width if width in SHORT_ROWS else 0
    code = _kernel("take_rows", input.dtype, wrap=int(wrap), width=width)
    if code is None:
        return None
    shape = (*input.shape[:dim], *index.shape, *input.shape[dim + 1 :])
    words = [ctypes.addressof(failures), n, index.size, inner, *steps]
    items = outer * index.size
    return prepared(code, items, chunk(items, inner), [input, index], [(shape, input.dtype)], words)


def _beside(index, input, dim):
    """Whether an index has the input's extents but for one dimension."""
    pairs = enumerate(zip(index.shape, input.shape, strict=False))
    return index.ndim == input.ndim and all(d == dim or a == b for d, (a, b) in pairs)


def take_along(input, index, dim, wrap=False):
    """``f(input, index)``: elements along `dim` at an index of the other extents of `input`."""
    if not input.size or not input.ndim or not _are_indices(index):
        return None
    steps = _steps(input, dim, False)
    if steps is None or not _beside(index, input, dim):
        return None
    code = _kernel("take_along", input.dtype, wrap=int(wrap))
    if code is None:
        return None
    outer, n, inner = _seen(input.shape, dim)
    words = [ctypes.addressof(failures), n, index.shape[dim], inner, *steps]
    grain = chunk(outer, 2 * index.size // outer, _SCATTERED)
    return prepared(code, outer, grain, [input, index], [(index.shape, input.dtype)], words)


def take_flat(input, index):
    """``f(input, index)``: elements of the flattened input; negative positions from the end."""
    code = _kernel("take_along", input.dtype, wrap=1) if _fits(input, index) else None
    if code is None:
        return None
    words = [ctypes.addressof(failures), input.size, index.size, 1, 0]
    return prepared(code, 1, 1, [input, index], [(index.shape, input.dtype)], words)


def add_rows(input, index, source, dim, wrap=False):
    """``f(input, index, source)``: a copy of `input` with slices added along `dim` at an index of
    any shape, which takes its place in `source`."""
    if not input.ndim or not _fits(input, index):
        return None
    outer, n, inner = _seen(input.shape, dim)
    expected = (*input.shape[:dim], *index.shape, *input.shape[dim + 1 :])
    if source.shape != expected or source.dtype is not input.dtype:
        return None
    if not source.flags.c_contiguous or input.dtype not in COMPILED_DTYPES:
        return None
    from rushlight.kernels.indexing import index_kernels as native

    kind = {4: "f32", 8: "f64"}[input.itemsize]
    code = _kernel("add_rows", input.dtype, kind, wrap=int(wrap))
    if code is None:
        return None
    words = [ctypes.addressof(failures), n, index.size, inner]
    items = outer * -(-inner // native.SEGMENT)
    grain = chunk(items, (2 * source.size + input.size) // items)
    arrays, outputs = [input, index, source], [(input.shape, input.dtype)]
    return prepared(code, items, grain, arrays, outputs, words)


def _writer(input, source, way, wrap):
    """Address of the kernel that writes or combines dense elements; None where there is none."""
    if source.dtype is not input.dtype or not source.flags.c_contiguous:
        return None
    if way and input.dtype not in COMPILED_DTYPES:
        return None
    kind = {4: "f32", 8: "f64"}[input.itemsize] if way else None
    return _kernel("put_along", input.dtype, kind, way=way, wrap=wrap, single=0)


def put_along(input, index, source, dim, way):
    """``f(input, index, source)``: a copy of `input` with `source` combined along `dim`; `way`: an
    element of :data:`WAYS`."""
    if not input.ndim or not _fits(input, index) or not _beside(index, input, dim):
        return None
    code = _writer(input, source, way, 0) if source.shape == index.shape else None
    if code is None:
        return None
    outer, n, inner = _seen(input.shape, dim)
    words = [ctypes.addressof(failures), n, index.shape[dim], inner, 0]
    grain = chunk(outer, (2 * index.size + input.size) // outer, _SCATTERED)
    arrays, outputs = [input, index, source], [(input.shape, input.dtype)]
    return prepared(code, outer, grain, arrays, outputs, words)


@functools.lru_cache(LIMIT)
def _looking(count, n):
    """The plan that counts indices out of range of n among so many; None without kernels."""
    look = _kernel("count_outside", _INT64)
    if look is None:
        return None
    words = [0] * 5 + [ctypes.addressof(failures), n]
    return threads.plan(look, count, chunk(count, 1, 1 << 16), words)


def all_inside(index, n):
    """Whether dense indices of int64 are all in 0 .. n - 1; False too where no kernel can tell."""
    plan = _looking(index.size, n)
    if plan is None:
        return False
    before = failures.value
    threads.run(plan, 0, 0, 0, index)
    return failures.value == before


_into = Remembered()


def _plan_into(target, index, source, dim, way):
    """The plan that writes, for arrays of one layout, whether it looks at all indices first, and a
    function of the arrays and the target that does the same, or None; None where that is left to
    others."""
    if not target.ndim or not target.flags.c_contiguous or not _fits(target, index):
        return None
    if way and target.dtype not in COMPILED_DTYPES or not _beside(index, target, dim):
        return None
    single = source is None
    if not single and (source.shape != index.shape or not source.flags.c_contiguous):
        return None
    if not single and source.dtype != target.dtype:
        return None
    kind = {4: "f32", 8: "f64"}[target.itemsize] if way else None
    code = _kernel("put_along", target.dtype, kind, way=way, wrap=0, single=int(single))
    if code is None:
        return None
    outer, n, inner = _seen(target.shape, dim)
    grain = chunk(outer, 2 * index.size // outer, _SCATTERED)
    words = [ctypes.addressof(failures), n, index.shape[dim], inner, 1 if outer <= grain else 2]
    plan, known = threads.plan(code, outer, grain, [0] * 5 + words), None
    if outer <= grain and way == PUT and not single:
        known = prepared_into(code, outer, grain, (target, index, source), words)
    if inner == 1 and not single and n <= 1 << 16 and index.nbytes >= _FAR:
        code = _kernel("put_at_narrow", target.dtype, kind, way=way, single=0)
        plan = _Narrow(index.size, n, threads.plan(code, outer, grain, [0] * 5 + words))
    return plan, outer <= grain, known


class _Narrow:
    """How to write at indices that are too many for the caches: what looks at them keeps them in 16
    bits, so that memory gives them once."""

    __slots__ = ("look", "size", "write")

    def __init__(self, size, n, write):
        look, words = _kernel("narrow_indices", _INT64), [ctypes.addressof(failures), n, size]
        items = -(-size // NARROWED)
        self.look = threads.plan(look, items, chunk(items, NARROWED, 1 << 16), [0] * 5 + words)
        self.size, self.write = items * NARROWED, write

    def run(self, target, index, source):
        """Write; False, and nothing written, where an index is out of range."""
        # so large that it starts on a cache line: stores past the caches take whole ones
        narrow, before = empty((self.size,), _UINT16), failures.value
        threads.run(self.look, 0, narrow, 0, index)
        if failures.value != before:
            return False
        threads.run(self.write, 0, target, target, narrow, source)
        return True


# Short calls of (target, index, source, target, dim), for the way PUT, which may come twice.
written_at = Short(4, 5, failures=ctypes.addressof(failures))
written_at.first = 16


def put_into(target, index, source, dim, way):
    """Combine `source`, of the shape of `index` or one number, with `target` along `dim`, in place;
    False, and nothing written, where that is left to others or an index is out of range."""
    return _put(_into, _plan_into, written_at, target, index, source, dim, way)


def is_plain(value, dtype):
    """Whether a number is one that every array of the dtype takes as it is, or rounded."""
    kind = type(value)
    plain = kind is int or kind is float and is_floating(dtype)
    return plain and -_LARGE < value < _LARGE


def _put(remembered, prepare, short, target, index, source, dim, way):
    """What :func:`put_into` and :func:`put_rows` do, by the plans that `prepare` makes."""
    if type(index) is not np.ndarray:
        return False
    given = None
    if type(source) is np.ndarray:
        given = source.shape, source.strides, source.dtype
    elif not is_plain(source, target.dtype):
        return False
    key = target.shape, target.strides, target.dtype, index.shape, index.strides, index.dtype, given
    key = *key, dim, way
    array = None if given is None else source
    try:
        found = remembered[key]
    except KeyError:
        found = remembered.keep(key, prepare(target, index, array, dim, way))
    if found is None:
        return False
    plan, looks, known = found
    if given is None:
        source = np.array([source], target.dtype)
    short.miss(known, (target, index, source, target), (dim,))
    # What is read must not change meanwhile; the array of one number is new.
    if _meet(target, index) or given is not None and _meet(target, source):
        return False
    if type(plan) is _Narrow:
        return plan.run(target, index, source)
    if not looks and not all_inside(index, target.shape[dim]):
        return False
    before = failures.value
    threads.run(plan, 0, target, target, index, source)
    if failures.value == before:
        return True
    return bool(((index >= 0) & (index < target.shape[dim])).all())  # else another thread's failure


def _parts(outer, inner, itemsize):
    """How many columns of a slice go together, and in how many bands the slices are. Memory likes
    whole slices (an addition of 40 MB to such of 18 KB took 3.6 ms by one thread, 7.0 to halves of
    them), unless they are so long that their pieces are long too."""
    if _PAGE <= inner * itemsize < _LONG_SLICE:
        return inner, -(-_BANDS // outer)
    return _segment(outer, inner), 1


def _segment(outer, inner):
    """How many columns of a slice go together: many, but in two pieces where there is one outer
    block only."""
    pieces = max(1, inner // _COLUMNS, min(2 // outer, inner // 64))
    return -(-inner // (16 * pieces)) * 16


def _plan_rows(target, index, source, dim, way):
    """The plan that writes slices for arrays of one layout, and a function of the arrays and the
    target that does the same, or None; None where that is left to others."""
    if not target.ndim or index.ndim != 1 or not _fits(target, index):
        return None
    if way and target.dtype not in COMPILED_DTYPES:
        return None
    single = source is None
    if not single:
        expected = (*target.shape[:dim], index.size, *target.shape[dim + 1 :])
        if source.shape != expected or source.dtype != target.dtype:
            return None
        if not source.flags.c_contiguous:
            return None
    outer, n, inner = _seen(target.shape, dim)
    moved = 0 if single or way else source.nbytes
    streams = int(moved >= streams_from() and inner * target.itemsize >= 4096)
    kind = {4: "f32", 8: "f64"}[target.itemsize] if way else None
    code = _kernel("put_rows", target.dtype, kind, way=way, single=int(single), streams=streams)
    if code is None:
        return None
    segment, bands = _parts(outer, inner, target.itemsize)
    items = outer * bands * -(-inner // segment)
    grain = chunk(items, 2 * outer * index.size * inner // items)
    words = [ctypes.addressof(failures), n, index.size, inner, segment, bands]
    plan, known = threads.plan(code, items, grain, [0] * 5 + words), None
    if not way:
        values = np.empty(1, target.dtype) if single else source
        known = prepared_into(code, items, grain, (target, index, values), words)
    return plan, True, known


_into_rows = Remembered()
# Short calls of (target, index, source, target, dim), as `written_at`; a number as one element.
rows_written_at = Short(4, 5, failures=ctypes.addressof(failures))
rows_written_at.first = 16


def put_rows(target, index, source, dim, way):
    """:func:`put_into` for slices at a vector of indices: `source` has the shape of `target` but
    for `dim`, or is one number."""
    return _put(_into_rows, _plan_rows, rows_written_at, target, index, source, dim, way)


def _meet(target, other):
    """Whether dense arrays may share memory; two that own theirs do not."""
    if target.base is other.base is None:
        return target is other
    start, first = address(target), address(other)
    return first < start + target.nbytes and start < first + other.nbytes


def put_flat(input, index, source, adding):
    """``f(input, index, source)``: a copy of `input` with `source` written or added at positions of
    the flattened input; negative ones from the end."""
    if not _fits(input, index) or source.size != index.size:
        return None
    code = _writer(input, source, int(adding), 1)
    if code is None:
        return None
    words = [ctypes.addressof(failures), input.size, index.size, 1, 0]
    return prepared(code, 1, 1, [input, index, source], [(input.shape, input.dtype)], words)


def _below(last, columns):
    """How many elements rows have whose diagonals are at the columns up to one."""
    if last < 0:
        return 0
    whole = min(last + 1, columns)
    return whole * (whole + 1) // 2 + (last + 1 - whole) * columns


@functools.lru_cache(LIMIT)
def triangle(upper, rows, columns, offset, dtype):
    """``f()``: row and column numbers of the elements of a triangle, as two rows; or None."""
    edge = offset - 1 if upper else offset
    count = _below(rows - 1 + edge, columns) - _below(edge - 1, columns)
    count = rows * columns - count if upper else count
    kind = {np.dtype(np.int32): "i32", _INT64: "i64"}.get(dtype)
    code = _kernel("triangle", dtype, kind, upper=int(upper)) if kind and count else None
    if code is None:
        return None
    grain = chunk(rows, 2 * count // rows)
    return prepared(code, rows, grain, [], [((2, count), dtype)], [columns, offset, count])


def checked(prepare, general, count=None):
    """``f(input, index, *attributes)`` out of `prepare`, which gives a call of both arrays for
    their layouts (or None), and `general`, which takes everything and says which index is wrong."""
    return by_layouts(prepare, general, count, failures)
