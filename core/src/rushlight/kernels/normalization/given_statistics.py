"""Batch normalization by given statistics and its gradients, each by one compiled call.

The gradients need one pass over memory: grad times the channel's scale, and beside it the sums of
grad and of grad * (x - mean). Where channels are few, images are divided, and the parts' sums,
float64, are added in order, so results do not depend on threads.
"""

from __future__ import annotations

from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import FLOAT64, chunk, referenced_by
from rushlight.kernels.launch.prepared import Remembered, called, prepared
from rushlight.kernels.normalization.batch_and_layer import batch_norm_eval
from rushlight.kernels.normalization.batch_compiled import COLUMNS, SMALL_PLANE, fold, spread
from rushlight.kernels.normalization.types import (
    ALL,
    INPUT,
    ROWS,
    dense,
    rows_together,
    scales,
    stored,
    types,
    wanted,
    which,
)
from rushlight.machine import np
from rushlight.machine.language.functions import (
    Parameter,
    array,
    f64,
    function,
    i64,
    independent,
    range_kernel,
    real,
    square_root,
    stack,
)

__all__ = ["given_backward", "given_forward"]

sums = Parameter("sums")  # what gradients of weight and bias are written as
# Words: a number; the gradients that are wanted; GRAD, X, MEAN, VAR, WEIGHT (or X again), eps;
# whether there is a weight, N, C, S, and the channels of an item (columns) or parts of the images.
_GIVEN, _N, _C, _S, _DIVIDED = range(6, 11)  # behind the gradients


@function
def statistics(g, at, eps, channel):
    """(mean, inverse deviation, scale) of a channel."""
    inverse = real(1) / square_root(array(scales, g[at + 3])[channel] + real(eps))
    scale = inverse
    if g[at + _GIVEN] != 0:
        scale = inverse * array(scales, g[at + 4])[channel]
    return array(scales, g[at + 2])[channel], inverse, scale


@function
def write_sums(g, item, total, product, inverse):
    """The gradients of weight and bias, or an item's part of them."""
    if sums is f64:
        array(f64, g[wanted - 1])[item] = product * f64(inverse)
        array(f64, g[wanted])[item] = total
    else:
        array(sums, g[wanted - 1])[item] = real(product * f64(inverse))
        array(sums, g[wanted])[item] = real(total)


@function(reassociate=True)
def plane_gradients(grad, x, y, n, mean, scale):
    """Sums of grad and of grad * (x - mean); on the way y = grad * scale."""
    total, product = f64(0), f64(0)
    for start in range(0, n, 4096):
        a, b = real(0), real(0)
        for i in independent(start, min(n, start + 4096)):
            if wanted == ALL:
                y[i] = grad[i] * scale
            a += grad[i]
            b += grad[i] * (x[i] - mean)
        total += f64(a)
        product += f64(b)
    return total, product


