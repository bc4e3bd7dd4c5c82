"""How well scores tell pairs of one speaker from pairs of two."""

from __future__ import annotations

import numpy as np

import rushlight as rl

__all__ = ["equal_error_rate", "minimum_detection_cost"]


def _rates(op: str, scores: rl.Tensor, labels: rl.Tensor) -> tuple[np.ndarray, ...]:
    """Shares of misses and of false alarms at each threshold, from above all scores down, and the
    thresholds."""
    for name, value in (("scores", scores), ("labels", labels)):
        if not isinstance(value, rl.Tensor):
            raise TypeError(f"{op}(): {name} must be a tensor, not {type(value).__name__}")
    if scores.shape != labels.shape or scores.dim() != 1:
        raise ValueError(
            f"{op}(): scores and labels must both be [N], got {list(scores.shape)} and "
            f"{list(labels.shape)}"
        )
    values = scores.detach().cpu().double().numpy()
    is_target = labels.detach().cpu().numpy() != 0
    targets = int(is_target.sum())
    if not 0 < targets < len(values):
        raise ValueError(
            f"{op}(): there must be labels of both kinds, got {targets} of {len(values)} that are 1"
        )
    if np.isnan(values).any():
        raise ValueError(f"{op}(): the scores must not be NaN")
    order = np.argsort(-values, kind="stable")
    values, is_target = values[order], is_target[order]
    last = np.append(np.nonzero(np.diff(values))[0], len(values) - 1)  # of equal scores
    found = np.cumsum(is_target)[last]
    alarms = last + 1 - found
    miss = np.append(1.0, 1 - found / targets)
    false = np.append(0.0, alarms / (len(values) - targets))
    return miss, false, np.append(np.inf, values[last])


def equal_error_rate(scores: rl.Tensor, labels: rl.Tensor) -> tuple[float, float]:
    """The rate at which misses and false alarms are equal, and the threshold there.

    Args:
        scores: ``[N]``, higher for the same speaker.
        labels: ``[N]``, 1 for the same speaker, else 0.

    Between two thresholds the rates are taken for straight lines. What has a score of the threshold
    or more is accepted.

    >>> equal_error_rate(rl.tensor([0.9, 0.8, 0.4, 0.3]), rl.tensor([1, 1, 0, 0]))
    (0.0, 0.8)
    """
    miss, false, thresholds = _rates("equal_error_rate", scores, labels)
    gap = miss - false
    after = int(np.argmax(gap <= 0))
    part = gap[after - 1] / (gap[after - 1] - gap[after])
    rate = false[after - 1] + part * (false[after] - false[after - 1])
    return float(rate), round(float(thresholds[after]), 12)


def minimum_detection_cost(
    scores: rl.Tensor,
    labels: rl.Tensor,
    p_target: float = 0.01,
    c_miss: float = 1.0,
    c_fa: float = 1.0,
) -> float:
    """The least cost over all thresholds, by the cost of not looking at the scores (NIST).

    Args:
        scores: ``[N]``, higher for the same speaker.
        labels: ``[N]``, 1 for the same speaker, else 0.
        p_target: how probable the same speaker is.
        c_miss: cost of a miss.
        c_fa: cost of a false alarm.
    """
    miss, false, _ = _rates("minimum_detection_cost", scores, labels)
    cost = c_miss * p_target * miss + c_fa * (1 - p_target) * false
    return float(cost.min() / min(c_miss * p_target, c_fa * (1 - p_target)))
