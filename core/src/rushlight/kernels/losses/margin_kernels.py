"""Compiled loops behind :mod:`rushlight.kernels.losses.margins`.

Items are samples: rows of dense scores (N, C). A class counts where ``margin - x[y] + x[j]`` is
above zero, so that NaN counts as nothing. The labels themselves are left out by splitting the loop
there, or by a copy of the scores in which they are minus infinity: no difference is formed.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    atomic_add,
    f32,
    f64,
    function,
    i64,
    independent,
    infinity,
    range_kernel,
    real,
)

__all__ = [
    "label_rows",
    "label_rows_backward",
    "margin_rows",
    "margin_rows_backward",
]

squared = Parameter("squared")  # 1: the parts that count are squared
one = Parameter("one")  # 1: one gradient for all samples, which is one of their mean or sum

# Argument words.
OUT, X, TARGET, GRAD, WEIGHT, MARKED, CLASSES, FAILED, SHARE, MARGIN = range(10)


@function(reassociate=True)
def parts_above(x, n, base):
    """The sum of what is above zero of ``base + x[j]``."""
    total = real(0)
    for j in range(n):
        part = base + x[j]
        counted = part if part > 0 else real(0)
        total += counted * counted if squared == 1 else counted
    return total


@range_kernel
def margin_rows(args, lo, hi, tid):
    """Losses of one label a sample."""
    g, size = array(i64, args), 4 if real is f32 else 8
    classes, margin = g[CLASSES], real(array(f64, args)[MARGIN])
    target, weight, out = array(i64, g[TARGET]), array(real, g[WEIGHT]), array(real, g[OUT])
    for row in range(lo, hi):
        t, start = target[row], g[X] + size * row * classes
        if t < 0 or t >= classes:
            atomic_add(g[FAILED], 1)
            continue
        base = margin - array(real, start)[t]
        total = parts_above(array(real, start), t, base)
        after = start + size * (t + 1)
        total += parts_above(array(real, after), classes - t - 1, base)
        if g[WEIGHT] != 0:
            total = total * weight[t]
        out[row] = total / real(classes)


@function
def slopes(x, out, n, base, scale):
    """Write the slopes of :func:`parts_above` times a scale; gives their sum."""
    for j in independent(n):
        part = base + x[j]
        slope = scale * part * 2 if squared == 1 else scale
        out[j] = slope if part > 0 else real(0)


@function(reassociate=True)
def total_of(x, n):
    """The sum of a run."""
    total = real(0)
    for j in range(n):
        total += x[j]
    return total


@range_kernel
def margin_rows_backward(args, lo, hi, tid):
    """The gradient of :func:`margin_rows`."""
    g, size = array(i64, args), 4 if real is f32 else 8
    classes, margin = g[CLASSES], real(array(f64, args)[MARGIN])
    share, grad = real(array(f64, args)[SHARE]), array(real, g[GRAD])
    target, weight = array(i64, g[TARGET]), array(real, g[WEIGHT])
    for row in range(lo, hi):
        t, at = target[row], size * row * classes
        x, out = array(real, g[X] + at), array(real, g[OUT] + at)
        if t < 0 or t >= classes:
            atomic_add(g[FAILED], 1)
            continue
        scale = share * (grad[0] if one == 1 else grad[row])
        if g[WEIGHT] != 0:
            scale = scale * weight[t]
        slopes(x, out, classes, margin - x[t], scale)
        out[t] = 0
        out[t] = -total_of(out, classes)


@function
def mark_labels(x, labels, marked, classes):
    """A copy of scores in which labels are minus infinity; gives the number of labels, or -1 where
    one is out of range."""
    for j in independent(classes):
        marked[j] = x[j]
    count, found = i64(0), i64(1)
    while found == 1 and count < classes:
        label = labels[count]
        if label < 0 or label >= classes:
            found = 0
        else:
            marked[label] = -infinity(real)
            count += 1
    for j in range(classes):  # those behind the first -1 count for the check alone
        if labels[j] < -1 or labels[j] >= classes:
            count = -1
    return count


@range_kernel
def label_rows(args, lo, hi, tid):
    """Losses of several labels a sample."""
    g, size = array(i64, args), 4 if real is f32 else 8
    classes, out = g[CLASSES], array(real, g[OUT])
    for row in range(lo, hi):
        at = size * row * classes
        x, marked = array(real, g[X] + at), array(real, g[MARKED] + at)
        labels = array(i64, g[TARGET] + 8 * row * classes)
        count, total = mark_labels(x, labels, marked, classes), real(0)
        if count < 0:
            atomic_add(g[FAILED], 1)
        for i in range(count):
            total += parts_above(marked, classes, 1 - x[labels[i]])
        out[row] = total / real(classes)


@function
def add_slopes(marked, out, n, base, scale):
    """Add a scale where ``base + marked[j]`` is above zero."""
    for j in independent(n):
        slope = scale if base + marked[j] > 0 else real(0)
        out[j] = out[j] + slope


@function(reassociate=True)
def number_above(x, n, base):
    """How often ``base + x[j]`` is above zero."""
    total = real(0)
    for j in range(n):
        total += real(1) if base + x[j] > 0 else real(0)
    return total


@range_kernel
def label_rows_backward(args, lo, hi, tid):
    """The gradient of :func:`label_rows`."""
    g, size = array(i64, args), 4 if real is f32 else 8
    classes, share = g[CLASSES], real(array(f64, args)[SHARE])
    grad = array(real, g[GRAD])
    for row in range(lo, hi):
        at = size * row * classes
        x, out = array(real, g[X] + at), array(real, g[OUT] + at)
        marked, labels = array(real, g[MARKED] + at), array(i64, g[TARGET] + 8 * row * classes)
        scale = share * (grad[0] if one == 1 else grad[row])
        count = mark_labels(x, labels, marked, classes)
        if count < 0:
            atomic_add(g[FAILED], 1)
        for j in independent(classes):
            out[j] = 0
        for i in range(count):
            base = 1 - x[labels[i]]
            add_slopes(marked, out, classes, base, scale)
            out[labels[i]] -= scale * number_above(marked, classes, base)