@range_kernel
def planes_backward(args, lo, hi, tid):
    """Items: part of the images * C + channel."""
    g, at, size = array(i64, args), 1 + wanted, stored.bits // 8
    n, c, s, parts = g[at + _N], g[at + _C], g[at + _S], g[at + _DIVIDED]
    eps = array(f64, args)[at + 5]
    for item in range(lo, hi):
        channel, part = item % c, item // c
        mean, inverse, scale = statistics(g, at, eps, channel)
        total, product = f64(0), f64(0)
        for image in range(n * part // parts, n * (part + 1) // parts):
            offset = size * (image * c + channel) * s
            grad, x = array(stored, g[at] + offset), array(stored, g[at + 1] + offset)
            y = array(stored, g[1] + offset)
            if wanted == INPUT:
                for i in independent(s):
                    y[i] = grad[i] * scale
            else:
                a, b = plane_gradients(grad, x, y, s, mean, scale)
                total += a
                product += b
        if wanted != INPUT:
            write_sums(g, item, total, product, inverse)


@function(reassociate=True)
def column_gradients(grads, xs, ys, pitch, n, rows, period, mean, scale, total, product):
    """The same of images whose elements are columns, ``rows`` at once."""
    width, step = rows * period, rows * pitch
    for i in independent(width):
        total[i], product[i] = f64(0), f64(0)
    whole = n // (2 * rows) * 2 * rows
    for row in range(0, whole, 2 * rows):
        at = pitch * row
        u, v = array(stored, grads + at), array(stored, grads + at + step)
        a, b = array(stored, xs + at), array(stored, xs + at + step)
        y, z = array(stored, ys + at), array(stored, ys + at + step)
        for i in independent(width):
            if wanted != ROWS:
                y[i], z[i] = u[i] * scale[i], v[i] * scale[i]
            if wanted != INPUT:
                total[i] += f64(u[i] + v[i])
                product[i] += f64(u[i] * (a[i] - mean[i]) + v[i] * (b[i] - mean[i]))
    for row in range(whole, n, rows):
        at, some = pitch * row, min(rows, n - row) * period
        u, a, y = array(stored, grads + at), array(stored, xs + at), array(stored, ys + at)
        for i in independent(some):
            if wanted != ROWS:
                y[i] = u[i] * scale[i]
            if wanted != INPUT:
                total[i] += f64(u[i])
                product[i] += f64(u[i] * (a[i] - mean[i]))


@range_kernel
def columns_backward(args, lo, hi, tid):
    """Items: blocks of channels whose planes are small."""
    g, at, size = array(i64, args), 1 + wanted, stored.bits // 8
    n, c, s, most = g[at + _N], g[at + _C], g[at + _S], g[at + _DIVIDED]
    eps = array(f64, args)[at + 5]
    total, product = array(f64, stack(COLUMNS)), array(f64, stack(COLUMNS))
    sum, both = array(f64, stack(COLUMNS)), array(f64, stack(COLUMNS))
    mean, scale = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    own, inverse = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    slope = array(real, stack(COLUMNS))
    rows = max(i64(1), COLUMNS // (c * s)) if most >= c else i64(1)
    for block in range(lo, hi):
        first = block * most
        channels = min(c - first, most)
        period, place = channels * s, size * first * s
        for k in independent(channels):
            own[k], inverse[k], slope[k] = statistics(g, at, eps, first + k)
        spread(own, mean, channels, s, period, rows)
        spread(slope, scale, channels, s, period, rows)
        column_gradients(g[at] + place, g[at + 1] + place, g[1] + place, size * c * s, n, rows,
                         period, mean, scale, total, product)  # fmt: skip
        if wanted != INPUT:
            fold(total, sum, channels, s, period, rows)
            fold(product, both, channels, s, period, rows)
            for k in range(channels):
                write_sums(g, first + k, sum[k], both[k], inverse[k])


# ---- public --------------------------------------------------------------------------------------


def _rows_of_channels(array):
    """Memory with the channels last as rows (N * S, C); None where it is laid out otherwise."""
    if array.flags.c_contiguous or array.ndim not in (4, 5):
        return None
    moved = np.moveaxis(array, 1, -1)
    return moved.reshape(-1, moved.shape[-1]) if moved.flags.c_contiguous else None


def _in_shape(rows, shape):
    """Such rows as (N, C, *S)."""
    return np.moveaxis(rows.reshape(shape[0], *shape[2:], shape[1]), -1, 1)


def given_forward(input, weight, bias, mean, var, eps):
    """Normalise input (N, C, *S) by given statistics per channel; channels-last memory stays so."""
    from rushlight.kernels.normalization.small import batch_eval

    rows = _rows_of_channels(input)
    x = dense(input) if rows is None else rows
    found = batch_eval(x, weight, bias, mean, var, float(eps))
    if found is None:
        found = batch_norm_eval(x, weight, bias, mean, var, eps)
    found = cast(found, input.dtype)
    return found if rows is None else _in_shape(found, input.shape)


def _backward_reference(grad, input, weight, mean, var, eps, needs):
    shape, axes = (1, -1, *[1] * (input.ndim - 2)), (0, *range(2, input.ndim))
    inverse = 1 / np.sqrt(var.astype(np.float64) + eps)
    normal = (input.astype(np.float64) - mean.reshape(shape)) * inverse.reshape(shape)
    scale = inverse if weight is None else inverse * weight
    g, kind = grad.astype(np.float64), mean.dtype if weight is None else weight.dtype
    return (
        cast(g * scale.reshape(shape), input.dtype) if needs[0] else None,
        cast((g * normal).sum(axis=axes), kind) if needs[1] else None,
        cast(g.sum(axis=axes), kind) if needs[2] else None,
    )


_backward = Remembered()


def _prepare(x, rows, arrays, given, asked):
    """(function, parts): what it gives of weight and bias is to be added up over the parts."""
    n, c = x.shape[:2]
    s, parts = x.size // (n * c), 1
    if s <= SMALL_PLANE:
        block = COLUMNS // s
        if x.size > 1 << 15:
            block = max(-(-32 // s), min(block, -(-c // 8)))
        kernel, items, divided = columns_backward, -(-c // block), block
    else:
        parts = n if asked == INPUT else max(1, min(n, 16 // c))
        kernel, items, divided = planes_backward, parts * c, parts
    apart = parts > 1
    outputs = [(x.shape, x.dtype)] if asked != ROWS else []
    if asked != INPUT:
        outputs += [((parts * c,), FLOAT64 if apart else rows)] * 2
    parameters = types(x.dtype, rows)
    kind = f64 if apart else parameters["scales"]
    code = kernel.address(**parameters, wanted=asked, sums=kind)
    grain = items if x.size <= 1 << 15 else chunk(items, x.size // items)
    words = [int(given), n, c, s, divided]
    return prepared(code, items, grain, arrays, outputs, words, "f"), parts


@referenced_by(_backward_reference)
def given_backward(grad, input, weight, mean, var, eps, needs):
    """The gradients of input, weight and bias of :func:`given_forward`, None where `needs` says so;
    the latter two are in the dtype of weight or, where there is none, of the statistics."""
    kind = mean.dtype if weight is None else weight.dtype
    turned, dy = _rows_of_channels(input), cast(grad, input.dtype)
    if turned is None:
        x, dy = dense(input), dense(dy)
    else:
        x, dy = dense(turned), dense(np.moveaxis(dy, 1, -1)).reshape(turned.shape)
    rows, weight, mean, var = rows_together(x.dtype, weight, mean, var)
    asked = which(needs)
    arrays = [dy, x, mean, var, x if weight is None else weight]
    key = x.shape, x.dtype, rows, weight is None, asked
    known = _backward.get(key)
    if known is None:
        known = _backward.keep(key, _prepare(x, rows, arrays, weight is not None, asked))
    call, parts = known
    found = called(call, arrays, float(eps))
    result = [found] if asked == INPUT else list(found)
    first = result.pop(0) if needs[0] else None
    if first is not None:
        first = cast(first, input.dtype)
        first = first if turned is None else _in_shape(first, input.shape)
    if parts > 1:
        result = [part.reshape(parts, -1).sum(axis=0) for part in result]
    pairs = zip(result or (None, None), needs[1:], strict=True)
    return first, *[cast(row, kind) if need else None for row, need in pairs]
