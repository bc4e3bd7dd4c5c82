"""Normalization of rows by their root mean square, forward and backward, each by one compiled call.

(Zhang and Sennrich, 2019.) Rows share the work in parts that depend on the shape only; each part
adds its own rows' gradients of the weight up, and the parts are added in order.
"""

from __future__ import annotations

from rushlight.backends import np
from rushlight.backends.kernel_language import (
    array,
    f32,
    f64,
    i64,
    independent,
    range_kernel,
    real,
    square_root,
)
from rushlight.backends.memory import empty
from rushlight.kernels.batch_normalization_kernels import run_squares
from rushlight.kernels.conversion import cast
from rushlight.kernels.execution import (
    chunk,
    compute_array,
    compute_dtype,
    language_type,
    referenced_by,
)
from rushlight.kernels.prepared import Remembered, called, prepared

__all__ = ["rms_norm_backward", "rms_norm_forward"]


@range_kernel(wide=True)
def rms_rows(args, lo, hi, tid):
    """Items are rows. A number, OUT, RSTD, X, WEIGHT (or X again), eps; whether there is a weight,
    elements of a row."""
    g = array(i64, args)
    n, size, eps = g[7], 4 if real is f32 else 8, array(f64, args)[5]
    weight = array(real, g[4])
    for row in range(lo, hi):
        x, y = array(real, g[3] + size * row * n), array(real, g[1] + size * row * n)
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
    """Items are parts of the rows. A number, OUT, PARTIAL, GRAD, X, WEIGHT (or X again), RSTD;
    whether there is a weight, elements of a row, rows, rows of a part. PARTIAL: [part][n], sums of
    grad * xhat."""
    g = array(i64, args)
    n, size, rows, per_part = g[8], 4 if real is f32 else 8, g[9], g[10]
    weight, count = array(real, g[5]), real(n)
    for part in range(lo, hi):
        products = array(real, g[2] + size * part * n)
        for i in independent(n):
            products[i] = 0
        for row in range(part * per_part, min(rows, (part + 1) * per_part)):
            x, y = array(real, g[4] + size * row * n), array(real, g[1] + size * row * n)
            grad, scale = array(real, g[3] + size * row * n), array(real, g[6])[row]
            product = real(0)
            if g[7] != 0:
                for i in independent(n):
                    term = grad[i] * (x[i] * scale)
                    products[i] += term
                    product += term * weight[i]
            else:
                for i in independent(n):
                    product += grad[i] * (x[i] * scale)
            slope = product / count * scale
            if g[7] != 0:
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


def _backward_reference(grad, input, weight, rstd, normalized_size):
    n = int(normalized_size)
    wide, scale = grad.astype(np.float64).reshape(-1, n), rstd.astype(np.float64).reshape(-1, 1)
    normal = input.astype(np.float64).reshape(-1, n) * scale
    scaled = wide if weight is None else wide * weight.astype(np.float64).reshape(1, -1)
    inner = (scaled - normal * (scaled * normal).mean(axis=1, keepdims=True)) * scale
    dtype = compute_dtype(input.dtype)
    return inner.reshape(input.shape).astype(input.dtype), (wide * normal).sum(axis=0).astype(dtype)


# ---- public --------------------------------------------------------------------------------------

_forward, _backward = Remembered(), Remembered()


def _check(input, n, weight):
    if n < 1 or input.size % n:
        raise ValueError(
            f"rms_norm: normalized_size {n} does not divide input of shape {input.shape}"
        )
    if weight is not None and weight.size != n:
        raise ValueError(f"rms_norm: weight has {weight.size} values, expected {n}")


def _prepare_forward(x, n, arrays, given):
    rows = x.size // n
    code = rms_rows.address(real=language_type(x.dtype))
    outputs = [(x.shape, x.dtype), ((rows,), x.dtype)]
    return prepared(code, rows, chunk(rows, n, 16_384), arrays, outputs, [int(given), n], "f")


@referenced_by(_forward_reference)
def rms_norm_forward(input, normalized_size, weight, eps):
    """Runs of ``normalized_size`` last elements over their root mean square: (out, rstd).

    rstd is flat, one value per run, in the compute dtype.
    """
    n = int(normalized_size)
    _check(input, n, weight)
    x = compute_array(input)
    if not x.size:
        return empty(input.shape, input.dtype), np.empty(0, x.dtype)
    key = x.shape, x.dtype, n, weight is None
    arrays = x, x if weight is None else np.ascontiguousarray(weight, x.dtype)
    call = _forward.get(key)
    if call is None:
        call = _forward.keep(key, _prepare_forward(x, n, arrays, weight is not None))
    out, rstd = called(call, arrays, float(eps))
    return cast(out, input.dtype), rstd


def _prepare_backward(x, n, arrays, given):
    rows = x.size // n
    parts = max(1, min(rows, 16, rows * n // 8192))
    per_part = -(-rows // parts)
    parts = -(-rows // per_part)
    code = rms_rows_backward.address(real=language_type(x.dtype))
    outputs = [(x.shape, x.dtype), ((parts, n), x.dtype)]
    return prepared(code, parts, 1, arrays, outputs, [int(given), n, rows, per_part])


@referenced_by(_backward_reference)
def rms_norm_backward(grad, input, weight, rstd, normalized_size):
    """(grad_input, grad_weight) of :func:`rms_norm_forward`; the latter flat, and meaningless where
    there is no weight."""
    n = int(normalized_size)
    _check(input, n, weight)
    x = compute_array(input)
    dy = cast(compute_array(grad), x.dtype)
    if not x.size:
        return empty(input.shape, input.dtype), np.zeros(n, x.dtype)
    rows = [x if weight is None else weight, rstd]
    arrays = [dy, x, *(np.ascontiguousarray(row, x.dtype) for row in rows)]
    key = x.shape, x.dtype, n, weight is None
    call = _backward.get(key)
    if call is None:
        call = _backward.keep(key, _prepare_backward(x, n, arrays, weight is not None))
    out, partial = called(call, arrays)
    return cast(out, input.dtype), partial.sum(axis=0)
