"""Softmax and log-softmax over any dim, forward and backward.

An array is (outer, n, inner) around the dim. With inner == 1 a row is one run of memory; else 64 to
256 neighbouring columns go together. Maxima are subtracted first; NaN anywhere makes its row NaN.
"""

from __future__ import annotations

import math

from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import (
    REFERENCE,
    chunk,
    compute_array,
    floating_types,
    is_floating,
    is_low_precision,
    referenced_by,
)
from rushlight.kernels.launch.exponential import exponential, exponential_below, logarithm_above
from rushlight.kernels.launch.prepared import Remembered, prepared
from rushlight.machine import np
from rushlight.machine.language.functions import (
    array,
    bitcast,
    f32,
    f64,
    function,
    i32,
    i64,
    independent,
    range_kernel,
    real,
    stack,
    stored,
)
from rushlight.machine.memory import empty
from rushlight.machine.worker_pool import scratch

__all__ = ["log_softmax_backward", "log_softmax_forward", "softmax_backward", "softmax_forward"]

# Argument words (see `prepared`): the result, the input or its gradient, the saved result, sizes.
Y, X, OUT, N, INNER, WIDTH = range(1, 7)
COLUMNS = 256  # columns that go together at most


# ---- rows ----------------------------------------------------------------------------------------


@function
def row_maximum(address, n):
    """The largest value; NaN wins. Compared as integers of the same order: floating maxima that
    carry NaN on take three times as many instructions."""
    if real is f32:
        return bitcast(f32, ordered(most_of(array(i32, address), i32(-(1 << 31)), n)))
    return bitcast(f64, ordered(most_of(array(i64, address), i64(-(1 << 63)), n)))


@function
def most_of(bits, best, n):
    """The largest of the bits of a row of numbers, as an integer of their order."""
    for i in independent(n):
        best = max(best, ordered(bits[i]))
    return best


@function
def ordered(bits):
    """The bits of a number as an integer of the same order, and back."""
    if real is f32:
        return ordered32(bits)
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


@function
def ordered32(bits):
    """The same of float32, whatever `real` is."""
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@function(reassociate=True)
def sum_of_exponentials(x, y, n, best):
    """Exponentials less the maximum, and their sum."""
    total = real(0)
    for i in independent(n):
        value = exponential_below(x[i] - best)
        y[i] = value
        total += value
    return total


@function(reassociate=True)
def total_of_exponentials(x, n, best):
    """The sum of exponentials less the maximum."""
    total = real(0)
    for i in independent(n):
        total += exponential_below(x[i] - best)
    return total


@function
def scaled(x, y, n, scale):
    """A row times a number. (Not reassociated: that would divide every element.)"""
    for i in independent(n):
        y[i] = x[i] * scale


@function
def shifted(x, y, n, best, shift):
    """A row less two numbers."""
    for i in independent(n):
        y[i] = (x[i] - best) - shift


