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
def _linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: int | None = None,
) -> Tensor:
    bias: Tensor | None = None
    if linear_bias is not None:
        bias = aten.reshape(linear_bias, [-1])
    flat = aten.reshape(linear_weight, [-1, linear_weight.size(-1)])
    logits = aten.linear(input, flat, bias)
    if linear_weight.dim() > 2:
        logits = aten.reshape(logits, [input.size(0)] + linear_weight.size()[:-1])
    index = -100 if ignore_index is None else ignore_index
    return F.cross_entropy(logits, target, weight, None, index, None, reduction, label_smoothing)


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


@_form
def _gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    spread = var
    if var.dim() + 1 == input.dim():
        spread = aten.unsqueeze(var, -1)
    limited = aten.clamp_min(aten.detach(spread), eps) - aten.detach(spread) + spread
    error = input - target
    losses = (aten.log(limited) + error * error / limited) * 0.5
    if full:
        losses = losses + 0.9189385332046727  # half of the logarithm of 2 pi
    return _reduced(losses, reduction)


@_form
def _multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    there = aten.log_sigmoid(input) * target
    losses = aten.neg(there + aten.log_sigmoid(aten.neg(input)) * aten.rsub(target, 1))
    if weight is not None:
        losses = losses * weight
    return _reduced(aten.mean(losses, [-1]), reduction)


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    return aten.mean(losses) if reduction == "mean" else aten.sum(losses)


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


@_layer(nn.HuberLoss)
def _huber_loss_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return F.huber_loss(input, target, self.reduction, float(self.delta))


@_layer(nn.KLDivLoss)
def _kl_div_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


@_layer(nn.PoissonNLLLoss)
def _poisson_nll_layer(self, log_input: Tensor, target: Tensor) -> Tensor:
    return aten.poisson_nll_loss(
        log_input, target, self.log_input, self.full, self.eps, _reduction(self.reduction)
    )


@_layer(nn.GaussianNLLLoss)
def _gaussian_nll_layer(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
    return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


@_layer(nn.HingeEmbeddingLoss)
def _hinge_embedding_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return aten.hinge_embedding_loss(
        input, target, float(self.margin), _reduction(self.reduction)
    )  # fmt: skip


@_layer(nn.SoftMarginLoss)
def _soft_margin_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return aten.soft_margin_loss(input, target, _reduction(self.reduction))


@_layer(nn.MarginRankingLoss)
def _margin_ranking_layer(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
    return aten.margin_ranking_loss(
        input1, input2, target, float(self.margin), _reduction(self.reduction)
    )  # fmt: skip


@_layer(nn.CosineEmbeddingLoss)
def _cosine_embedding_layer(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
    return aten.cosine_embedding_loss(
        input1, input2, target, float(self.margin), _reduction(self.reduction)
    )  # fmt: skip


@_layer(nn.TripletMarginLoss)
def _triplet_margin_layer(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    return aten.triplet_margin_loss(
        anchor, positive, negative, float(self.margin), float(self.p), self.eps, self.swap,
        _reduction(self.reduction),
    )  # fmt: skip


@_layer(nn.MultiMarginLoss)
def _multi_margin_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return aten.multi_margin_loss(
        input, target, self.p, self.margin, self.weight, _reduction(self.reduction)
    )  # fmt: skip


@_layer(nn.MultiLabelMarginLoss)
def _multilabel_margin_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return aten.multilabel_margin_loss(input, target, _reduction(self.reduction))


@_layer(nn.MultiLabelSoftMarginLoss)
def _multilabel_soft_margin_layer(self, input: Tensor, target: Tensor) -> Tensor:
    return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


@_layer(nn.CTCLoss)
def _ctc_layer(
    self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
) -> Tensor:
    return aten.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, self.blank,
        _reduction(self.reduction), self.zero_infinity,
    )  # fmt: skip


@_layer(nn.CosineSimilarity)
def _cosine_similarity_layer(self, x1: Tensor, x2: Tensor) -> Tensor:
    return aten.cosine_similarity(x1, x2, self.dim, self.eps)


@_layer(nn.PairwiseDistance)
def _pairwise_distance_layer(self, x1: Tensor, x2: Tensor) -> Tensor:
    return aten.pairwise_distance(x1, x2, float(self.norm), self.eps, self.keepdim)
