"""Cross-entropy of class numbers where the classes of a sample are a plane apart, (N, C, L).

Samples are columns; those of a block are worked on together, class after class, so everything is
read as it is. :mod:`rushlight.kernels.losses.cross_entropy` has the formulas and says when this
is used.
"""

from __future__ import annotations

import ctypes
import math

from rushlight.kernels.indexing.indices import failures
from rushlight.kernels.launch.execution import chunk, language_type
from rushlight.kernels.launch.exponential import exponential_below, logarithm_above
from rushlight.kernels.launch.prepared import prepared
from rushlight.machine import np
from rushlight.machine.language.functions import (
    array,
    atomic_add,
    f32,
    f64,
    function,
    i64,
    independent,
    maximum,
    range_kernel,
    real,
    stack,
)

__all__ = ["prepare_mean", "prepare_mean_backward"]

COLUMNS = 256  # samples that go together

# Argument words of the general kernels.
X, TARGET, WEIGHT, LOSS, SUMS, FAILED, SMOOTHING, IGNORED, GRAD, OUT, C, INNER, BLOCKS = range(13)


@function(reassociate=True)
def log_sums(start, step, classes, count, sums, best):
    """Logarithms of the sums of exponentials of columns."""
    x = array(real, start)
    for j in independent(count):
        best[j] = x[j]
        sums[j] = 0
    for c in range(1, classes):
        x = array(real, start + c * step)
        for j in independent(count):
            best[j] = maximum(best[j], x[j])
    for c in range(classes):
        x = array(real, start + c * step)
        for j in independent(count):
            sums[j] += exponential_below(x[j] - best[j])
    for j in independent(count):
        sums[j] = best[j] + logarithm_above(sums[j])


@function
def picked(start, inner, target, sums, losses, classes, ignored, count):
    """Minus the log-probabilities of targets, 0 where there is none; how many count, and how many
    are out of range."""
    x, kept, failed = array(real, start), i64(0), i64(0)
    for j in independent(count):
        t = target[j]
        fits = t >= 0 and t < classes
        safe = t if fits else i64(0)
        value = sums[j] - x[safe * inner + j]
        losses[j] = value if fits and t != ignored else real(0)
    for j in range(count):
        t = target[j]
        fits = t >= 0 and t < classes
        kept += i64(1) if fits and t != ignored else i64(0)
        failed += i64(0) if fits or t == ignored else i64(1)
    return kept, failed


@range_kernel(reassociate=True, wide=True)
def mean_of_planes(args, lo, hi, tid):
    """The one item: the mean of all losses, without weights or smoothing, and what a backward pass
    needs. Words: a number, mean, SUMS, targets that count, X, TARGET; then images, classes, samples
    of an image, the ignored target, where targets out of range are counted."""
    g = array(i64, args)
    images, classes, inner, size = g[6], g[7], g[8], 4 if real is f32 else 8
    best, losses = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    whole, kept, failed = f64(0), i64(0), i64(0)
    for image in range(images):
        for first in range(0, inner, COLUMNS):
            count, at = min(COLUMNS, inner - first), image * inner + first
            start = g[4] + size * (image * classes * inner + first)
            sums, target = array(real, g[2] + size * at), array(i64, g[5] + 8 * at)
            log_sums(start, size * inner, classes, count, sums, best)
            more, wrong = picked(start, inner, target, sums, losses, classes, g[9], count)
            kept += more
            failed += wrong
            for j in range(count):
                whole += f64(losses[j])
    array(real, g[1])[0] = real(whole / f64(kept))
    array(f64, g[3])[0] = f64(kept)
    if failed > 0:
        atomic_add(g[10], failed)


@range_kernel(wide=True)
def mean_of_planes_backward(args, lo, hi, tid):
    """Items are blocks of columns: the gradient of :func:`mean_of_planes`. Words: a number, OUT,
    the gradient of the mean, X, TARGET, SUMS, targets that count; then classes, samples of an
    image, the ignored target, blocks of an image."""
    g = array(i64, args)
    classes, inner, ignored, size = g[7], g[8], g[9], 4 if real is f32 else 8
    scale = real(f64(array(real, g[2])[0]) / array(f64, g[6])[0])
    for item in range(lo, hi):
        image, first = item // g[10], item % g[10] * COLUMNS
        count, at = min(COLUMNS, inner - first), image * inner + first
        shift = size * (image * classes * inner + first)
        sums, target = array(real, g[5] + size * at), array(i64, g[4] + 8 * at)
        for c in range(classes):
            x = array(real, g[3] + shift + size * c * inner)
            out = array(real, g[1] + shift + size * c * inner)
            for j in independent(count):
                t = target[j]
                value = scale * exponential_below(x[j] - sums[j])
                out[j] = value if t != ignored and t >= 0 and t < classes else real(0)
        out = array(real, g[1] + shift)
        for j in range(count):
            t = target[j]
            if t != ignored and t >= 0 and t < classes:
                out[t * inner + j] -= scale


