"""Losses over classes: `nll_loss` and `cross_entropy`."""

from __future__ import annotations

import math

from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import chosen, reduced, scaled, shifted, totalled
from rushlight.library.operators import lookup

_MEAN = 1  # as ATen numbers reductions
_OF_PLANES = 4  # dimensions of input that are not brought to those of planes


def nll_loss(self, target, weight=None, reduction=1, ignore_index=-100):
    """The loss of log-probabilities, whose classes are dimension 1, or 0 of a single row."""
    if self.dim() == 3 or self.dim() > _OF_PLANES:
        return _of_planes(self, target, weight, reduction, ignore_index)
    dim = min(1, self.dim() - 1)
    wide = None
    if weight is not None:
        wide = _along(weight, self.dim(), dim)
        self = self * wide
    # ignored targets may be no classes at all
    index = chosen(target != ignore_index, target, 0).unsqueeze(dim)
    loss = -_picked(self, dim, index)
    loss = chosen(target != ignore_index, loss, 0)
    if reduction != _MEAN:
        return reduced(loss, reduction)
    if weight is None:
        count = totalled(target != ignore_index).to(self.dtype)
    else:
        given = _picked(wide.expand(*self.shape), dim, index)
        count = totalled(chosen(target != ignore_index, given, 0))
    return totalled(loss) / count


def _of_planes(self, target, weight, reduction, ignore_index):
    rows, classes, *sizes = self.shape
    count = math.prod(sizes)
    flat = self.reshape(rows, classes, 1, count), target.reshape(rows, 1, count)
    loss = nll_loss(*flat, weight, reduction, ignore_index)
    return loss if reduction else loss.view(target.shape)


def _along(weight, ndim, dim):
    """The weights of classes as a tensor that broadcasts along their dimension."""
    return weight.view(*(-1 if i == dim else 1 for i in range(ndim))) if ndim > 1 else weight


def _picked(input, dim, index):
    return input.gather(dim, index).squeeze(dim)


def cross_entropy(self, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    """The loss of logits, whose classes are dimension 1, or 0 of a single row."""
    dim = min(1, self.dim() - 1)
    if self.shape == target.shape and target.dtype.is_floating_point:
        logs = self.log_softmax(dim, target.dtype)
        return _of_probabilities(logs, target, weight, reduction, label_smoothing, dim)
    logs = self.log_softmax(dim)
    loss = nll_loss(logs, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return loss
    smooth = _smoothed(logs, target, weight, reduction, ignore_index, dim)
    return scaled(loss, 1 - label_smoothing) + scaled(smooth, label_smoothing / self.shape[dim])


def _smoothed(logs, target, weight, reduction, ignore_index, dim):
    """The loss against all classes alike, but for a factor."""
    if weight is not None:
        logs = logs * _along(weight, logs.dim(), dim)
    loss, ignored = -totalled(logs, [dim]), target == ignore_index
    loss = chosen(ignored, 0.0, loss)
    if reduction != _MEAN:
        return reduced(loss, reduction)
    if weight is None:
        return totalled(loss) / totalled(~ignored)
    index = chosen(ignored, 0, target)
    given = weight.gather(0, index if index.dim() == 1 else index.reshape(index.numel()))
    if index.dim() != 1:
        given = given.view(index.shape)
    return totalled(loss) / totalled(chosen(ignored, 0.0, given))


def _of_probabilities(logs, target, weight, reduction, label_smoothing, dim):
    shape = logs.shape
    if label_smoothing:
        target = shifted(scaled(target, 1 - label_smoothing), label_smoothing / shape[dim])
    product = logs * target
    if weight is not None:
        product = product * _along(weight, logs.dim(), dim)
    if not reduction:
        return -totalled(product, [dim])
    loss = -totalled(product)
    rows = math.prod(size for i, size in enumerate(shape) if i != dim)
    return exact(lookup("aten").div.Scalar, loss, rows) if reduction == _MEAN else loss
