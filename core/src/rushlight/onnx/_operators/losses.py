"""Losses."""

from __future__ import annotations

import rushlight as rl
import rushlight.nn.functional as F  # noqa: N812 - the usual name
from rushlight.onnx._operators.registry import operator


@operator()
def NegativeLogLikelihoodLoss(x, target, weight=None, ignore_index=None, reduction="mean"):
    classes = x.shape[1]
    target = target.long()
    ignored = (
        rl.zeros_like(target, dtype=rl.bool) if ignore_index is None else target == ignore_index
    )
    safe = target.masked_fill(ignored, 0).clamp(0, classes - 1)
    picked = -x.gather(1, safe.unsqueeze(1)).squeeze(1)
    share = x.new_ones(classes) if weight is None else weight
    shares = share[safe].masked_fill(ignored, 0)
    loss = picked * shares
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.sum() / shares.sum()


@operator()
def SoftmaxCrossEntropyLoss(x, target, weight=None, ignore_index=None, reduction="mean", outputs=1):
    logs = F.log_softmax(x, 1)
    loss = NegativeLogLikelihoodLoss(logs, target, weight, ignore_index, reduction)
    return (loss, logs) if outputs > 1 else loss
