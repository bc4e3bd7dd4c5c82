"""Losses by ATen ops, for archives: functions, and layers by their classes."""

from __future__ import annotations

from rushlight import nn
from rushlight.jit.dispatch import aten
from rushlight.jit.forms.functional import _form
from rushlight.jit.forms.layers import _layer
from rushlight.nn import functional as F  # noqa: N812 - the usual name
from rushlight.tensor.tensor import Tensor


def _reduction(name: str) -> int:
    if name == "none":
        return 0
    if name == "mean":
        return 1
    if name == "sum":
        return 2
    raise ValueError(f"{name} is not a valid value for reduction")


@_form
def _cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    return aten.cross_entropy_loss(
        input, target, weight, _reduction(reduction), ignore_index, label_smoothing
    )


@_form
def _nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return aten.nll_loss_nd(input, target, weight, _reduction(reduction), ignore_index)


@_form
def _mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return aten.mse_loss(input, target, _reduction(reduction))


@_form
def _l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return aten.l1_loss(input, target, _reduction(reduction))


@_form
def _smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    return aten.smooth_l1_loss(input, target, _reduction(reduction), beta)


@_form
def _huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor:  # fmt: skip
    return aten.huber_loss(input, target, _reduction(reduction), delta)


@_form
def _kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    if reduction == "batchmean":
        return aten.kl_div(input, target, 2, log_target=log_target) / input.size(0)
    return aten.kl_div(input, target, _reduction(reduction), log_target=log_target)


@_form
def _binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return aten.binary_cross_entropy(input, target, weight, _reduction(reduction))


@_form
def _binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    return aten.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight, _reduction(reduction)
    )


# ------------------------------------------------------------------------------------------ layers
@_layer(nn.CrossEntropyLoss)
def _cross_entropy_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(
        input, target, self.weight, None, self.ignore_index, None, self.reduction,
        self.label_smoothing,
    )  # fmt: skip


@_layer(nn.NLLLoss)
def _nll_loss_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return F.nll_loss(
        input, target, self.weight, None, self.ignore_index, None, self.reduction
    )  # fmt: skip


@_layer(nn.MSELoss)
def _mse_loss_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return F.mse_loss(input, target, reduction=self.reduction)


@_layer(nn.L1Loss)
def _l1_loss_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return F.l1_loss(input, target, reduction=self.reduction)


@_layer(nn.SmoothL1Loss)
def _smooth_l1_loss_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


@_layer(nn.BCELoss)
def _bce_loss_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


@_layer(nn.BCEWithLogitsLoss)
def _bce_with_logits_loss_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(
        input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
    )
