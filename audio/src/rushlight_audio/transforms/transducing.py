"""The loss of transducers as a module."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F

__all__ = ["RNNTLoss"]


class RNNTLoss(nn.Module):
    """The loss of transducers: :func:`rushlight_audio.functional.rnnt_loss`.

    Args:
        blank: class of the blank; a negative one counts from the end.
        clamp: bound of the gradient of an item's cost; none where it is not positive.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        fused_log_softmax: the logits are scores, whose log-softmax is taken here.
    """

    def __init__(
        self,
        blank: int = -1,
        clamp: float = -1.0,
        reduction: str = "mean",
        fused_log_softmax: bool = True,
    ):
        super().__init__()
        self.blank = blank
        self.clamp = clamp
        self.reduction = reduction
        self.fused_log_softmax = fused_log_softmax

    def forward(
        self,
        logits: rl.Tensor,
        targets: rl.Tensor,
        logit_lengths: rl.Tensor,
        target_lengths: rl.Tensor,
    ) -> rl.Tensor:
        """The loss of logits ``[N, T, U + 1, C]`` and labels ``[N, U]``."""
        return F.rnnt_loss(
            logits,
            targets,
            logit_lengths,
            target_lengths,
            self.blank,
            self.clamp,
            self.reduction,
            self.fused_log_softmax,
        )
