"""Group normalization of (N, C, *S), forward and backward, each by one compiled call.

An item is a group of channels of one image. Means and variances take two passes (no cancellation).
The backward pass adds grad and grad * (x - mean) up channel by channel: from these sums follow the
gradient of the input and each image's part of the gradients of weight and bias, which are float64
and added in order, so results do not depend on threads. (Wu and He, 2018.)
"""

from __future__ import annotations

from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import FLOAT64, chunk, compute_dtype, referenced_by
from rushlight.kernels.launch.prepared import Remembered, called, prepared
from rushlight.kernels.normalization.batch_compiled import gradient_sums, run_squares, run_sum
from rushlight.kernels.normalization.types import (
    ALL,
    INPUT,
    ROWS,
    dense,
    dtype_of_rows,
    row_in,
    rows_fit,
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
    function,
    i64,
    independent,
    range_kernel,
    real,
    square_root,
)

__all__ = ["group_norm_backward", "group_norm_forward"]

# Words of a prepared call: a number, the results, the arrays (the input in place of a weight or
# bias that is not there), eps in the forward pass; then which of the two are there, groups,
# channels of a group, elements of a group and of a channel.
_GIVEN, _GROUPS, _PER, _N, _S = range(8, 13)


@function
def group_row(x, y, n, mean, rstd, given, weight, bias):
    """A group whose channels have one element each."""
    if given == 3:
        for i in independent(n):
            y[i] = (x[i] - mean) * rstd * weight[i] + bias[i]
    elif given == 2:
        for i in independent(n):
            y[i] = (x[i] - mean) * rstd + bias[i]
    elif given == 1:
        for i in independent(n):
            y[i] = (x[i] - mean) * rstd * weight[i]
    else:
        for i in independent(n):
            y[i] = (x[i] - mean) * rstd


@function(reassociate=True)
def group_row_backward(x, grad, y, n, mean, rstd, given, weight, products, sums):
    """The gradient of such a group, and its part of the gradients of weight and bias."""
    total, product = real(0), real(0)
    for i in independent(n):
        normal = (x[i] - mean) * rstd
        if wanted != INPUT:
            products[i] = f64(grad[i] * normal)
            sums[i] = f64(grad[i])
        scaled = grad[i] * (weight[i] if given != 0 else real(1))
        total += scaled
        product += scaled * normal
    level, slope = total / real(n), product / real(n) * rstd
    if wanted != ROWS:
        if given != 0:
            for i in independent(n):
                y[i] = (grad[i] * weight[i] - level - (x[i] - mean) * slope) * rstd
        else:
            for i in independent(n):
                y[i] = (grad[i] - level - (x[i] - mean) * slope) * rstd


@range_kernel(wide=True)
def group_rows(args, lo, hi, tid):
    """OUT, MEAN, RSTD, X, WEIGHT, BIAS, eps. Items are groups of channels of an image."""
    g = array(i64, args)
    size, eps, given = stored.bits // 8, array(f64, args)[7], g[_GIVEN]
    n, s, per = g[_N], g[_S], g[_PER]
    for item in range(lo, hi):
        x = array(stored, g[4] + size * item * n)
        mean = real(run_sum(x, n) / f64(n))
        rstd = real(1.0 / square_root(run_squares(x, n, mean) / f64(n) + eps))
        array(real, g[2])[item] = mean
        array(real, g[3])[item] = rstd
        if s == 1:
            first = scales.bits // 8 * (item % g[_GROUPS] * per)
            group_row(x, array(stored, g[1] + size * item * n), n, mean, rstd, given,
                      array(scales, g[5] + first), array(scales, g[6] + first))  # fmt: skip
            continue
        for c in range(per):
            channel, scale, shift = item % g[_GROUPS] * per + c, real(1), real(0)
            if given % 2 == 1:
                scale = array(scales, g[5])[channel]
            if given >= 2:
                shift = array(scales, g[6])[channel]
            source = array(stored, g[4] + size * (item * n + c * s))
            target = array(stored, g[1] + size * (item * n + c * s))
            for i in independent(s):
                target[i] = (source[i] - mean) * rstd * scale + shift


