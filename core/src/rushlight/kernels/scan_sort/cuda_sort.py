"""Stable sorting along an axis, the first few of it, unique elements, and searches."""

from __future__ import annotations

from rushlight.compiler.cuda.unsigned import UNSIGNED, reordered
from rushlight.kernels.launch.cuda import address, empty, grid_of, launch
from rushlight.kernels.scan_sort.cuda_scan import scanned
from rushlight.machine import np
from rushlight.machine.cuda import runtime, sources

__all__ = ["searched", "sorted_along", "top", "unique"]

SHARED_LIMIT = 2048  # elements of a row that are sorted in shared memory
SELECTED_LIMIT = 2048  # of how many the first are found without sorting all
TILE = 2048
ROWS_LIMIT = 65535
_INT64, _INT32 = np.dtype(np.int64), np.dtype(np.int32)


def sorted_rows(x, descending=False, with_values=True, bits=None):
    """(values or None, int64 positions) of contiguous rows, stably sorted. `bits`: how many of the
    lowest bits of nonnegative integer elements can be set."""
    if x.dtype in UNSIGNED:
        signed = reordered(x, np.dtype(f"i{x.itemsize}"))
        values, places = sorted_rows(signed, descending, with_values)
        return values if values is None else reordered(values, x.dtype), places
    n = x.shape[-1]
    values = empty(x.shape, x.dtype, x.device) if with_values else None
    places = empty(x.shape, _INT64, x.device)
    if not x.size:
        return values, places
    down = np.int32(descending)
    if n <= SHARED_LIMIT:
        room = max(2, 1 << (n - 1).bit_length())
        size = 8 if x.itemsize == 8 else 4
        kernel = sources.kernel("sort", "sort_rows", T=x.dtype)
        arguments = (x.address, address(values), places.address, n, np.int32(room), down)
        threads = max(32, min(1024, room // 2))
        launch(kernel, x.size // n, threads, arguments, x.device, room * (size + 4))
        return values, places
    if n >= 1 << 31:
        raise NotImplementedError(f"sort of rows of {n} elements on CUDA; at most 2**31 - 1")
    _radix(x, values, places, down, bits)
    return values, places


def _radix(x, values, places, down, bits):
    n, device = x.shape[-1], x.device
    rows, tiles = x.size // n, -(-n // TILE)
    wide = _INT64 if x.itemsize == 8 else _INT32
    keys = [empty((x.size,), wide, device) for _ in range(2)]
    at = [empty((x.size,), _INT32, device) for _ in range(2)]
    kernel = sources.kernel("sort", "make_keys", T=x.dtype)
    arguments = (x.address, keys[0].address, at[0].address, x.size, n, down)
    launch(kernel, grid_of(x.size, device), 256, arguments, device)
    counts = empty((min(rows, ROWS_LIMIT) * 256 * tiles,), _INT32, device)
    passes = -(-bits // 8) if bits is not None else wide.itemsize
    for digit in range(passes):
        for start in range(0, rows, ROWS_LIMIT):
            _radix_pass(x.dtype, keys, at, counts, (start, min(ROWS_LIMIT, rows - start), n),
                        digit * 8, device)  # fmt: skip
        keys.reverse()
        at.reverse()
    kernel = sources.kernel("sort", "finish_sort", T=x.dtype)
    arguments = (x.address, at[0].address, address(values), places.address, x.size, n)
    launch(kernel, grid_of(x.size, device), 256, arguments, device)


def _radix_pass(dtype, keys, at, counts, part, shift, device):
    start, rows, n = part
    tiles, shift = -(-n // TILE), np.int32(shift)
    sources_of = [a.address + start * n * a.itemsize for a in (keys[0], at[0])]
    targets = [a.address + start * n * a.itemsize for a in (keys[1], at[1])]
    kernel = sources.kernel("sort", "radix_count", T=dtype)
    launch(kernel, (tiles, rows, 1), 256, (sources_of[0], counts.address, n, shift), device)
    kernel = sources.kernel("sort", "radix_offsets", T=dtype)
    launch(kernel, rows, 1024, (counts.address, 256 * tiles), device)
    kernel = sources.kernel("sort", "radix_scatter", T=dtype)
    arguments = (*sources_of, *targets, counts.address, n, shift)
    launch(kernel, (tiles, rows, 1), 256, arguments, device)


def sorted_along(array, axis, descending=False):
    """(values, int64 positions) sorted along an axis; equal elements keep their order, NaN counts
    as the largest."""
    if not array.ndim:
        return array.copy(), _zeros_like(array)
    moved = array.swapaxes(axis, -1).contiguous()
    values, places = sorted_rows(moved, descending)
    return values.swapaxes(axis, -1), places.swapaxes(axis, -1)


def _zeros_like(array):
    out = empty(array.shape, _INT64, array.device)
    current = runtime.current()
    current.fill_bytes(out.address, 0, out.nbytes, runtime.streams.current(array.device))
    return out


def top(array, k, largest):
    """The k largest (or smallest) of the last axis in order, and where they were: the first of
    equal ones first; NaN counts as the largest."""
    x = array.contiguous()
    n = x.shape[-1]
    if not SHARED_LIMIT < n < 1 << 31 or not 0 < k <= SELECTED_LIMIT:
        values, places = sorted_rows(x, largest)
        return values[..., :k].contiguous(), places[..., :k].contiguous()
    shape = (*x.shape[:-1], k)
    values, places = empty(shape, x.dtype, x.device), empty(shape, _INT64, x.device)
    if values.size:
        room = max(2, 1 << (k - 1).bit_length())
        kernel = sources.kernel("sort", "top_rows", T=x.dtype)
        arguments = (x.address, values.address, places.address, n, np.int32(k), np.int32(room),
                     np.int32(largest))  # fmt: skip
        shared = room * ((8 if x.itemsize == 8 else 4) + 4)
        launch(kernel, x.size // n, 256, arguments, x.device, shared)
    return values, places


def unique(array, consecutive=False):
    """(values, inverse of the array's shape, counts) of all elements, ascending, or of runs of
    equal ones. Waits for the device: the number of values is data."""
    x = array.contiguous().reshape(-1)
    n, device = x.size, x.device
    inverse = empty(array.shape, _INT64, device)
    if not n:
        return x, inverse, empty((0,), _INT64, device)
    values, places = (x, None) if consecutive else sorted_rows(x)
    marks = empty((n,), _INT64, device)
    grid = grid_of(n, device)
    kernel = sources.kernel("sort", "mark_changes", T=x.dtype)
    launch(kernel, grid, 256, (values.address, marks.address, n), device)
    numbers = scanned(marks, 0, False)
    groups = numbers[n - 1].item()
    out, starts = empty((groups,), x.dtype, device), empty((groups,), _INT64, device)
    kernel = sources.kernel("sort", "collect_groups", T=x.dtype)
    arguments = (values.address, address(places), numbers.address, out.address, starts.address,
                 inverse.address, n)  # fmt: skip
    launch(kernel, grid, 256, arguments, device)
    counts = empty((groups,), _INT64, device)
    kernel = sources.kernel("sort", "group_sizes", T=x.dtype)
    arguments = (starts.address, counts.address, groups, n)
    launch(kernel, grid_of(groups, device), 256, arguments, device)
    return out, inverse, counts


def searched(ordered, values, right):
    """Where each value belongs in its sorted row (or in the one row that there is)."""
    ordered, values = ordered.contiguous(), values.astype(ordered.dtype, copy=False).contiguous()
    places = empty(values.shape, _INT64, values.device)
    if values.size:
        kernel = sources.kernel("sort", "search_rows", T=ordered.dtype)
        columns = values.shape[-1] if values.ndim else 1
        arguments = (ordered.address, values.address, places.address, values.size, columns,
                     ordered.shape[-1], np.int32(ordered.ndim == 1), np.int32(right))  # fmt: skip
        launch(kernel, grid_of(values.size, values.device), 256, arguments, values.device)
    return places
