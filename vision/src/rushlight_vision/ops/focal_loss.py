"""The focal loss of dense detection (Lin et al., 2017)."""

from __future__ import annotations

import rushlight as rl
from rushlight.nn import functional as F


def sigmoid_focal_loss(
    inputs: rl.Tensor,
    targets: rl.Tensor,
    alpha: float = 0.25,
    gamma: float = 2,
    reduction: str = "none",
) -> rl.Tensor:
    """Binary cross entropy in which examples that are already right count little.

    Parameters
    ----------
    inputs : Tensor
        Logits, of any shape.
    targets : Tensor
        0 or 1 for each of them, in the same dtype.
    alpha : float, default 0.25
        Weight of the positive examples, 1 - alpha of the negative ones; -1 for none.
    gamma : float, default 2
        The power of the probability of the wrong answer that a term is multiplied by.
    reduction : {"none", "mean", "sum"}

    Returns
    -------
    Tensor of the shape of `inputs`, or () after a reduction

    Raises
    ------
    ValueError
        For another reduction, or alpha that is neither -1 nor from 0 to 1.

    Example
    -------
    >>> sigmoid_focal_loss(rl.tensor([0.0, 2.0]), rl.tensor([1.0, 1.0]))
    tensor([0.0433, 0.0005])
    """
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(f"sigmoid_focal_loss: alpha must be -1 or from 0 to 1, got {alpha}")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(
            f"sigmoid_focal_loss: reduction must be 'none', 'mean' or 'sum', got {reduction!r}"
        )
    p = rl.sigmoid(inputs)
    entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = p * targets + (1 - p) * (1 - targets)
    loss = entropy * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()
