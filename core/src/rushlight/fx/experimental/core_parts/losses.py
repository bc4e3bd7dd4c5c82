"""Losses of nn.functional, as core ATen graphs have them."""

from __future__ import annotations

import math

from rushlight.fx.experimental.core_parts.activations import log_sigmoid
from rushlight.fx.experimental.core_parts.classes import cross_entropy, nll_loss
from rushlight.fx.experimental.core_parts.margins import at
from rushlight.fx.experimental.core_parts.numbers import (
    below,
    chosen,
    filled,
    number,
    reduced,
    totalled,
    widened,
)
from rushlight.fx.experimental.core_parts.pointwise import floating
from rushlight.library.operators import lookup

_LOWEST_LOG = -100  # what binary_cross_entropy has for the logarithm of zero


@widened
def _mse(input, target, reduction=1):
    return reduced((input - target) ** 2, reduction)


@widened
def _l1(input, target, reduction=1):
    return reduced((input - target).abs(), reduction)


@widened
def _smooth_l1(input, target, reduction=1, beta=1.0):
    distance = (input - target).abs()
    if beta == 0:
        return reduced(distance, reduction)
    square = distance**2 * 0.5 / beta
    return reduced(chosen(distance < beta, square, distance - 0.5 * beta), reduction)


@widened
def _huber(input, target, reduction=1, delta=1.0):
    distance = (input - target).abs()
    line = (distance - 0.5 * delta) * delta
    return reduced(chosen(distance < delta, distance * 0.5 * distance, line), reduction)


@widened
def _binary_cross_entropy(input, target, weight=None, reduction=1):
    maximum = lookup("aten").maximum.default
    absent = maximum((-input).log1p(), filled(_LOWEST_LOG, input))
    loss = (target - 1) * absent - target * maximum(input.log(), filled(_LOWEST_LOG, input))
    return reduced(loss if weight is None else loss * weight, reduction)


def _binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1):
    likely = log_sigmoid(input)
    if pos_weight is not None:
        likely = ((pos_weight - 1) * target + 1) * likely
    loss = below(1, target) * input - likely
    return reduced(loss if weight is None else loss * weight, reduction)


def _multi_margin(input, target, p=1, margin=1.0, weight=None, reduction=1):
    rows = input.unsqueeze(0) if input.dim() < 2 else input
    classes = rows.shape[1]
    wanted = (target.unsqueeze(0) if target.dim() < 1 else target).unsqueeze(1)
    loss = (below(margin, rows.gather(1, wanted)) + rows).clamp_min(0)
    loss = loss if p == 1 else loss * loss
    if weight is not None:
        loss = loss * at(weight, 0, wanted)
    others = _range(classes, input) != wanted
    loss = chosen(others, loss, 0)
    if reduction == 1:
        return loss.mean()
    if reduction:
        return totalled(loss) / classes
    found = loss.mean(1)
    return found.squeeze(0) if input.dim() < 2 else found


def _multilabel_margin(self, target, reduction=1):
    rows = self.unsqueeze(0) if self.dim() < 2 else self
    wanted = target.unsqueeze(0) if target.dim() < 2 else target
    classes, aten = rows.shape[1], lookup("aten")
    order = _range(classes, self)
    # labels are those before the first of -1
    ends = aten.amin.default(chosen(wanted == -1, order, classes), [-1], True)
    given = order < ends
    scores = rows.gather(-1, chosen(given, wanted, 0))
    labels = chosen(given, wanted, -1)
    is_label = (order == labels.unsqueeze(-1)).any(1)
    apart = below(1.0, scores.permute(1, 0).unsqueeze(-1)) + rows
    loss = chosen(is_label, 0, apart.clamp_min(0) / classes)
    # PyTorch's parts count what is behind the last label too, and so differ from its own kernel
    loss = chosen(given.permute(1, 0).unsqueeze(-1), loss, 0)
    if reduction == 1:
        return totalled(loss, [0, -1]).mean()
    if reduction:
        return totalled(loss)
    return totalled(loss, [0, -1])


def _range(end, like):
    return lookup("aten").arange.start_step(0, end, device=like.device)


def _xlogy(self, other):
    return _times(self, other.log(), other)


@floating
def _xlog1py(self, other):
    return _times(self, other.log1p(), other)


def _times(self, logarithm, other):
    """A product with a logarithm: zero where `self` is, save where `other` is NaN."""
    product = self * logarithm
    product = chosen(self == 0, number(0, product), product)
    return chosen(other.isnan(), number(math.nan, product), product)


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.cross_entropy_loss.default: cross_entropy,
        aten.nll_loss_nd.default: nll_loss,
        aten.mse_loss.default: _mse,
        aten.l1_loss.default: _l1,
        aten.smooth_l1_loss.default: _smooth_l1,
        aten.huber_loss.default: _huber,
        aten.binary_cross_entropy.default: _binary_cross_entropy,
        aten.binary_cross_entropy_with_logits.default: _binary_cross_entropy_with_logits,
        aten.multi_margin_loss.default: _multi_margin,
        aten.multilabel_margin_loss.default: _multilabel_margin,
        aten.xlogy.Tensor: _xlogy,
        aten.special_xlog1py.default: _xlog1py,
    }
