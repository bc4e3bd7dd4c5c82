"""Loops along one dimension of float32 and float64 arrays: scans, the k largest, indices.

Each function gives None where it leaves the work to NumPy: small or strided arrays, other dtypes,
the reference mode.
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import Remembered, called, prepared
from rushlight.machine import np, threads

__all__ = [
    "added_at",
    "log_sums_gradient",
    "prepare_differences",
    "prepare_extreme",
    "prepare_log_sums",
    "prepare_others",
    "prepare_scan",
    "prepare_top",
    "read_at",
    "scanned",
]

SMALL = 128  # elements below which NumPy is as fast
WAITING = 8192  # elements of a chunk of rows, each of whose elements waits for the one before
TOP_LIMIT = 64  # values kept sorted by insertion
_INT64 = np.dtype(np.int64)


def _fits(array):
    return (
        array.size >= SMALL
        and array.dtype in COMPILED_DTYPES
        and not REFERENCE
        and array.flags.c_contiguous
    )


def _seen(shape, axis):
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


@functools.lru_cache(maxsize=512)
def _plan(name, dtype, items, work, n, m, inner, k, parameters):
    from rushlight.kernels.scan_sort import line_kernels as native

    code = getattr(native, name).address(real=language_type(dtype), **dict(parameters))
    return threads.plan(code, items, chunk(items, work), [0] * native.N + [n, m, inner, k])


def scanned(array, axis, product):
    """Running sums (or products) along an axis, accumulated in float64."""
    if not _fits(array):
        return None
    outer, n, inner = _seen(array.shape, axis)
    name, items = ("scan_rows", outer) if inner == 1 else (
        "scan_columns", outer * -(-inner // 256)
    )  # fmt: skip
    out = np.empty(array.shape, array.dtype)
    kind = (("product", int(product)),)
    plan = _plan(name, array.dtype, items, array.size // items, n, 0, inner, 0, kind)
    threads.run(plan, None, out, array)
    return out


def prepare_scan(array, axis, product):
    """``f(array)``: :func:`scanned` by one call, whatever the size; or None."""
    if not array.size or array.dtype not in COMPILED_DTYPES or REFERENCE:
        return None
    if not array.flags.c_contiguous or not array.ndim:
        return None
    from rushlight.kernels.scan_sort import line_kernels as native

    outer, n, inner = _seen(array.shape, axis)
    items = outer if inner == 1 else outer * -(-inner // native.SEGMENT)
    kernel = native.scan_rows if inner == 1 else native.scan_columns
    code = kernel.address(real=language_type(array.dtype), product=int(product))
    target = WAITING if inner == 1 else 32_768
    grain, words = chunk(items, array.size // items, target), [0, 0, n, 0, inner, 0]
    return prepared(code, items, grain, [array], [(array.shape, array.dtype)], words)


_EXPENSIVE = 8  # what an exponential and a logarithm cost


def _log_sums(array, axis, along_rows, along_columns):
    """The kernel, the items and their grain, and the words of logarithms of running sums."""
    from rushlight.kernels.scan_sort import log_sum_kernels as native

    outer, n, inner = _seen(array.shape, axis)
    items = outer if inner == 1 else outer * -(-inner // native.BLOCK)
    kernel = getattr(native, along_rows if inner == 1 else along_columns)
    code = kernel.address(real=language_type(array.dtype))
    return code, items, chunk(items, _EXPENSIVE * array.size // items), [n, inner]


def prepare_log_sums(array, axis):
    """``f(array)``: logarithms of running sums of exponentials along an axis; or None."""
    if REFERENCE or not array.size or array.dtype not in COMPILED_DTYPES:
        return None
    if not array.ndim:
        return None
    code, items, grain, words = _log_sums(array, axis, "rows", "columns")
    outputs, dense = [(array.shape, array.dtype)], by_rows(array)
    call = prepared(code, items, grain, [dense], outputs, words)
    return call if dense is array else lambda x: called(call, (by_rows(x),))


_gradients = Remembered()


def log_sums_gradient(grad, input, out, axis):
    """The gradient of the `input` of logarithms of running sums `out`, or None."""
    dtype = input.dtype
    if REFERENCE or not input.size or dtype not in COMPILED_DTYPES or not input.ndim:
        return None
    if grad.dtype is not dtype or out.dtype is not dtype:
        return None
    arrays = [by_rows(a) for a in (grad, input, out)]
    key = input.shape, dtype, axis
    call = _gradients.get(key)
    if call is None:
        made = _log_sums(input, axis, "row_gradients", "column_gradients")
        code, items, grain, words = made
        outputs = [(input.shape, dtype)]
        call = _gradients.keep(key, prepared(code, items, grain, arrays, outputs, words))
    return called(call, arrays)


def prepare_differences(array, axis, back):
    """``f(array)``: differences of neighbours along an axis, or the transpose of that (`back`),
    which gives one element more; or None."""
    if REFERENCE or not array.size or array.dtype not in COMPILED_DTYPES:
        return None
    from rushlight.kernels.scan_sort import line_kernels as native

    outer, n, inner = _seen(array.shape, axis)
    shape, n = list(array.shape), n + 1 if back else n
    if n < 2:
        return None
    shape[axis] = n if back else n - 1
    blocks = -(-inner * shape[axis] // native.RUN)
    kernel = native.differences_back if back else native.differences
    code = kernel.address(real=language_type(array.dtype))
    grain = chunk(outer * blocks, min(inner * n, native.RUN))
    outputs, dense = [(tuple(shape), array.dtype)], by_rows(array)
    words = [(n - 1) * inner, inner, blocks]
    call = prepared(code, outer * blocks, grain, [dense], outputs, words)
    return call if dense is array else lambda x: called(call, (by_rows(x),))


def prepare_others(array, grad, axis):
    """``f(array, grad)``: `grad`, which lacks the axis or has it once, times the product of all
    other elements along the axis; or None."""
    if REFERENCE or not array.size or array.dtype not in COMPILED_DTYPES:
        return None
    if grad.dtype is not array.dtype or not array.flags.c_contiguous or not grad.flags.c_contiguous:
        return None
    from rushlight.kernels.scan_sort import line_kernels as native

    outer, n, inner = _seen(array.shape, axis)
    items = outer if inner == 1 else outer * -(-inner // native.SEGMENT)
    kernel = native.others_rows if inner == 1 else native.others_columns
    code = kernel.address(real=language_type(array.dtype))
    grain = chunk(items, array.size // items, WAITING)
    outputs = [(array.shape, array.dtype)]
    return prepared(code, items, grain, [array, grad], outputs, [n, inner])


def prepare_extreme(array, axis, is_largest):
    """``f(array)``: running maxima (or minima) along an axis and their positions; or None."""
    name = {"f4": "f32", "f8": "f64", "i8": "i64", "i4": "i32"}.get(array.dtype.str[1:])
    if REFERENCE or name is None or not array.size or not array.flags.c_contiguous:
        return None
    from rushlight.kernels.scan_sort import line_kernels as native
    from rushlight.machine.language import functions as language

    outer, n, inner = _seen(array.shape, axis)
    items = outer if inner == 1 else outer * -(-inner // native.SEGMENT)
    kernel = native.extreme_rows if inner == 1 else native.extreme_columns
    code = kernel.address(element=getattr(language, name), largest=int(is_largest))
    outputs = [(array.shape, array.dtype), (array.shape, np.dtype(np.int64))]
    grain, words = chunk(items, 2 * array.size // items), [n, inner, array.itemsize]
    return prepared(code, items, grain, [array], outputs, words)


def prepare_top(array, k, largest):
    """``f(array)``: the k largest (or smallest) of the last axis in order, and where they were: the
    first of equal ones first; NaN counts as the largest. None where that is left to NumPy."""
    if REFERENCE or array.dtype not in COMPILED_DTYPES or not array.flags.c_contiguous:
        return None
    if not array.ndim or not array.size or not 0 < k <= min(TOP_LIMIT, array.shape[-1]):
        return None
    from rushlight.kernels.scan_sort import line_kernels as native

    n = array.shape[-1]
    rows, shape = array.size // n, (*array.shape[:-1], k)
    code = native.top_rows.address(real=language_type(array.dtype), largest=int(largest))
    outputs = [(shape, array.dtype), (shape, _INT64)]
    return prepared(code, rows, chunk(rows, n + 16 * k), [array], outputs, [n, k])


def _run_at(array, index, out, axis, wide, adding):
    if index.dtype != np.int64 or not index.flags.c_contiguous:
        index = np.ascontiguousarray(index, np.int64)
    outer, m, inner = _seen(index.shape, axis)
    failed = np.zeros(2, np.int64)
    kind = (("adding", int(adding)),)
    plan = _plan("at_indices", array.dtype, outer, 2 * m * inner, wide, m, inner, 0, kind)
    threads.run(plan, index, out, array, None, failed)
    if failed[0]:
        raise IndexError(int(failed[1]))
    return out


def _beside(index, array, axis):
    """Whether an index has the array's sizes but for the axis."""
    a, b = list(index.shape), list(array.shape)
    a[axis] = b[axis] = 0
    return a == b


def read_at(array, axis, index):
    """``out[i][j] = array[index[i][j]][j]`` for axis 0, and so on. Raises IndexError with the first
    index that is out of range."""
    if index.size < SMALL or not _fits(array) or not _beside(index, array, axis):
        return None
    out = np.empty(index.shape, array.dtype)
    return _run_at(array, index, out, axis, array.shape[axis], False)


def added_at(out, axis, index, source):
    """Add ``source`` into a dense ``out`` at the index along an axis, in order; True if done."""
    fits = index.size >= SMALL and _fits(out) and _fits(source) and source.dtype == out.dtype
    if not fits or index.shape != source.shape or not _beside(index, out, axis):
        return None
    return _run_at(source, index, out, axis, out.shape[axis], True)