@range_kernel(wide=True)
def group_rows_backward(args, lo, hi, tid):
    """OUT (unless the gradients of weight and bias alone are wanted), PARTIAL (unless the input's
    is), GRAD, X, WEIGHT, MEAN, RSTD. PARTIAL: [2][image][channel], each image's part of the
    gradients of weight and of bias."""
    g, size, at = array(i64, args), stored.bits // 8, 3 if wanted == ALL else 2
    sizes = at - 3  # how far they are before those of the forward pass
    given, groups, per = g[_GIVEN + sizes], g[_GROUPS + sizes], g[_PER + sizes]
    n, s, images, channels = g[_N + sizes], g[_S + sizes], g[_S + sizes + 1], groups * per
    weight = array(scales, g[at + 2])
    for item in range(lo, hi):
        image, first, start = item // groups, item % groups * per, size * item * n
        mean, rstd = array(real, g[at + 3])[item], array(real, g[at + 4])[item]
        products = array(f64, g[at - 1] + 8 * (image * channels + first))
        sums = array(f64, g[at - 1] + 8 * ((images + image) * channels + first))
        if s == 1:
            group_row_backward(array(stored, g[at + 1] + start), array(stored, g[at] + start),
                               array(stored, g[1] + start), n, mean, rstd, given,
                               array(scales, g[at + 2] + scales.bits // 8 * first), products,
                               sums)  # fmt: skip
            continue
        total, product = f64(0), f64(0)
        for c in range(per):
            own = start + size * c * s
            a, b = gradient_sums(array(stored, g[at] + own), array(stored, g[at + 1] + own), s,
                                 mean)  # fmt: skip
            b = b * f64(rstd)
            if wanted != INPUT:
                products[c] = b
                sums[c] = a
            factor = f64(1)
            if given != 0:
                factor = f64(weight[first + c])
            total += a * factor
            product += b * factor
        if wanted != ROWS:
            level, slope = real(total / f64(n)), real(product / f64(n)) * rstd
            for c in range(per):
                scale, own = real(1), start + size * c * s
                if given != 0:
                    scale = weight[first + c]
                x, grad = array(stored, g[at + 1] + own), array(stored, g[at] + own)
                y = array(stored, g[1] + own)
                for i in independent(s):
                    y[i] = (grad[i] * scale - level - (x[i] - mean) * slope) * rstd


# ---- reference -----------------------------------------------------------------------------------


def _grouped(array, groups):
    """(N, G, C / G, elements of a channel), in float64."""
    n, c = array.shape[:2]
    return array.astype(np.float64).reshape(n, groups, c // groups, -1)


def _column(row, groups):
    """A value for every channel (C,), or for every group of an image (N * G), to broadcast."""
    return row.astype(np.float64).reshape(1, groups, -1, 1)


def _forward_reference(input, groups, weight, bias, eps):
    wide, dtype = _grouped(input, groups), compute_dtype(input.dtype)
    mean = wide.mean(axis=(2, 3), keepdims=True)
    rstd = 1 / np.sqrt(wide.var(axis=(2, 3), keepdims=True) + eps)
    out = (wide - mean) * rstd
    if weight is not None:
        out = out * _column(weight, groups)
    if bias is not None:
        out = out + _column(bias, groups)
    out = out.reshape(input.shape).astype(input.dtype)
    return out, mean.reshape(-1).astype(dtype), rstd.reshape(-1).astype(dtype)


def _backward_reference(grad, input, groups, weight, mean, rstd, needs=(True, True, True)):
    n, dtype = input.shape[0], input.dtype if weight is None else weight.dtype
    mean, rstd = (v.astype(np.float64).reshape(n, groups, 1, 1) for v in (mean, rstd))
    wide = _grouped(grad, groups)
    normal = (_grouped(input, groups) - mean) * rstd
    grad_weight = (wide * normal).sum(axis=(0, 3)).reshape(-1).astype(dtype)
    grad_bias = wide.sum(axis=(0, 3)).reshape(-1).astype(dtype)
    scaled = wide if weight is None else wide * _column(weight, groups)
    inner = scaled - scaled.mean(axis=(2, 3), keepdims=True)
    inner = inner - normal * (scaled * normal).mean(axis=(2, 3), keepdims=True)
    first = (inner * rstd).reshape(input.shape).astype(input.dtype)
    pairs = zip((first, grad_weight, grad_bias), needs, strict=True)
    return tuple([part if need else None for part, need in pairs])


# ---- public --------------------------------------------------------------------------------------

_forward, _backward = Remembered(), Remembered()


def _check(input, groups, weight, bias):
    if input.ndim < 2 or groups < 1 or input.shape[1] % groups or not input.size:
        raise ValueError(
            f"group_norm: {groups} groups do not divide the channels of an input (N, C, ...) that "
            f"is not empty: got shape {input.shape}"
        )
    for name, row in (("weight", weight), ("bias", bias)):
        if row is not None and row.shape != input.shape[1:2]:
            raise ValueError(
                f"group_norm: {name} must have one value for each of {input.shape[1]} channels, "
                f"got shape {row.shape}"
            )


def _sizes(shape, groups, given):
    n, channels = shape[:2]
    size, per = 1, channels // groups
    for length in shape[2:]:
        size *= length
    return n * groups, per * size, [given, groups, per, per * size, size]


def _prepare_forward(x, groups, weight, bias, rows):
    given = (weight is not None) + 2 * (bias is not None)
    items, run, words = _sizes(x.shape, groups, given)
    wide = compute_dtype(x.dtype)
    outputs = [(x.shape, x.dtype), ((items,), wide), ((items,), wide)]
    arrays = [x, x if weight is None else weight, x if bias is None else bias]
    code = group_rows.address(**types(x.dtype, rows))
    return prepared(code, items, chunk(items, 3 * run), arrays, outputs, words, "f")


def known(input, groups, weight, bias, eps):
    """What :func:`group_norm_forward` gives where it has seen these layouts before; else None."""
    rows = dtype_of_rows(input, weight, bias)
    call = _forward.get((input.shape, input.dtype, rows, groups, weight is None, bias is None))
    if call is None or not input.flags.c_contiguous:
        return None
    if not rows_fit(input.shape[1:2], rows, (weight, bias)):
        return None
    found = call(input, input if weight is None else weight, input if bias is None else bias, eps)
    return None if found is NotImplemented else found


@referenced_by(_forward_reference)
def group_norm_forward(input, groups, weight, bias, eps):
    """Normalise groups of channels of (N, C, *S); returns (out, mean, rstd), the latter (N * G)."""
    found = known(input, groups, weight, bias, eps) if type(eps) is float else None
    if found is not None:
        return found
    _check(input, groups, weight, bias)
    x = dense(input)
    rows, weight, bias = rows_together(x.dtype, weight, bias)
    call = _prepare_forward(x, groups, weight, bias, rows)
    if x.dtype is input.dtype:
        _forward.keep((x.shape, x.dtype, rows, groups, weight is None, bias is None), call)
    arrays = (x, x if weight is None else weight, x if bias is None else bias)
    out, mean, rstd = called(call, arrays, float(eps))
    return cast(out, input.dtype), mean, rstd


def _prepare_backward(x, groups, arrays, given, rows, asked):
    items, run, words = _sizes(x.shape, groups, int(given))
    n, channels = x.shape[:2]
    outputs = [] if asked == ROWS else [(x.shape, x.dtype)]
    if asked != INPUT:
        outputs.append(((2, n, channels), FLOAT64))
    code = group_rows_backward.address(**types(x.dtype, rows), wanted=asked)
    return prepared(code, items, chunk(items, 3 * run), arrays, outputs, [*words, n])


@referenced_by(_backward_reference)
def group_norm_backward(grad, input, groups, weight, mean, rstd, needs=(True, True, True)):
    """(grad_input, grad_weight, grad_bias) of :func:`group_norm_forward`, None where `needs` says
    so; the latter two in the weight's dtype or, where there is none, the input's."""
    kind = input.dtype if weight is None else weight.dtype
    x, dy = dense(input), dense(cast(grad, input.dtype))
    wide, asked = compute_dtype(x.dtype), which(needs)
    rows, weight = rows_together(x.dtype, weight)
    arrays = [dy, x, x if weight is None else weight, row_in(mean, wide), row_in(rstd, wide)]
    key = x.shape, x.dtype, rows, groups, weight is None, asked
    call = _backward.get(key)
    if call is None:
        call = _prepare_backward(x, groups, arrays, weight is not None, rows, asked)
        _backward.keep(key, call)
    found = called(call, arrays)
    if asked == INPUT:
        return cast(found, input.dtype), None, None
    first, partial = (None, found) if asked == ROWS else found
    first = None if first is None else cast(first, input.dtype)
    pairs = zip(cast(partial.sum(axis=1), kind), needs[1:], strict=True)
    return first, *[row if need else None for row, need in pairs]
