"""Normalization of rows by their root mean square, forward and backward, each by one compiled call.

(Zhang and Sennrich, 2019.) Rows share the work in parts that depend on the shape only; each part
adds its own rows' gradients of the weight up, and the parts are added in order.
"""

from __future__ import annotations

from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import chunk, compute_dtype, referenced_by
from rushlight.kernels.launch.prepared import Remembered, called, prepared
from rushlight.kernels.normalization.batch_compiled import run_squares
from rushlight.kernels.normalization.types import (
    ALL,
    INPUT,
    ROWS,
    dense,
    row_in,
    rows_together,
    scales,
    stored,
    types,
    wanted,
    which,
)
from rushlight.machine import np
from rushlight.machine.language.functions import (
    array,
    f64,
    i64,
    independent,
    range_kernel,
    real,
    square_root,
)
from rushlight.machine.memory import empty

__all__ = ["rms_norm_backward", "rms_norm_forward"]


@range_kernel(wide=True)
def rms_rows(args, lo, hi, tid):
    """Items are rows. A number, OUT, RSTD, X, WEIGHT (or X again), eps; whether there is a weight,
    elements of a row."""
    g = array(i64, args)
    n, size, eps = g[7], stored.bits // 8, array(f64, args)[5]
    weight = array(scales, g[4])
    for row in range(lo, hi):
        x, y = array(stored, g[3] + size * row * n), array(stored, g[1] + size * row * n)
        scale = real(1.0 / square_root(run_squares(x, n, real(0)) / f64(n) + eps))
        array(real, g[2])[row] = scale
        if g[6] != 0:
            for i in independent(n):
                y[i] = x[i] * scale * weight[i]
        else:
            for i in independent(n):
                y[i] = x[i] * scale


