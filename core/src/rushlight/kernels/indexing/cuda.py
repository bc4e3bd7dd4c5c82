"""Elements and rows by indices: taking, putting, combining; coordinates of what is not zero.

Combining sorts the targets and adds in order, so its bits never vary; ``deterministic=False``
lets float32, float64 and wide integers be added by atomics instead.
"""

from __future__ import annotations

from rushlight.kernels.launch.cuda import address, empty, grid_of, launch, outer_inner, row_shape
from rushlight.kernels.scan_sort.cuda_scan import scanned
from rushlight.kernels.scan_sort.cuda_sort import sorted_rows
from rushlight.machine import np
from rushlight.machine.cuda import runtime, sources

__all__ = [
    "added_at",
    "combined_at",
    "combined_rows",
    "counted",
    "joined_indices",
    "masked_scatter",
    "masked_select",
    "nonzero",
    "put_rows",
    "read_at",
    "scattered_at",
    "take_rows",
]

_INT64 = np.dtype(np.int64)
_UNITS = {1: np.dtype(np.uint8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: _INT64}
KINDS = {"sum": 0, "prod": 1, "amax": 2, "amin": 3, "mean": 4}
CROWDED = 16  # positions a key from which they are shared out
PARTS_BYTES = 256 << 20
ATOMIC = frozenset(map(np.dtype, (np.float32, np.float64, np.int32, np.int64)))


def _indices(array):
    return array.astype(_INT64, copy=False).contiguous()


def _row_unit(nbytes):
    """The widest unit that divides a row's bytes, and how many there are."""
    for size in (8, 4, 2, 1):
        if nbytes % size == 0:
            return _UNITS[size], nbytes // size
    raise AssertionError(nbytes)


def _move_rows(name, first, index, second, shape, wraps):
    outer, count, size, row_bytes = shape
    if not (outer and count and row_bytes):
        return
    unit, width = _row_unit(row_bytes)
    kernel = sources.kernel("indexing", name, T=unit)
    grid, block = row_shape(outer * count, width, unit.itemsize)
    arguments = (first.address, index.address, second.address, outer * count, count, size, width,
                 np.int32(wraps))  # fmt: skip
    launch(kernel, grid, block, arguments, first.device)


def take_rows(array, index, axis=0, wraps=False):
    """``array`` at a 1-dim (or any) index along an axis; the index's shape takes its place.

    ``wraps`` lets negative indices count from the end. Others make the launch fail.
    """
    x, flat = array.contiguous(), _indices(index)
    outer, size, inner = outer_inner(x.shape, axis)
    axis %= max(1, x.ndim)
    out = empty((*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]), x.dtype, x.device)
    shape = (outer, flat.size, size, inner * x.itemsize)
    _move_rows("take_rows", x, flat, out, shape, wraps)
    return out


def put_rows(out, index, values, axis=0, wraps=False):
    """Write rows into a contiguous ``out`` at a 1-dim index along an axis."""
    values, flat = values.astype(out.dtype, copy=False).contiguous(), _indices(index)
    outer, size, inner = outer_inner(out.shape, axis)
    shape = (outer, flat.size, size, inner * out.itemsize)
    _move_rows("put_rows", values, flat, out, shape, wraps)


