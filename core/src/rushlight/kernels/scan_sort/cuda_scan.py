"""Running sums, products, extremes and log-sums of exponentials along an axis."""

from __future__ import annotations

from rushlight.kernels.launch.cuda import address, empty, grid_of, launch, outer_inner
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = ["cumulative_extremes", "logcumsumexp", "scanned"]

TILE = 2048
ROWS_LIMIT = 65535  # of a grid's second extent
_INT64 = np.dtype(np.int64)


def _run(array, axis, kind, dtype):
    x = array.contiguous()
    out = empty(x.shape, dtype, x.device)
    places = empty(x.shape, _INT64, x.device) if kind in (2, 3) else None
    if not x.size:
        return out, places
    outer, n, inner = outer_inner(x.shape, axis)
    types = {"T": x.dtype, "D": dtype, "KIND": kind}
    if inner > 1:
        kernel = sources.kernel("scan", "scan_columns", **types)
        arguments = (x.address, out.address, address(places), outer, n, inner)
        launch(kernel, grid_of(outer * inner, x.device), 256, arguments, x.device)
        return out, places
    size = sources.compute_dtype(x.dtype).itemsize if kind not in (2, 3) else 16
    for start in range(0, outer, ROWS_LIMIT):
        rows = min(ROWS_LIMIT, outer - start)
        at = [start * n * a.itemsize + a.address for a in (x, out)]
        at.append(address(places) + 8 * start * n if places is not None else 0)
        _rows(types, at, rows, n, size, x.device)
    return out, places


def _rows(types, at, rows, n, size, device):
    x, out, places = at
    tiles, carries = -(-n // TILE), None
    if tiles > 1:
        carries = empty((rows * tiles * size,), np.uint8, device)
        kernel = sources.kernel("scan", "scan_totals", **types)
        launch(kernel, (tiles, rows, 1), 256, (x, carries.address, n), device)
        kernel = sources.kernel("scan", "scan_carries", **types)
        launch(kernel, rows, 256, (carries.address, tiles), device)
    kernel = sources.kernel("scan", "scan_rows", **types)
    launch(kernel, (tiles, rows, 1), 256, (x, out, places, address(carries), n), device)


def scanned(array, axis, product, dtype=None):
    """Running sums (or products) along an axis; of integers in int64. Products of complex numbers
    are left to array code."""
    if dtype is None:
        dtype = _INT64 if array.dtype.kind in "iub" else array.dtype
    dtype = np.dtype(dtype)
    if array.dtype != dtype and array.dtype.kind not in "iub":
        array = array.astype(dtype)
    if dtype.kind == "c":
        return NotImplemented if product else _complex_sums(array, axis)
    return _run(array, axis, int(product), dtype)[0]


def _complex_sums(array, axis):
    """Running sums of both parts."""
    out = empty(array.shape, array.dtype, array.device)
    for target, part in ((out.real, array.real), (out.imag, array.imag)):
        target[...] = _run(part, axis, 0, part.dtype)[0]
    return out


def cumulative_extremes(array, axis, largest):
    """(values, int64 positions) of the largest (smallest) so far; the later of equal ones, and NaN,
    count."""
    return _run(array, axis, 2 if largest else 3, array.dtype)


def logcumsumexp(array, axis):
    """Logarithms of running sums of exponentials."""
    return _run(array, axis, 4, array.dtype)[0]
