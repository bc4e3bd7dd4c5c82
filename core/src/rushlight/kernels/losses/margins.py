"""Losses of margins between the scores of classes, and their gradients, without arrays of pairs.

Scores are (N, C) in float32 or float64. `target` is int64, one class a sample (N,) or labels (N, C)
that end at the first -1. Losses are one a sample; their mean or sum by `reduction`.
"""

from __future__ import annotations

import ctypes

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.indexing.indices import failures
from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    chunk,
    language_type,
    referenced_by,
)
from rushlight.kernels.launch.prepared import Remembered, word_of
from rushlight.kernels.losses import margin_kernels as native
from rushlight.machine import np, threads

__all__ = [
    "fits",
    "label_margins",
    "label_margins_backward",
    "margins",
    "margins_backward",
]

_INT64 = np.dtype(np.int64)
_plans = Remembered()


def fits(input, target, weight=None):
    """Whether these arrays are what the kernels take."""
    if input.ndim != 2 or input.dtype not in COMPILED_DTYPES or not input.size:
        return False
    weighted = weight is None or weight.dtype is input.dtype and weight.shape == input.shape[1:]
    return weighted and target.dtype == _INT64 and target.shape == input.shape[: target.ndim]


def _plan(name, input, share, margin, **parameters):
    key = name, input.shape, input.dtype, share, margin, *parameters.values()
    plan = _plans.get(key)
    if plan is None:
        rows, classes = input.shape
        kernel = getattr(native, name)
        code = kernel.address(real=language_type(input.dtype), **parameters)
        words = [*[0] * native.CLASSES, classes, ctypes.addressof(failures)]
        words += [word_of(share), word_of(margin)]
        work = classes if name.startswith("margin") else 4 * classes
        plan = _plans.keep(key, threads.plan(code, rows, chunk(rows, work), words))
    return plan


def _run(name, plan, arrays, classes):
    """Run a kernel; labels out of range are an error."""
    before = failures.value
    threads.run(plan, *arrays)
    if failures.value != before:
        lowest = 0 if name == "multi_margin_loss" else -1
        _refuse(name, lowest, classes)


def _refuse(name, lowest, classes):
    raise RuntimeError(f"{name}: target out of range, expected {lowest} to {classes - 1}")


def _reduced(losses, reduction):
    if reduction == "none":
        return losses
    total = np.add.reduce(losses)
    return np.asarray(total / len(losses) if reduction == "mean" else total, losses.dtype)


def _share(input, reduction):
    """The factor of a part in the loss."""
    rows, classes = input.shape
    return 1 / classes / (rows if reduction == "mean" else 1)


# --------------------------------------------------------------------------------------- references
def _parts(input, target, p, margin):
    """What is above zero of (N, C) margins to one label a sample, 0 at the label itself."""
    rows, classes = input.shape
    if target.size and (target.min() < 0 or target.max() >= classes):
        _refuse("multi_margin_loss", 0, classes)
    apart = margin - np.take_along_axis(input, target[:, None], 1) + input
    counted = (apart > 0) & (np.arange(classes) != target[:, None])
    return np.where(counted, apart, 0), counted


def _margins(input, target, weight, p, margin, reduction):
    parts, _ = _parts(input, target, p, margin)
    losses = (parts**p).sum(1) / input.shape[1]
    if weight is not None:
        losses = losses * weight[target]
    return _reduced(losses.astype(input.dtype), reduction)


def _margins_backward(grad, input, target, weight, p, margin, reduction):
    parts, counted = _parts(input, target, p, margin)
    scale = np.broadcast_to(grad, target.shape) * _share(input, reduction)
    if weight is not None:
        scale = scale * weight[target]
    slopes = (counted if p == 1 else 2 * parts) * scale[:, None]
    np.put_along_axis(slopes, target[:, None], -slopes.sum(1, keepdims=True), 1)
    return slopes.astype(input.dtype)


def _pairs(row, labels):
    """The labels of a sample and the (labels, C) margins of classes that are none."""
    if labels.min() < -1 or labels.max() >= len(row):
        _refuse("multilabel_margin_loss", -1, len(row))
    labels = labels[np.cumprod(labels >= 0) > 0]
    apart = 1 - row[labels][:, None] + row
    apart[:, labels] = 0
    return labels, np.where(apart > 0, apart, 0)


def _label_margins(input, target, reduction):
    found = [_pairs(row, labels)[1].sum() for row, labels in zip(input, target, strict=True)]
    return _reduced((np.array(found) / input.shape[1]).astype(input.dtype), reduction)


def _label_margins_backward(grad, input, target, reduction):
    out, scale = np.zeros(input.shape), np.broadcast_to(grad, len(input))
    for to, row, numbers, factor in zip(out, input, target, scale, strict=True):
        labels, parts = _pairs(row, numbers)
        to += (parts > 0).sum(0) * factor
        np.subtract.at(to, labels, (parts > 0).sum(1) * factor)
    return (out * _share(input, reduction)).astype(input.dtype)


# ------------------------------------------------------------------------------------------ kernels
@referenced_by(_margins)
def margins(input, target, weight, p, margin, reduction):
    """``sum_j max(0, margin - x[y] + x[j]) ** p / C`` over the classes j other than y, times
    ``weight[y]`` (C,)."""
    plan = _plan("margin_rows", input, 0.0, float(margin), squared=int(p == 2))
    losses = np.empty(len(input), input.dtype)
    arrays = losses, by_rows(input), by_rows(target), None, by_rows(weight)
    _run("multi_margin_loss", plan, arrays, input.shape[1])
    return _reduced(losses, reduction)


@referenced_by(_margins_backward)
def margins_backward(grad, input, target, weight, p, margin, reduction):
    """The gradient of :func:`margins` by the scores; `grad` is that of the result."""
    choices = {"squared": int(p == 2), "one": int(reduction != "none")}
    share = _share(input, reduction)
    plan = _plan("margin_rows_backward", input, share, float(margin), **choices)
    out = np.empty(input.shape, input.dtype)
    arrays = out, by_rows(input), by_rows(target), by_rows(grad), by_rows(weight)
    _run("multi_margin_loss", plan, arrays, input.shape[1])
    return out


@referenced_by(_label_margins)
def label_margins(input, target, reduction):
    """``sum max(0, 1 - x[y] + x[j]) / C`` over labels y and the classes j that are no label."""
    plan = _plan("label_rows", input, 0.0, 1.0, squared=0)
    losses, marked = np.empty(len(input), input.dtype), np.empty(input.shape, input.dtype)
    arrays = losses, by_rows(input), by_rows(target), None, None, marked
    _run("multilabel_margin_loss", plan, arrays, input.shape[1])
    return _reduced(losses, reduction)


@referenced_by(_label_margins_backward)
def label_margins_backward(grad, input, target, reduction):
    """The gradient of :func:`label_margins` by the scores; `grad` is that of the result."""
    share, one = _share(input, reduction), int(reduction != "none")
    plan = _plan("label_rows_backward", input, share, 1.0, one=one)
    out, marked = np.empty(input.shape, input.dtype), np.empty(input.shape, input.dtype)
    arrays = out, by_rows(input), by_rows(target), by_rows(grad), None, marked
    _run("multilabel_margin_loss", plan, arrays, input.shape[1])
    return out