def _walk(index, first, second, axis, dead):
    """Shapes and strides for the kernels; the axis has stride 0 in the operand called `dead`."""
    words = np.zeros((5, 8), _INT64)  # header, shape, index, first, second
    operand = first if dead == "first" else second
    words[0, :3] = (index.ndim, axis, operand.shape[axis] if operand.ndim else 1)
    for row, array in enumerate((index, first, second), 2):
        words[row, : index.ndim] = [s // array.itemsize for s in array.strides]
    words[1, : index.ndim] = index.shape
    words[3 if dead == "first" else 4, axis] = 0
    return np.concatenate([words[0, :3], words[1:].reshape(-1)])


def _unit(dtype):
    size = min(8, dtype.itemsize)
    return _UNITS[size], dtype.itemsize // size


def _axis(array, axis):
    return axis % max(1, array.ndim)


def _stride(array, axis):
    return array.strides[axis] // array.itemsize if array.ndim else 0


def _checked_ndim(array):
    if array.ndim > 8:
        raise NotImplementedError(f"gather and scatter of {array.ndim} dimensions on CUDA; 8 most")


def read_at(array, axis, index):
    """``out[i][j] = array[index[i][j]][j]`` for axis 0, and so on (gather). The index may be
    smaller than the array in other dims. An index out of range makes the launch fail."""
    _checked_ndim(array)
    index = index.astype(_INT64, copy=False)
    out = empty(index.shape, array.dtype, array.device)
    if out.size:
        axis = _axis(array, axis)
        unit, units = _unit(array.dtype)
        walk = _walk(index, array, out, axis, "first")
        kernel = sources.kernel("indexing", "gather_elements", T=unit)
        arguments = (array.address, index.address, out.address, out.size, _stride(array, axis),
                     np.int32(units), walk)  # fmt: skip
        launch(kernel, grid_of(out.size, array.device), 256, arguments, array.device)
    return out


def scattered_at(out, axis, index, source):
    """Write ``source`` (as large as the index, or larger) into ``out`` along an axis; which of
    equal positions wins is not defined."""
    _checked_ndim(out)
    index, source = index.astype(_INT64, copy=False), source.astype(out.dtype, copy=False)
    if index.size:
        axis = _axis(out, axis)
        unit, units = _unit(out.dtype)
        walk = _walk(index, source, out, axis, "second")
        kernel = sources.kernel("indexing", "scatter_elements", T=unit)
        arguments = (source.address, index.address, out.address, index.size, _stride(out, axis),
                     np.int32(units), walk)  # fmt: skip
        launch(kernel, grid_of(index.size, out.device), 256, arguments, out.device)


def added_at(out, axis, index, source, deterministic=True):
    """Add ``source`` into ``out`` at the index along an axis; True."""
    if out.dtype.kind == "c":
        source = source.astype(out.dtype, copy=False)
        for part, values in ((out.real, source.real), (out.imag, source.imag)):
            sums = part.copy()
            added_at(sums, axis, index, values, deterministic)
            part[...] = sums
        return True
    combined_at(out, axis, index, source, "sum", True, deterministic)
    return True


def combined_at(out, axis, index, source, kind, include_self, deterministic=True,
                skips_negative=False):  # fmt: skip
    """scatter_reduce: combine elements of ``source`` that meet in one place of a contiguous
    ``out``, with what is there if ``include_self``. Kinds: those of ``KINDS``. Negative indices
    fail, unless they are to be skipped."""
    _checked_ndim(out)
    index, source = index.astype(_INT64, copy=False), source.astype(out.dtype, copy=False)
    count, device, axis = index.size, out.device, _axis(out, axis)
    if not count:
        return
    targets, froms = empty((1, count), _INT64, device), empty((count,), _INT64, device)
    walk = _walk(index, source, out, axis, "second")
    kernel = sources.kernel("indexing", "scatter_places", T=_UNITS[8])
    arguments = (index.address, targets.address, froms.address, count, _stride(out, axis),
                 np.int32(skips_negative), walk)  # fmt: skip
    launch(kernel, grid_of(count, device), 256, arguments, device)
    if not deterministic and kind == "sum" and include_self and out.dtype in ATOMIC:
        kernel = sources.kernel("atomics", "add_elements", T=out.dtype)
        arguments = (source.address, targets.address, froms.address, out.address, count)
        launch(kernel, grid_of(count, device), 256, arguments, device)
        return
    bits = None if skips_negative else max(1, out.size.bit_length())
    keys, order = sorted_rows(targets, bits=bits)
    _segments(source, keys, order, out, kind, row_of=froms, count=count, width=1, size=out.size,
              include_self=include_self)  # fmt: skip


def _segments(source, keys, order, out, kind, *, count, width, size, row_of=None, scales=None,
              padding=-1, by_frequency=False, include_self=False, outer=1, source_rows=0,
              alpha=1.0):  # fmt: skip
    """Combine rows of ``source`` by sorted keys into ``out``."""
    types = {"T": out.dtype, "KIND": KINDS[kind]}
    words = np.array([count, width, size, padding, by_frequency, include_self, outer, 0], _INT64)
    words[7:].view(np.float64)[0] = alpha
    given = (source.address, keys.address, order.address, address(row_of), address(scales))
    if count >= CROWDED * size:
        _crowded(types, given, keys, out, count, size * width * outer, source_rows, words)
        return
    kernel = sources.kernel("segments", "segment_rows", **types)
    lanes = min(32, 1 << max(0, width - 1).bit_length())
    columns = min(64, -(-width // lanes))
    grid = (-(-count // (256 // lanes)), columns, max(1, min(outer, 1024)))
    arguments = (*given, out.address, source_rows, words)
    launch(kernel, grid, (lanes, 256 // lanes, 1), arguments, out.device)


def _crowded(types, given, keys, out, count, elements, source_rows, words):
    """Few keys with many positions each: parts of a key's positions go to blocks of their own."""
    size, device = int(words[2]), out.device
    parts = max(1, min(64, count // size // 512, PARTS_BYTES // (8 * elements)))
    wide = sources.compute_dtype(out.dtype)
    partial = empty((parts * elements,), wide, device)
    kernel = sources.kernel("segments", "segment_parts", **types)
    grid = (size, parts, max(1, min(int(words[6]), 1024)))
    arguments = (*given, partial.address, source_rows, words)
    launch(kernel, grid, (32, 8, 1), arguments, device)
    kernel = sources.kernel("segments", "join_parts", **types)
    arguments = (partial.address, keys.address, out.address, parts, words)
    launch(kernel, size, 256, arguments, device)


def combined_rows(out, index, source, kind="sum", axis=0, include_self=True, alpha=1,
                  deterministic=True):  # fmt: skip
    """index_add and index_reduce: combine rows of ``source`` that have equal indices along an
    axis into a contiguous ``out``; ``alpha`` scales what is added."""
    source, flat = source.astype(out.dtype, copy=False).contiguous(), _indices(index)
    outer, size, width = outer_inner(out.shape, axis)
    count, device = flat.size, out.device
    if not (count and out.size):
        return
    plain = kind == "sum" and include_self and alpha == 1 and outer == 1
    if plain and not deterministic and out.dtype in ATOMIC:
        kernel = sources.kernel("atomics", "add_rows", T=out.dtype)
        arguments = (source.address, flat.address, out.address, count, width, size)
        launch(kernel, grid_of(count * width, device), 256, arguments, device)
        return
    keys, order = sorted_rows(flat.reshape(1, count))
    _segments(source, keys, order, out, kind, count=count, width=width, size=size, outer=outer,
              source_rows=count, include_self=include_self, alpha=float(alpha))  # fmt: skip


def joined_indices(indices, sizes, strides):
    """One index of several (int64, equal shapes): the sum of index * stride, negative ones
    counted from the end of their size."""
    dense = [_indices(index) for index in indices]
    first = dense[0]
    words = np.zeros(25, _INT64)
    words[0] = len(dense)
    for start, values in ((1, [d.address for d in dense]), (9, sizes), (17, strides)):
        words[start : start + len(dense)] = values
    out = empty(first.shape, _INT64, first.device)
    if out.size:
        kernel = sources.kernel("indexing", "join_indices", T=_UNITS[8])
        launch(kernel, grid_of(out.size, out.device), 256, (out.address, out.size, words),
               out.device)  # fmt: skip
    return out


def counted(array, size):
    """How often each of 0..size-1 occurs among integers: int64 (size,)."""
    x = _indices(array)
    out = empty((size,), _INT64, x.device)
    runtime.current().fill_bytes(out.address, 0, out.nbytes, runtime.streams.current(x.device))
    if x.size:
        kernel = sources.kernel("atomics", "count_values", T=_INT64)
        arguments = (x.address, out.address, x.size, size)
        launch(kernel, grid_of(x.size, x.device), 256, arguments, x.device)
    return out


def _numbered(mask):
    """A mask as contiguous bytes, and running sums of it."""
    bools = mask.astype(np.dtype(np.bool_), copy=False).contiguous()
    return bools, scanned(bools.reshape(-1), 0, False)


def nonzero(array, flat=False):
    """Coordinates (count, ndim) of elements that are not zero, or their flat positions (count,).
    Waits for the device: the count is data."""
    mask, numbers = _numbered(array)
    n, device = mask.size, mask.device
    count = numbers[n - 1].item() if n else 0
    ndim = 0 if flat else array.ndim
    out = empty((count,) if flat else (count, ndim), _INT64, device)
    if out.size:
        words = np.zeros(25, _INT64)
        words[0] = ndim
        words[9 : 9 + ndim] = array.shape[:ndim]
        kernel = sources.kernel("indexing", "write_coordinates", T=_UNITS[1])
        arguments = (mask.address, numbers.address, out.address, n, words)
        launch(kernel, grid_of(n, device), 256, arguments, device)
    return out


def masked_select(array, mask):
    """Elements where the mask (of equal shape) is true, in order. Waits for the device."""
    return take_rows(array.contiguous().reshape(-1), nonzero(mask, flat=True))


def masked_scatter(array, mask, values):
    """``array`` with the elements where the mask (of equal shape) is true taken from ``values``
    in order."""
    x, values = array.contiguous(), values.astype(array.dtype, copy=False).contiguous()
    out = empty(x.shape, x.dtype, x.device)
    if out.size:
        bools, numbers = _numbered(mask)
        unit, units = _unit(x.dtype)
        kernel = sources.kernel("indexing", "spread_values", T=unit)
        arguments = (x.address, bools.address, numbers.address, values.address, out.address,
                     x.size, values.size, np.int32(units))  # fmt: skip
        launch(kernel, grid_of(x.size, x.device), 256, arguments, x.device)
    return out
