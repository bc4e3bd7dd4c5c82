"""How far outputs and targets agree: scores of the table of all pairs of classes, and shares of
what differs. Arguments and values are scikit-learn's."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.describing import announce
from lightning_lite.easy.metrics.counts import doubles, encoded, is_multi, weights_of


def confusion(
    name: str, y_true: Any, y_pred: Any, labels: Any = None, sample_weight: Any = None
) -> Any:
    """The weights of the samples of each class (rows) that were taken for each (columns), `(C, C)`:
    of all classes that are somewhere, or of `labels` in their order."""
    y_true, y_pred = doubles(name, y_true, y_pred)
    weights = weights_of(name, sample_weight, len(y_true))
    present, real, found = encoded(y_true, y_pred)
    size = len(present)
    table = rl.bincount(real * size + found, weights, size * size).reshape(size, size)
    if labels is None:
        return table
    wanted = rl.as_tensor(labels, dtype=rl.float64).reshape(-1, 1) == present
    if not (wanted.any(0) & (table.sum(1) > 0)).any():
        raise ValueError(f"{name}: labels={labels!r}; expected at least one of the targets'")
    chosen = wanted.to(rl.float64)
    return chosen @ table @ chosen.T


@announce
def balanced_accuracy_score(
    y_true: Any, y_pred: Any, sample_weight: Any = None, adjusted: bool = False
) -> float:
    """The mean of the recalls of all classes of the targets; `adjusted` so that chance is 0, which
    for targets of but one class is NaN."""
    table = confusion("balanced_accuracy_score", y_true, y_pred, None, sample_weight)
    real = table.sum(1)
    recalls = table.diagonal()[real > 0] / real[real > 0]
    score, chance = float(recalls.mean()), 1 / len(recalls)
    if not adjusted:
        return score
    return (score - chance) / (1 - chance) if chance < 1 else math.nan


@announce
def cohen_kappa_score(
    y_true: Any, y_pred: Any, labels: Any = None, weights: Any = None, sample_weight: Any = None
) -> float:
    """Cohen's kappa: agreement above what chance gives. `weights`: None, "linear" or "quadratic" by
    the distance of the classes. NaN where there is but one class."""
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(
            f"cohen_kappa_score: weights={weights!r}; expected None, 'linear' or 'quadratic'"
        )
    table = confusion("cohen_kappa_score", y_true, y_pred, labels, sample_weight)
    positions = rl.arange(len(table), dtype=rl.float64)
    apart = (positions[:, None] - positions).abs()
    if weights is None:
        apart = (apart > 0).to(rl.float64)
    elif weights == "quadratic":
        apart = apart.square()
    expected = rl.outer(table.sum(0), table.sum(1)) / table.sum()
    by_chance = float((apart * expected).sum())
    return 1 - float((apart * table).sum()) / by_chance if by_chance else math.nan


@announce
def matthews_corrcoef(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    """Matthews' correlation coefficient, between -1 and 1; 0 where outputs or targets are all of
    one class. All labels of several count as one problem of two classes."""
    if is_multi(y_true) and sample_weight is not None:
        sample_weight = weights_of("matthews_corrcoef", sample_weight, len(y_true))
        sample_weight = sample_weight.repeat_interleave(y_true.shape[1])
    table = confusion(
        "matthews_corrcoef", y_true.reshape(-1), y_pred.reshape(-1), None, sample_weight
    )
    real, found, total = table.sum(1), table.sum(0), table.sum()
    both = float(table.trace() * total - real @ found)
    spread = float((total**2 - real @ real) * (total**2 - found @ found))
    return both / math.sqrt(spread) if spread > 0 else 0.0


@announce
def hamming_loss(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    """The share of labels that are wrong."""
    y_true, y_pred = doubles("hamming_loss", y_true, y_pred)
    weights = weights_of("hamming_loss", sample_weight, len(y_true))
    wrong = (y_true != y_pred).to(rl.float64).reshape(len(y_true), -1).mean(1)
    return float((wrong * weights).sum() / weights.sum())


@announce
def brier_score_loss(
    y_true: Any, y_pred: Any, sample_weight: Any = None, pos_label: Any = None
) -> float:
    """The mean squared difference of shares, between 0 and 1, and truth: whether a target is
    `pos_label` (by default 1, or the greater of two other classes); of several labels their sum,
    halved for two, as scikit-learn has it."""
    y_true, y_pred = doubles("brier_score_loss", y_true, y_pred)
    if float(y_pred.max()) > 1 or float(y_pred.min()) < 0:
        raise ValueError(
            f"brier_score_loss: outputs between {float(y_pred.min()):g} and "
            f"{float(y_pred.max()):g}; expected shares between 0 and 1, which the classes of more "
            "than two are not"
        )
    weights = weights_of("brier_score_loss", sample_weight, len(y_true))
    if is_multi(y_true):
        squares = (y_true - y_pred).square().sum(1) * (0.5 if y_true.shape[1] < 3 else 1.0)
    else:
        squares = (_truth(y_true, pos_label) - y_pred).square()
    return float((squares * weights).sum() / weights.sum())


def _truth(y_true: Any, pos_label: Any) -> Any:
    classes = rl.unique(y_true).tolist()
    if len(classes) > 2:
        raise ValueError(
            f"brier_score_loss: targets of {len(classes)} classes; expected two at most"
        )
    if pos_label is None:
        pos_label = 1 if set(classes) <= {-1, 1} or set(classes) <= {0, 1} else classes[-1]
    return (y_true == pos_label).to(rl.float64)