@range_kernel(reassociate=True, wide=True)
def forward_planes(args, lo, hi, tid):
    """Items are blocks of columns."""
    g = array(i64, args)
    classes, inner, ignored, size = g[C], g[INNER], g[IGNORED], 4 if real is f32 else 8
    weight, weighted = array(real, g[WEIGHT]), g[WEIGHT] != 0
    smoothing, spread = real(array(f64, args)[SMOOTHING]), array(real, stack(COLUMNS))
    for item in range(lo, hi):
        image, first = item // g[BLOCKS], item % g[BLOCKS] * COLUMNS
        count, at = min(COLUMNS, inner - first), image * inner + first
        start = g[X] + size * (image * classes * inner + first)
        sums, target = array(real, g[SUMS] + size * at), array(i64, g[TARGET] + 8 * at)
        losses = array(real, g[LOSS] + size * at)
        log_sums(start, size * inner, classes, count, sums, spread)
        kept, failed = picked(start, inner, target, sums, losses, classes, ignored, count)
        if kept < count:
            atomic_add(g[FAILED] + 16, count - kept - failed)
        if failed > 0:
            for j in range(count):
                t = target[j]
                if t != ignored and (t < 0 or t >= classes):
                    array(i64, g[FAILED])[0] = 1
                    array(i64, g[FAILED])[1] = t
            continue
        if weighted:
            for j in independent(count):
                t = target[j]
                losses[j] = losses[j] * weight[t if t != ignored else i64(0)]
        if smoothing > 0:
            for j in independent(count):
                spread[j] = 0
            for c in range(classes):
                x, factor = array(real, start + size * c * inner), real(1)
                if weighted:
                    factor = weight[c]
                for j in independent(count):
                    spread[j] += factor * (sums[j] - x[j])
            for j in independent(count):
                mixed = (1 - smoothing) * losses[j] + smoothing / real(classes) * spread[j]
                losses[j] = mixed if target[j] != ignored else real(0)


@range_kernel(wide=True)
def backward_planes(args, lo, hi, tid):
    """Items are blocks of columns."""
    g = array(i64, args)
    classes, inner, ignored, size = g[C], g[INNER], g[IGNORED], 4 if real is f32 else 8
    weight, weighted = array(real, g[WEIGHT]), g[WEIGHT] != 0
    smoothing = real(array(f64, args)[SMOOTHING])
    share, whole = smoothing / real(classes), real(classes)
    if weighted:
        whole = real(0)
        for c in range(classes):
            whole += weight[c]
    direct, factor = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    for item in range(lo, hi):
        image, first = item // g[BLOCKS], item % g[BLOCKS] * COLUMNS
        count, at = min(COLUMNS, inner - first), image * inner + first
        shift = size * (image * classes * inner + first)
        sums, target = array(real, g[SUMS] + size * at), array(i64, g[TARGET] + 8 * at)
        grad = array(real, g[GRAD] + size * at)
        for j in range(count):
            t = target[j]
            own = grad[j] * (1 - smoothing)
            if weighted:
                own = own * weight[t if t >= 0 and t < classes else i64(0)]
            direct[j] = own
            factor[j] = own + grad[j] * share * whole
        for c in range(classes):
            x = array(real, g[X] + shift + size * c * inner)
            out = array(real, g[OUT] + shift + size * c * inner)
            part = share
            if weighted:
                part = share * weight[c]
            for j in independent(count):
                t = target[j]
                value = factor[j] * exponential_below(x[j] - sums[j]) - grad[j] * part
                out[j] = value if t != ignored and t >= 0 and t < classes else real(0)
        out = array(real, g[OUT] + shift)
        for j in range(count):
            t = target[j]
            if t != ignored and t >= 0 and t < classes:
                out[t * inner + j] -= direct[j]


# ---- calls ---------------------------------------------------------------------------------------


def prepare_mean(input, target, ignore_index):
    """``f(input, target)``, :func:`mean_of_planes` of small dense arrays."""
    code, dtype = mean_of_planes.address(real=language_type(input.dtype)), input.dtype
    words = [*input.shape[:2], math.prod(input.shape[2:]), ignore_index,
             ctypes.addressof(failures)]  # fmt: skip
    outputs = [((), dtype), (target.shape, dtype), ((), np.dtype(np.float64))]
    return prepared(code, 1, 1, [input, target], outputs, words)


def prepare_mean_backward(input, target, ignore_index):
    """``f(grad, input, target, sums, kept)``: its gradient."""
    code, dtype = mean_of_planes_backward.address(real=language_type(input.dtype)), input.dtype
    (images, classes), inner = input.shape[:2], math.prod(input.shape[2:])
    blocks = -(-inner // COLUMNS)
    arrays = [np.empty((), dtype), input, target, np.empty(target.shape, dtype),
              np.empty((), np.float64)]  # fmt: skip
    grain = chunk(images * blocks, classes * min(inner, COLUMNS), 8192)
    words = [classes, inner, ignore_index, blocks]
    return prepared(code, images * blocks, grain, arrays, [(input.shape, dtype)], words)