@range_kernel(reassociate=True, wide=True)
def rms_rows_backward(args, lo, hi, tid):
    """Items are parts of the rows. A number, OUT (unless the weight's gradient alone is wanted),
    PARTIAL (unless the input's is), GRAD, X, WEIGHT (or X again), RSTD; whether there is a weight,
    elements of a row, rows, rows of a part. PARTIAL: [part][n], sums of grad * xhat."""
    g = array(i64, args)
    at, size = 3 if wanted == ALL else 2, stored.bits // 8
    given, n, rows, per_part = g[at + 4], g[at + 5], g[at + 6], g[at + 7]
    weight, count = array(scales, g[at + 2]), real(n)
    for part in range(lo, hi):
        products = array(real, g[at - 1] + real.bits // 8 * part * n)
        if wanted != INPUT:
            for i in independent(n):
                products[i] = 0
        for row in range(part * per_part, min(rows, (part + 1) * per_part)):
            x, y = array(stored, g[at + 1] + size * row * n), array(stored, g[1] + size * row * n)
            grad, scale = array(stored, g[at] + size * row * n), array(real, g[at + 3])[row]
            product = real(0)
            if given != 0:
                for i in independent(n):
                    term = grad[i] * (x[i] * scale)
                    if wanted != INPUT:
                        products[i] += term
                    if wanted != ROWS:
                        product += term * weight[i]
            else:
                for i in independent(n):
                    product += grad[i] * (x[i] * scale)
            slope = product / count * scale
            if wanted != ROWS:
                if given != 0:
                    for i in independent(n):
                        y[i] = (grad[i] * weight[i] - x[i] * slope) * scale
                else:
                    for i in independent(n):
                        y[i] = (grad[i] - x[i] * slope) * scale


# ---- reference -----------------------------------------------------------------------------------


def _forward_reference(input, normalized_size, weight, eps):
    rows = input.astype(np.float64).reshape(-1, int(normalized_size))
    rstd = 1 / np.sqrt((rows * rows).mean(axis=1, keepdims=True) + eps)
    out = rows * rstd if weight is None else rows * rstd * weight.astype(np.float64).reshape(1, -1)
    out = out.reshape(input.shape).astype(input.dtype)
    return out, rstd.reshape(-1).astype(compute_dtype(input.dtype))


def _backward_reference(grad, input, weight, rstd, normalized_size, needs=(True, True)):
    n = int(normalized_size)
    wide, scale = grad.astype(np.float64).reshape(-1, n), rstd.astype(np.float64).reshape(-1, 1)
    normal = input.astype(np.float64).reshape(-1, n) * scale
    scaled = wide if weight is None else wide * weight.astype(np.float64).reshape(1, -1)
    inner = (scaled - normal * (scaled * normal).mean(axis=1, keepdims=True)) * scale
    dtype = input.dtype if weight is None else weight.dtype
    row = (wide * normal).sum(axis=0).astype(dtype) if needs[1] else None
    return inner.reshape(input.shape).astype(input.dtype) if needs[0] else None, row


# ---- public --------------------------------------------------------------------------------------

_forward, _backward = Remembered(), Remembered()


def _check(input, n, weight):
    if input.size % n if n else input.size:  # runs of no elements are those of an empty input
        raise ValueError(
            f"rms_norm: normalized_size {n} does not divide input of shape {input.shape}"
        )
    if weight is not None and weight.size != n:
        raise ValueError(f"rms_norm: weight has {weight.size} values, expected {n}")


def _prepare_forward(x, n, arrays, given, kind):
    rows = x.size // n
    code = rms_rows.address(**types(x.dtype, kind))
    outputs = [(x.shape, x.dtype), ((rows,), compute_dtype(x.dtype))]
    return prepared(code, rows, chunk(rows, n, 16_384), arrays, outputs, [int(given), n], "f")


@referenced_by(_forward_reference)
def rms_norm_forward(input, normalized_size, weight, eps):
    """Runs of ``normalized_size`` last elements over their root mean square: (out, rstd).

    rstd is flat, one value per run, in the compute dtype.
    """
    n = int(normalized_size)
    _check(input, n, weight)
    x = dense(input)
    if not x.size:
        return empty(input.shape, input.dtype), np.empty(0, compute_dtype(x.dtype))
    kind, weight = rows_together(x.dtype, weight)
    key = x.shape, x.dtype, kind, n, weight is None
    arrays = x, x if weight is None else weight
    call = _forward.get(key)
    if call is None:
        call = _forward.keep(key, _prepare_forward(x, n, arrays, weight is not None, kind))
    out, rstd = called(call, arrays, float(eps))
    return cast(out, input.dtype), rstd


def _prepare_backward(x, n, arrays, given, kind, asked):
    rows, wide = x.size // n, compute_dtype(x.dtype)
    parts = max(1, min(rows, 16, rows * n // 8192))
    per_part = -(-rows // parts)
    parts = -(-rows // per_part)
    code = rms_rows_backward.address(**types(x.dtype, kind), wanted=asked)
    outputs = [] if asked == ROWS else [(x.shape, x.dtype)]
    if asked != INPUT:
        outputs.append(((parts, n), wide))
    return prepared(code, parts, 1, arrays, outputs, [int(given), n, rows, per_part])


@referenced_by(_backward_reference)
def rms_norm_backward(grad, input, weight, rstd, normalized_size, needs=(True, True)):
    """(grad_input, grad_weight) of :func:`rms_norm_forward`, None where `needs` says so; the latter
    is flat, in the weight's dtype, and meaningless where there is no weight."""
    n = int(normalized_size)
    _check(input, n, weight)
    kind = input.dtype if weight is None else weight.dtype
    x, dy = dense(input), dense(cast(grad, input.dtype))
    if not x.size:
        first = empty(input.shape, input.dtype) if needs[0] else None
        return first, np.zeros(n, kind) if needs[1] else None
    row, weight = rows_together(x.dtype, weight)
    rstd, asked = row_in(rstd, compute_dtype(x.dtype)), which(needs)
    arrays = [dy, x, x if weight is None else weight, rstd]
    key = x.shape, x.dtype, row, n, weight is None, asked
    call = _backward.get(key)
    if call is None:
        call = _prepare_backward(x, n, arrays, weight is not None, row, asked)
        _backward.keep(key, call)
    found = called(call, arrays)
    if asked == INPUT:
        return cast(found, input.dtype), None
    first, partial = (None, found) if asked == ROWS else found
    total = cast(partial[0] if len(partial) == 1 else partial.sum(axis=0), kind)
    return None if first is None else cast(first, input.dtype), total
