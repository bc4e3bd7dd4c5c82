"""Batch normalization by one call each: of small arrays in training, with given statistics, and the
running averages.

The kernels of training are those of :mod:`rushlight.kernels.normalization.batch_and_layer`, one
after the other.
"""

from __future__ import annotations

import math

from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    FLOAT32,
    REFERENCE,
    chunk,
    compute_dtype,
    is_floating,
)
from rushlight.kernels.launch.prepared import Remembered, prepared
from rushlight.kernels.normalization import batch_and_layer as whole
from rushlight.kernels.normalization import batch_compiled as batches
from rushlight.kernels.normalization.batch_compiled import COLUMNS, SMALL_PLANE
from rushlight.kernels.normalization.types import dtype_of_rows, rows_fit, scales, stored, types
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    array,
    call_address,
    f64,
    function,
    i64,
    independent,
    range_kernel,
    real,
    square_root,
    stack,
)
from rushlight.machine.worker_pool import scratch

__all__ = ["batch_eval", "batch_train", "fold"]

MOST = 1 << 15  # elements that one thread normalizes
# Words of a prepared call in training: a number, three results, the input, WEIGHT and BIAS (or the
# input again), eps; then which of the two there are, N, C, S, PARTS, and the kernels' addresses.
_OUT, _MEAN, _INVSTD, _X, _WEIGHT, _BIAS, _EPS, _GIVEN, _N = range(1, 10)
_CODES = _N + 4


_LEAST, _MOST = whole.UNBOUND


@range_kernel
def batch_in_turn(args, lo, hi, tid):
    """The one item: statistics, combined, applied."""
    g, words = array(i64, args), stack(16)
    p = array(i64, words)
    p[batches.X], p[batches.Y], p[batches.MEAN], p[batches.INVSTD] = (
        g[_X],
        g[_OUT],
        g[_MEAN],
        g[_INVSTD],
    )
    p[batches.WEIGHT] = g[_WEIGHT] if g[_GIVEN] % 2 == 1 else i64(0)
    p[batches.BIAS] = g[_BIAS] if g[_GIVEN] >= 2 else i64(0)
    p[batches.EPS], p[batches.GRAD] = g[_EPS], i64(0)
    p[batches.LEAST], p[batches.MOST] = i64(_LEAST), i64(_MOST)
    for i in range(4):
        p[batches.N + i] = g[_N + i]
    if g[_CODES + 1] == 0:  # channels as a whole, so many items
        call_address(g[_CODES], words, i64(0), g[_CODES + 2], tid)
        return
    channels, parts = g[_N + 1], g[_N + 3]
    p[batches.PARTIAL] = scratch(tid, 24 * channels * parts)
    call_address(g[_CODES], words, i64(0), channels * parts, tid)
    call_address(g[_CODES + 1], words, i64(0), channels, tid)
    call_address(g[_CODES + 2], words, i64(0), g[_N] * channels, tid)


@function
def eval_channel(g, eps, channel):
    """(scale, shift) of a channel."""
    scale = real(1) / square_root(array(scales, g[4])[channel] + real(eps))
    shift = real(0)
    if g[8] % 2 == 1:
        scale = scale * array(scales, g[5])[channel]
    if g[8] >= 2:
        shift = array(scales, g[6])[channel]
    return scale, shift - array(scales, g[3])[channel] * scale


@range_kernel
def eval_planes(args, lo, hi, tid):
    """Items are planes. Words: a number, the result, the input, mean, variance, WEIGHT, BIAS, eps;
    then which of the two there are, channels, elements of a plane."""
    g = array(i64, args)
    size, eps, channels, s = stored.bits // 8, array(f64, args)[7], g[9], g[10]
    for item in range(lo, hi):
        scale, shift = eval_channel(g, eps, item % channels)
        x, y = array(stored, g[2] + size * item * s), array(stored, g[1] + size * item * s)
        for i in independent(s):
            y[i] = shift + x[i] * scale


@range_kernel
def eval_columns(args, lo, hi, tid):
    """Items are images with small planes; words as in :func:`eval_planes`."""
    g = array(i64, args)
    size, eps, channels, s = stored.bits // 8, array(f64, args)[7], g[9], g[10]
    slopes, levels = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    most = COLUMNS // s
    for first in range(0, channels, most):
        count = min(most, channels - first)
        for k in range(count):
            scale, shift = eval_channel(g, eps, first + k)
            for j in range(k * s, k * s + s):
                slopes[j], levels[j] = scale, shift
        for image in range(lo, hi):
            offset = size * s * (image * channels + first)
            x, y = array(stored, g[2] + offset), array(stored, g[1] + offset)
            for i in independent(count * s):
                y[i] = levels[i] + x[i] * slopes[i]


