"""Loss layers of margins, alignments and long linear heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushlight.nn import functional as F
from rushlight.nn.distance import PairwiseDistance
from rushlight.nn.linear import Linear
from rushlight.nn.losses import NLLLoss, _Loss, _WeightedLoss
from rushlight.nn.module import Module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rushlight.tensor.tensor import Tensor


class CTCLoss(_Loss):
    """Minus the log-probability of label sequences, summed over alignments."""

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        """The loss of (T, N, C) log-probabilities."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )


class MultiMarginLoss(_WeightedLoss):
    """``sum_j max(0, margin - x[y] + x[j]) ** p / C``."""

    def __init__(
        self,
        p=1,
        margin=1.0,
        weight: Tensor | None = None,
        size_average=None,
        reduce=None,
        reduction="mean",
    ):
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D, got {weight.dim()}D"
            )
        self.p, self.margin = p, margin

    def forward(self, input, target):
        """The loss."""
        return F.multi_margin_loss(
            input, target, self.p, self.margin, self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """``sum max(0, 1 - x[y] + x[j]) / C`` over labels y and other classes j."""

    def forward(self, input, target):
        """The loss."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of binary cross entropies of logits."""

    def forward(self, input, target):
        """The loss."""
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """:class:`TripletMarginLoss` with a distance of one's own."""

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin=1.0,
        swap=False,
        reduction="mean",
    ):
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin}"
            )
        self.distance_function = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self.margin, self.swap = margin, swap

    def forward(self, anchor, positive, negative):
        """The loss."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """The old name of :class:`NLLLoss`."""


@dataclass
class LinearCrossEntropyOptions:
    """How PyTorch saves memory in :class:`LinearCrossEntropyLoss`; results do not depend on it."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None


class LinearCrossEntropyLoss(Module):
    """A linear head (in_features to num_classes) and the cross entropy of its scores."""

    def __init__(
        self,
        in_features,
        num_classes,
        *,
        out_features: Sequence[int] = (),
        bias=False,
        device=None,
        dtype=None,
        reduction="mean",
        weight: Tensor | None = None,
        ignore_index=None,
        label_smoothing=0.0,
        options: object = None,
    ):
        super().__init__()
        self.in_features, self.num_classes = in_features, num_classes
        self.out_features, self.reduction = tuple(out_features), reduction
        rows = num_classes
        for n in self.out_features:
            rows *= n
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.register_buffer("weight", weight)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options

    def forward(self, input, target):
        """The loss of (N, in_features) or (in_features)."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self):
        """The settings."""
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
