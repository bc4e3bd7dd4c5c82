"""Separated sources in the order that fits best."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import rushlight as rl

__all__ = ["permutation_invariant_training", "pit_permutate"]


def permutation_invariant_training(
    preds: rl.Tensor,
    target: rl.Tensor,
    metric_func: Callable[..., rl.Tensor],
    eval_func: str = "max",
    **kwargs: Any,
) -> tuple[rl.Tensor, rl.Tensor]:
    """The best mean of a metric over all orders of the estimates (Yu et al. 2017).

    Args:
        preds: estimates ``[N, sources, ...]``.
        target: of the same shape.
        metric_func: of ``[N, ...]`` and ``[N, ...]``, gives ``[N]``.
        eval_func: ``"max"`` or ``"min"``: which is best.
        kwargs: options of the metric.

    Returns: the metric ``[N]``, and the order ``[N, sources]``: estimate ``order[n, s]`` is source
    s. All orders are tried: n! of them.

    >>> from rushlight_audio.metrics import signal_noise_ratio
    >>> target = rl.tensor([[[1.0, 2.0], [5.0, 4.0]]])
    >>> best, order = permutation_invariant_training(target.flip(1), target, signal_noise_ratio)
    >>> order
    tensor([[1, 0]])
    """
    op = "permutation_invariant_training"
    if preds.shape != target.shape or preds.dim() < 2:
        raise ValueError(
            f"{op}(): preds and target must both be [N, sources, ...], got {list(preds.shape)} "
            f"and {list(target.shape)}"
        )
    if eval_func not in ("max", "min"):
        raise ValueError(f"{op}(): eval_func must be 'max' or 'min', got {eval_func!r}")
    sources = preds.shape[1]
    each = [
        rl.stack([metric_func(preds[:, p], target[:, t], **kwargs) for p in range(sources)])
        for t in range(sources)
    ]
    table = rl.stack(each)  # [target, estimate, N]
    orders = rl.tensor(list(itertools.permutations(range(sources))), device=preds.device)
    means = table[rl.arange(sources, device=preds.device), orders].mean(1)  # [order, N]
    best, index = means.max(0) if eval_func == "max" else means.min(0)
    return best, orders[index]


def pit_permutate(preds: rl.Tensor, perm: rl.Tensor) -> rl.Tensor:
    """Estimates ``[N, sources, ...]`` in the order ``[N, sources]`` that
    :func:`permutation_invariant_training` gave."""
    return preds[rl.arange(len(preds), device=preds.device).unsqueeze(1), perm]