@function
def room_for_row(tid, n):
    """Where :func:`wide_row` may write."""
    if stored is real:
        return i64(0)
    return scratch(tid, real.bits // 8 * n)


@function
def wide_row(address, n, room):
    """The address of a row in the type of the arithmetic, its own or that of a copy, and the
    largest value."""
    if stored is real:
        return address, row_maximum(address, n)
    x, copy, best = array(stored, address), array(real, room), i32(-(1 << 31))
    for i in independent(n):
        value = x[i]
        copy[i] = value
        best = max(best, ordered(bitcast(i32, value)))
    return room, bitcast(f32, ordered(best))


@range_kernel(reassociate=True, wide=True)
def softmax_rows(args, lo, hi, tid):
    """Y = softmax of the rows of X."""
    g = array(i64, args)
    n, size = g[N], stored.bits // 8
    room = room_for_row(tid, n)
    for row in range(lo, hi):
        y = g[Y] + size * row * n
        x, best = wide_row(g[X] + size * row * n, n, room)
        e = array(real, y if stored is real else room)  # exponentials, not rounded to `stored`
        scale = real(1) / sum_of_exponentials(array(real, x), e, n, best)
        scaled(e, array(stored, y), n, scale)


@range_kernel(reassociate=True, wide=True)
def log_softmax_rows(args, lo, hi, tid):
    """Y = log-softmax of the rows of X."""
    g = array(i64, args)
    n, size = g[N], stored.bits // 8
    room = room_for_row(tid, n)
    for row in range(lo, hi):
        address, best = wide_row(g[X] + size * row * n, n, room)
        x, y = array(real, address), array(stored, g[Y] + size * row * n)
        shifted(x, y, n, best, logarithm_above(total_of_exponentials(x, n, best)))


@range_kernel(reassociate=True, wide=True)
def softmax_rows_backward(args, lo, hi, tid):
    """Y = (grad - sum(grad * out)) * out; grad is X."""
    g = array(i64, args)
    n, size = g[N], stored.bits // 8
    for row in range(lo, hi):
        shift = size * row * n
        grad, out, y = (
            array(stored, g[X] + shift),
            array(stored, g[OUT] + shift),
            array(stored, g[Y] + shift),
        )
        total = real(0)
        for i in range(n):
            total += grad[i] * out[i]
        for i in range(n):
            y[i] = (grad[i] - total) * out[i]


@range_kernel(reassociate=True, wide=True)
def log_softmax_rows_backward(args, lo, hi, tid):
    """Y = grad - exp(out) * sum(grad); grad is X."""
    g = array(i64, args)
    n, size = g[N], stored.bits // 8
    for row in range(lo, hi):
        shift = size * row * n
        grad, out, y = (
            array(stored, g[X] + shift),
            array(stored, g[OUT] + shift),
            array(stored, g[Y] + shift),
        )
        total = real(0)
        for i in range(n):
            total += grad[i]
        for i in range(n):
            y[i] = grad[i] - exponential(out[i]) * total


# ---- columns: items are blocks of neighbouring columns -------------------------------------------


@function
def column_block(g, item, size):
    """Byte offset of a block's first element, and the number of its columns."""
    inner, width = g[INNER], g[WIDTH]
    blocks = (inner + width - 1) // width
    first = (item % blocks) * width
    return size * ((item // blocks) * g[N] * inner + first), min(width, inner - first)


@function
def column_maxima(x, best, n, inner, count):
    """The largest of each column, as :func:`row_maximum` finds it."""
    if real is f32:
        bits = array(i32, stack(COLUMNS))
        for j in independent(count):
            bits[j] = i32(-(1 << 31))
        for i in range(n):
            for j in independent(count):
                bits[j] = max(bits[j], ordered(bitcast(i32, x[i * inner + j])))
        for j in independent(count):
            best[j] = bitcast(f32, ordered(bits[j]))
    else:
        bits = array(i64, stack(COLUMNS))
        for j in independent(count):
            bits[j] = i64(-(1 << 63))
        for i in range(n):
            for j in independent(count):
                bits[j] = max(bits[j], ordered(bitcast(i64, x[i * inner + j])))
        for j in independent(count):
            best[j] = bitcast(f64, ordered(bits[j]))


@range_kernel(wide=True)
def softmax_columns(args, lo, hi, tid):
    """Y = softmax of the columns of X."""
    g = array(i64, args)
    n, inner, size = g[N], g[INNER], stored.bits // 8
    best, total = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    room = room_for_row(tid, n * g[WIDTH])
    for item in range(lo, hi):
        offset, count = column_block(g, item, size)
        x, y = array(stored, g[X] + offset), array(stored, g[Y] + offset)
        column_maxima(x, best, n, inner, count)
        e = array(real, g[Y] + offset if stored is real else room)  # not rounded to `stored`
        pitch = inner if stored is real else count
        for j in independent(count):
            total[j] = 0
        for i in range(n):
            for j in independent(count):
                value = exponential_below(x[i * inner + j] - best[j])
                e[i * pitch + j] = value
                total[j] += value
        for j in independent(count):
            total[j] = real(1) / total[j]
        for i in range(n):
            for j in independent(count):
                y[i * inner + j] = e[i * pitch + j] * total[j]


@range_kernel(wide=True)
def log_softmax_columns(args, lo, hi, tid):
    """Y = log-softmax of the columns of X."""
    g = array(i64, args)
    n, inner, size = g[N], g[INNER], stored.bits // 8
    best, total = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    for item in range(lo, hi):
        offset, count = column_block(g, item, size)
        x, y = array(stored, g[X] + offset), array(stored, g[Y] + offset)
        column_maxima(x, best, n, inner, count)
        for j in independent(count):
            total[j] = 0
        for i in range(n):
            for j in independent(count):
                total[j] += exponential_below(x[i * inner + j] - best[j])
        for j in independent(count):
            total[j] = logarithm_above(total[j])
        for i in range(n):
            for j in independent(count):
                y[i * inner + j] = (x[i * inner + j] - best[j]) - total[j]


@range_kernel(wide=True)
def softmax_columns_backward(args, lo, hi, tid):
    """Y = (grad - sum(grad * out)) * out; grad is X."""
    g = array(i64, args)
    n, inner, size = g[N], g[INNER], stored.bits // 8
    total = array(real, stack(COLUMNS))
    for item in range(lo, hi):
        offset, count = column_block(g, item, size)
        grad, out = array(stored, g[X] + offset), array(stored, g[OUT] + offset)
        y = array(stored, g[Y] + offset)
        for j in independent(count):
            total[j] = 0
        for i in range(n):
            for j in independent(count):
                total[j] += grad[i * inner + j] * out[i * inner + j]
        for i in range(n):
            for j in independent(count):
                y[i * inner + j] = (grad[i * inner + j] - total[j]) * out[i * inner + j]


@range_kernel(wide=True)
def log_softmax_columns_backward(args, lo, hi, tid):
    """Y = grad - exp(out) * sum(grad); grad is X."""
    g = array(i64, args)
    n, inner, size = g[N], g[INNER], stored.bits // 8
    total = array(real, stack(COLUMNS))
    for item in range(lo, hi):
        offset, count = column_block(g, item, size)
        grad, out = array(stored, g[X] + offset), array(stored, g[OUT] + offset)
        y = array(stored, g[Y] + offset)
        for j in independent(count):
            total[j] = 0
        for i in range(n):
            for j in independent(count):
                total[j] += grad[i * inner + j]
        for i in range(n):
            for j in independent(count):
                y[i * inner + j] = grad[i * inner + j] - exponential(out[i * inner + j]) * total[j]


# ---- public --------------------------------------------------------------------------------------


def _prepare(rows, columns, arrays, dim):
    """A call of dense arrays of one shape and floating dtype, or None."""
    first = arrays[0]
    if REFERENCE or not first.size or not is_floating(first.dtype):
        return None
    if any(
        a.shape != first.shape or not a.flags.c_contiguous or a.dtype != first.dtype for a in arrays
    ):
        return None
    shape = first.shape or (1,)
    n = shape[dim]
    outer, inner = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    width = _together(outer, n, inner)
    kernel, items, work = rows, outer, n
    if inner > 1:
        kernel, items, work = columns, outer * -(-inner // width), n * min(inner, width)
    words = [*[0] * (2 - len(arrays)), n, inner, width]
    code = kernel.address(**floating_types(first.dtype))
    outputs, copied = [(first.shape, first.dtype)], is_low_precision(first.dtype)
    return prepared(code, items, chunk(items, work, 8192), arrays, outputs, words, scratch=copied)


def _together(outer, n, inner):
    """How many columns go together: many, as long as there are enough blocks for some threads and
    a block stays in the cache."""
    width = COLUMNS // 4
    while width < COLUMNS and n * width <= 1 << 15 and outer * (inner // (2 * width)) >= 8:
        width *= 2
    return width


_calls = Remembered()


def _call(op, rows, columns, arrays, dim):
    """The kernel on arrays made dense and of one dtype."""
    key = rows, dim, *[(a.shape, a.strides, a.dtype) for a in arrays]
    try:
        found = _calls[key]
    except KeyError:
        at = _normal_dim(op, arrays[-1], dim)
        found = _calls.keep(key, _prepare(rows, columns, arrays, at))
    result = NotImplemented if found is None else found(*arrays)
    if result is not NotImplemented:
        return result
    _normal_dim(op, arrays[-1], dim)
    values = [compute_array(a if a.flags.aligned else a.copy()) for a in arrays]
    values = [cast(v, values[-1].dtype) for v in values]
    if all(v is a for v, a in zip(values, arrays, strict=True)):  # nothing to compute
        return empty(arrays[0].shape, arrays[0].dtype)
    return _call(op, rows, columns, values, dim)


def _normal_dim(op, array, dim):
    """The dim as a non-negative number; a 0-dim array counts as one of one element."""
    count = max(array.ndim, 1)
    if not -count <= dim < count:
        raise IndexError(
            f"{op}: dim {dim} is out of range for an input of shape {array.shape} "
            f"(expected {-count} to {count - 1})"
        )
    return dim % count


def _forward(op, rows, columns, x, dim):
    out = _call(op, rows, columns, [x], dim)
    target = x.dtype if x.dtype.kind not in "iub" else out.dtype
    return out if out.dtype is target else cast(out, target)


def prepare_softmax(x, dim):
    """A call ``f(x)`` of :func:`softmax_forward` for one layout, or None."""
    return _prepare(softmax_rows, softmax_columns, [x], _normal_dim("softmax", x, dim))


def prepare_log_softmax(x, dim):
    """A call ``f(x)`` of :func:`log_softmax_forward` for one layout, or None."""
    dim = _normal_dim("log_softmax", x, dim)
    return _prepare(log_softmax_rows, log_softmax_columns, [x], dim)


def _backward(op, rows, columns, grad, out, dim):
    if grad.shape != out.shape:
        _check_gradient(op, grad, out, dim)
    result = _call(op, rows, columns, [grad, out], dim)
    return result if result.dtype is out.dtype else cast(result, out.dtype)


def _shifted(op, x, dim):
    """x minus its maximum along the dim, in float64, and the dtype of the result."""
    dim = _normal_dim(op, x, dim)
    wide, dtype = x.astype(np.float64), x.dtype if x.dtype.kind not in "iub" else np.float64
    with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN, as it should
        best = np.max(wide, axis=dim, keepdims=True) if x.size else 0
        return wide - best, dtype


def _softmax_reference(x, dim):
    shifted, dtype = _shifted("softmax", x, dim)
    e = np.exp(shifted)
    return np.asarray(e / e.sum(axis=dim, keepdims=True), dtype)


def _log_softmax_reference(x, dim):
    shifted, dtype = _shifted("log_softmax", x, dim)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(shifted).sum(axis=dim, keepdims=True))
    return np.asarray(shifted - total, dtype)


def _check_gradient(op, grad, out, dim):
    if grad.shape != out.shape:
        raise ValueError(f"{op}: grad has shape {grad.shape}, expected {out.shape}")
    return _normal_dim(op, out, dim)


def _softmax_backward_reference(grad, out, dim):
    _check_gradient("softmax", grad, out, dim)
    g, y = grad.astype(np.float64), out.astype(np.float64)
    return np.asarray((g - (g * y).sum(axis=dim, keepdims=True)) * y, out.dtype)


def _log_softmax_backward_reference(grad, out, dim):
    _check_gradient("log_softmax", grad, out, dim)
    g, y = grad.astype(np.float64), out.astype(np.float64)
    return np.asarray(g - np.exp(y) * g.sum(axis=dim, keepdims=True), out.dtype)


@referenced_by(_softmax_reference)
def softmax_forward(x, dim):
    """``exp(x) / sum(exp(x))`` along ``dim``, of the same shape and dtype."""
    return _forward("softmax", softmax_rows, softmax_columns, x, dim)


@referenced_by(_log_softmax_reference)
def log_softmax_forward(x, dim):
    """``x - log(sum(exp(x)))`` along ``dim``."""
    return _forward("log_softmax", log_softmax_rows, log_softmax_columns, x, dim)


@referenced_by(_softmax_backward_reference)
def softmax_backward(grad, out, dim):
    """Gradient with respect to the input of softmax, from its result ``out``."""
    return _backward("softmax", softmax_rows_backward, softmax_columns_backward, grad, out, dim)


@referenced_by(_log_softmax_backward_reference)
def log_softmax_backward(grad, out, dim):
    """Gradient with respect to the input of log-softmax, from its result ``out``."""
    return _backward(
        "log_softmax", log_softmax_rows_backward, log_softmax_columns_backward, grad, out, dim
    )
