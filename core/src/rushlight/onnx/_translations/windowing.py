"""Losses, distances, and what looks at windows."""

from __future__ import annotations

import math

import rushlight
from rushlight.machine import np
from rushlight.onnx._registry import aten
from rushlight.onnx._tables import POSITIONS

_REDUCTIONS = ("none", "mean", "sum")


def reduced(g, x, reduction):
    """Values, their mean or their sum."""
    if reduction == 0:
        return x
    return g.reduce("ReduceMean" if reduction == 1 else "ReduceSum", x, None, False)


@aten("mse_loss")
def mse_loss(g, self, target, reduction=1):
    gap = g.op("Sub", self, target)
    return reduced(g, g.op("Mul", gap, gap), reduction)


@aten("l1_loss")
def l1_loss(g, self, target, reduction=1):
    return reduced(g, g.op("Abs", g.op("Sub", self, target)), reduction)


@aten("huber_loss")
def huber_loss(g, self, target, reduction=1, delta=1.0):
    gap = g.op("Abs", g.op("Sub", self, target))
    near = g.op("Mul", g.op("Mul", gap, gap), g.like(0.5, self))
    far = g.op("Mul", g.op("Sub", gap, g.like(0.5 * delta, self)), g.like(delta, self))
    inside = g.op("Less", gap, g.like(delta, self), dtype=rushlight.bool)
    return reduced(g, g.op("Where", inside, near, far, dtype=self.dtype), reduction)


@aten("cross_entropy_loss")
def cross_entropy(
    g, self, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0
):
    if target.dtype.is_floating_point:
        return _entropy_of_shares(g, self, target, weight, reduction, label_smoothing)
    if label_smoothing:
        return _smoothed(g, self, target, weight, reduction, ignore_index, label_smoothing)
    return g.op(
        "SoftmaxCrossEntropyLoss", self, target, weight, ignore_index=ignore_index,
        reduction=_REDUCTIONS[reduction],
    )  # fmt: skip


def _logs(g, x, weight):
    """The dimension of classes, and the logarithms of their shares, weighted."""
    dim = 0 if x.rank == 1 else 1
    logs = g.op("LogSoftmax", x, axis=dim)
    if weight is None:
        return dim, logs
    shape = [-1] + [1] * (x.rank - 1 - dim)
    return dim, g.op("Mul", logs, g.reshape(weight, shape))


def _entropy_of_shares(g, x, target, weight, reduction, smoothing):
    """Cross entropy where a target gives a share to each class; the mean is over samples."""
    dim, weighted = _logs(g, x, weight)
    if smoothing:
        target = g.op("Mul", target, g.like(1 - smoothing, target))
        target = g.op("Add", target, g.like(smoothing / x.shape[dim], target))
    loss = g.op("Neg", g.reduce("ReduceSum", g.op("Mul", weighted, target), [dim], False))
    return reduced(g, loss, reduction)


def _smoothed(g, x, target, weight, reduction, ignored, smoothing):
    """Cross entropy of classes, of which each target gives `smoothing` to all alike."""
    dim, weighted = _logs(g, x, weight)
    counted = g.op("Not", g.op("Equal", target, g.like(ignored, target), dtype=rushlight.bool))
    kept = g.cast(counted, x.dtype)
    places = g.op("Where", counted, target, g.like(0, target), dtype=target.dtype)
    own = g.op("GatherElements", weighted, g.unsqueeze(places, dim), axis=dim)
    own = g.op("Mul", g.squeeze(own, dim), kept)
    spread = g.op("Mul", g.reduce("ReduceSum", weighted, [dim], False), kept)
    loss = g.op("Add", g.op("Mul", own, g.like(smoothing - 1, x)),
                g.op("Mul", spread, g.like(-smoothing / x.shape[dim], x)))  # fmt: skip
    if reduction != 1:
        return reduced(g, loss, reduction)
    if weight is not None:
        kept = g.op("Mul", kept, g.op("Gather", weight, places, axis=0))
    return g.op("Div", *(g.reduce("ReduceSum", v, None, False) for v in (loss, kept)))


@aten("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(g, self, target, weight=None, reduction=1, ignore_index=-100):
    return g.op(
        "NegativeLogLikelihoodLoss", self, target, weight, ignore_index=ignore_index,
        reduction=_REDUCTIONS[reduction],
    )  # fmt: skip


@aten("binary_cross_entropy_with_logits")
def bce_logits(g, self, target, weight=None, pos_weight=None, reduction=1):
    product = g.op("Mul", self, g.op("Sub", g.like(1, self), target))
    tail = g.op("Softplus", g.op("Neg", self))
    if pos_weight is not None:
        more = g.op("Mul", g.op("Sub", pos_weight, g.like(1, self)), target)
        tail = g.op("Mul", tail, g.op("Add", more, g.like(1, self)))
    loss = g.op("Add", product, tail)
    loss = loss if weight is None else g.op("Mul", loss, weight)
    return reduced(g, loss, reduction)


@aten("im2col")
def im2col(g, self, kernel_size, dilation, padding, stride):
    from rushlight.onnx._translations.shaping import padded

    single = self.rank == 3
    x = g.unsqueeze(self, 0) if single else self
    n, channels, height, width = [1, *self.shape] if single else self.shape
    top, left = padding
    if top or left:
        rank, g.out = g.out, rushlight.empty(n, channels, height, width, device="meta")
        x = padded(g, x, [left, left, top, top], "constant")
        g.out = rank
    places, counts = [], []
    for length, size, gap, pad, step in zip(
        (height, width), kernel_size, dilation, padding, stride, strict=True
    ):
        count = (length + 2 * pad - gap * (size - 1) - 1) // step + 1
        places.append(g.table(POSITIONS, count, size, gap, step))
        counts.append(count)
    rows = g.op("Gather", x, places[0], axis=2)
    both = g.op("Gather", rows, places[1], axis=4)
    turned = g.transpose(both, [0, 1, 2, 4, 3, 5])
    size = channels * math.prod(kernel_size)
    found = g.reshape(turned, [n, size, math.prod(counts)])
    return g.squeeze(found, 0) if single else found


@aten("_overlap_add")
def overlap_add(g, frames, hop, length):
    count, size = frames.shape[-2:]
    if length != (count - 1) * hop + size:
        raise NotImplementedError("frames that are added up to another length than theirs")
    turned = g.transpose(frames, [*range(frames.rank - 2), frames.rank - 1, frames.rank - 2])
    several = math.prod(frames.shape[:-2])
    # a transposed convolution whose kernel has a one for each sample of a frame
    kernel = g.constant(np.eye(size)[:, None], frames.dtype)
    summed = g.op("ConvTranspose", g.reshape(turned, [several, size, count]), kernel,
                  kernel_shape=[size], strides=[hop])  # fmt: skip
    return g.reshape(summed, [*frames.shape[:-2], length])