@range_kernel
def fold_channels(args, lo, hi, tid):
    """The one item. Words: running mean, running variance, mean, invstd, their number, momentum,
    eps, what turns the biased variance into the unbiased one."""
    g, numbers = array(i64, args), array(f64, args)
    momentum, eps, factor = numbers[5], numbers[6], numbers[7]
    running_mean, running_var = array(scales, g[0]), array(scales, g[1])
    mean, invstd = array(real, g[2]), array(real, g[3])
    for i in range(g[4]):
        running_mean[i] = running_mean[i] * real(1.0 - momentum) + real(momentum) * mean[i]
        inverse = f64(invstd[i])
        variance = (1.0 / (inverse * inverse) - eps) * factor
        running_var[i] = real(f64(running_var[i]) * (1.0 - momentum) + momentum * variance)


_trained, _evaluated, _folds = (Remembered() for _ in range(3))


def _fits(input, most):
    if REFERENCE or not 0 < input.size <= most or input.ndim < 2:
        return False
    return is_floating(input.dtype) and input.flags.c_contiguous


def batch_train(input, weight, bias, eps):
    """(out, mean, invstd) of a small dense array; None where the general path is to take it."""
    rows = dtype_of_rows(input, weight, bias)
    key = input.shape, input.strides, input.dtype, rows, weight is None, bias is None
    found = _trained.get(key, _trained)
    if found is _trained:
        found = _trained.keep(key, _prepare_train(input, weight, bias, rows))
    if found is None or not rows_fit(input.shape[1:2], rows, (weight, bias)):
        return None
    result = found(input, input if weight is None else weight, input if bias is None else bias, eps)
    return None if result is NotImplemented else result


def _prepare_train(input, weight, bias, rows):
    dtype, wide = input.dtype, compute_dtype(input.dtype)
    if not _fits(input, MOST) or rows not in (dtype, wide):
        return None
    shape, kinds = input.shape, types(dtype, rows)
    words, parts = whole.batch_words(shape)
    given = (weight is not None) + 2 * (bias is not None)
    if parts == 1:
        kernel, items = whole.whole_channels(batches.batch_channels, batches.batch_columns, words)
        codes = [kernel.address(**kinds), 0, items]
    else:
        kernels = batches.batch_statistics, batches.combine_statistics
        codes = [k.address(**types(dtype, wide)) for k in kernels]
        codes.append(batches.batch_apply.address(**kinds))
    constants = [given, *words[batches.N : batches.N + 4], *codes]
    outputs = [(shape, dtype), (shape[1:2], wide), (shape[1:2], wide)]
    arrays = [input, input if weight is None else weight, input if bias is None else bias]
    code, constants = batch_in_turn.address(), [int(c) for c in constants]
    return prepared(code, 1, 1, arrays, outputs, constants, "f", scratch=True)


def batch_eval(input, weight, bias, mean, var, eps):
    """A dense array by given statistics; None where the general path is to take it."""
    key = input.shape, input.strides, input.dtype, mean.dtype, weight is None, bias is None
    found = _evaluated.get(key, _evaluated)
    if found is _evaluated:
        found = _evaluated.keep(key, _prepare_eval(input, weight, bias, mean, var))
    rows = (weight, bias, mean, var)
    if found is None or not rows_fit(input.shape[1:2], mean.dtype, rows):
        return None
    weight, bias = (input if row is None else row for row in (weight, bias))
    result = found(input, mean, var, weight, bias, eps)
    return None if result is NotImplemented else result


def _prepare_eval(input, weight, bias, mean, var):
    dtype = input.dtype
    if not _fits(input, math.inf) or mean.dtype not in (dtype, compute_dtype(dtype)):
        return None
    given = (weight is not None) + 2 * (bias is not None)
    n, channels = input.shape[:2]
    s = input.size // (n * channels)
    kernel, items = (eval_columns, n) if s <= SMALL_PLANE else (eval_planes, n * channels)
    code = kernel.address(**types(dtype, mean.dtype))
    arrays = [input, mean, var, *(input if row is None else row for row in (weight, bias))]
    outputs = [(input.shape, dtype)]
    grain = items if input.size <= MOST else chunk(items, input.size // items)
    return prepared(code, items, grain, arrays, outputs, [given, channels, s], "f")


def fold(running_mean, running_var, mean, invstd, momentum, eps, count):
    """Take the statistics of `count` values into the running ones, in place; False where these are
    no dense rows of a floating dtype each."""
    dtype, kind = mean.dtype, running_mean.dtype
    if REFERENCE or dtype not in COMPILED_DTYPES or type(momentum) is not float:
        return False
    if kind is not dtype and not (dtype == FLOAT32 and is_floating(kind) and kind.itemsize == 2):
        return False
    rows = running_mean, running_var, mean, invstd
    if not rows_fit(mean.shape, kind, rows[:2]) or not rows_fit(mean.shape, dtype, rows[2:]):
        return False
    for row in rows:
        if type(row) is not np.ndarray or not (row.flags.c_contiguous and row.flags.writeable):
            return False
    plan = _folds.get((dtype, kind))
    if plan is None:
        code = fold_channels.address(**types(dtype, kind))
        plan = _folds.keep((dtype, kind), threads.plan(code, 1, 1, [0] * 8))
    threads.run(plan, *rows, len(mean), momentum, float(eps), count / (count - 1))
    return True
