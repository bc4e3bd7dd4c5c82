"""Areas under curves of scores: average precision and ROC AUC, of one label or averaged over
several. Arguments and values are scikit-learn's."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.describing import announce
from lightning_lite.easy.metrics.counts import is_multi, weights_of

AVERAGES = ("micro", "macro", "weighted", "samples", None)


def _cumulated(truth: Any, scores: Any, weights: Any) -> tuple[Any, Any]:
    """The weights of what is true and of what is not, from the largest score down to each; samples
    of one score come at once."""
    order = scores.argsort(descending=True, stable=True)
    truth, scores, weights = truth[order], scores[order], weights[order]
    last = rl.ones(len(scores), dtype=rl.bool)
    last[:-1] = scores[:-1] != scores[1:]
    return (truth * weights).cumsum(0)[last], ((1 - truth) * weights).cumsum(0)[last]


def _average_precision(truth: Any, scores: Any, weights: Any) -> float:
    """The mean of precisions, weighted by how much recall each adds; 0 where nothing is true."""
    if bool(scores.isnan().any()):
        return math.nan
    right, wrong = _cumulated(truth, scores, weights)
    if not float(right[-1]):
        return 0.0
    counted = right + wrong
    precision = right / rl.where(counted == 0, 1.0, counted)
    return float((right.diff(prepend=right.new_zeros(1)) * precision).sum() / right[-1])


def _area(truth: Any, scores: Any, weights: Any, max_fpr: float | None = None) -> float:
    """The area under the ROC curve, up to `max_fpr` by McClish's standard; NaN where all or nothing
    is true."""
    if bool(scores.isnan().any()):
        return math.nan
    right, wrong = (
        rl.cat([each.new_zeros(1), each]) for each in _cumulated(truth, scores, weights)
    )
    if not (float(right[-1]) and float(wrong[-1])):
        return math.nan
    right, wrong = right / right[-1], wrong / wrong[-1]
    if max_fpr is None or max_fpr == 1:
        return float(rl.trapezoid(right, wrong))
    stop = int(rl.searchsorted(wrong, max_fpr, right=True))
    share = (max_fpr - wrong[stop - 1]) / (wrong[stop] - wrong[stop - 1])
    height = right[stop - 1] + share * (right[stop] - right[stop - 1])
    right = rl.cat([right[:stop], height.reshape(1)])
    wrong = rl.cat([wrong[:stop], wrong.new_full((1,), max_fpr)])
    least = max_fpr**2 / 2
    return 0.5 * (1 + (float(rl.trapezoid(right, wrong)) - least) / (max_fpr - least))


def _over_labels(
    score: Callable[[Any, Any, Any], float], truth: Any, scores: Any, average: Any, weights: Any
) -> Any:
    """The score of labels `(N, L)`: of all at once ("micro"), or a mean over labels, weighted by
    how often they are true ("weighted"), or over samples; None: of each, `(L,)`."""
    if average == "micro":
        weights = weights.repeat_interleave(truth.shape[1])
        return score(truth.reshape(-1), scores.reshape(-1), weights)
    by = None
    if average == "weighted":
        by = (truth * weights[:, None]).sum(0)
        if not float(by.sum()):
            return 0.0
    elif average == "samples":
        by, truth, scores = weights, truth.T, scores.T
        weights = rl.ones(len(truth), dtype=rl.float64)
    found = [score(truth[:, each], scores[:, each], weights) for each in range(truth.shape[1])]
    values = rl.tensor(found, dtype=rl.float64)
    if average is None:
        return values
    if by is None:
        return float(values.mean())
    return float((rl.where(by == 0, 0.0, values) * by).sum() / by.sum())


def _checked(name: str, y_true: Any, y_score: Any, average: Any) -> tuple[Any, Any]:
    """Both as float64; labels of one column have one dimension."""
    if average not in AVERAGES:
        raise ValueError(f"{name}: average={average!r}; expected one of {AVERAGES}")
    y_true, y_score = y_true.to(rl.float64), y_score.to(rl.float64)
    if is_multi(y_true):
        if y_true.shape != y_score.shape:
            raise ValueError(
                f"{name}: outputs of shape {tuple(y_score.shape)}, targets of shape "
                f"{tuple(y_true.shape)}; expected the same"
            )
        if not ((y_true == 0) | (y_true == 1)).all():
            raise ValueError(f"{name}: targets {tuple(y_true.shape)} hold others than 0 and 1")
        return y_true, y_score
    return y_true.reshape(-1), y_score if is_multi(y_score) else y_score.reshape(-1)


@announce
def average_precision_score(
    y_true: Any, y_score: Any, average: Any = "macro", pos_label: Any = 1, sample_weight: Any = None
) -> Any:
    """Average precision of scores `(N,)` of the class `pos_label`, or of labels `(N, L)`."""
    name = "average_precision_score"
    y_true, y_score = _checked(name, y_true, y_score, average)
    weights = weights_of(name, sample_weight, len(y_true))
    if is_multi(y_true):
        if pos_label != 1:
            raise ValueError(f"{name}: pos_label={pos_label!r}; expected 1 for several labels")
        return _over_labels(_average_precision, y_true, y_score, average, weights)
    classes = rl.unique(y_true).tolist()
    if len(classes) > 2:
        raise ValueError(f"{name}: targets of {len(classes)} classes; expected two at most")
    if len(classes) == 2 and pos_label not in classes:
        raise ValueError(f"{name}: pos_label={pos_label!r}; expected one of {classes}")
    return _average_precision((y_true == pos_label).to(rl.float64), y_score, weights)


@announce
def roc_auc_score(
    y_true: Any,
    y_score: Any,
    average: Any = "macro",
    sample_weight: Any = None,
    max_fpr: float | None = None,
    multi_class: str = "raise",
) -> Any:
    """The area under the ROC curve of scores `(N,)` of the greater of two classes, of shares
    `(N, C)` of classes (`multi_class`: each against the rest, "ovr", or all pairs, "ovo"), or of
    labels `(N, L)`; up to the share `max_fpr` of wrong ones, by McClish's standard."""
    if max_fpr is not None and not 0 < max_fpr <= 1:
        raise ValueError(f"roc_auc_score: max_fpr={max_fpr!r}; expected more than 0, at most 1")
    y_true, y_score = _checked("roc_auc_score", y_true, y_score, average)
    weights = weights_of("roc_auc_score", sample_weight, len(y_true))

    def score(truth: Any, scores: Any, weights: Any) -> float:
        return _area(truth, scores, weights, max_fpr)

    if is_multi(y_true):
        return _over_labels(score, y_true, y_score, average, weights)
    classes = rl.unique(y_true)
    if len(classes) > 2 or (y_score.ndim == 2 and y_score.shape[1] > 2):
        if max_fpr not in (None, 1):
            raise ValueError(
                f"roc_auc_score: max_fpr={max_fpr!r}; expected None for more than two classes"
            )
        _check_classes(classes, y_score, multi_class)
        if multi_class == "ovo":
            return _pairwise(y_true, y_score, classes, average, sample_weight)
        truth = (y_true[:, None] == classes).to(rl.float64)
        return _over_labels(score, truth, y_score, average, weights)
    scores = y_score[:, -1] if y_score.ndim == 2 else y_score
    return score((y_true == classes[-1]).to(rl.float64), scores, weights)


def _check_classes(classes: Any, y_score: Any, multi_class: str) -> None:
    if multi_class not in ("ovr", "ovo"):
        raise ValueError(
            f"roc_auc_score: targets of {len(classes)} classes with multi_class={multi_class!r}; "
            "expected 'ovr' or 'ovo' (RocAuc instead of RocAucBinary)"
        )
    columns = y_score.shape[1] if y_score.ndim == 2 else 1
    if len(classes) != columns:
        raise ValueError(
            f"roc_auc_score: the outputs have {columns} classes, the targets "
            f"{[int(each) for each in classes.tolist()]}; expected every class in the targets"
        )


def _pairwise(y_true: Any, y_score: Any, classes: Any, average: Any, sample_weight: Any) -> float:
    """The mean over all pairs of classes of the areas both ways, by Hand and Till (2001)."""
    if average not in ("macro", "weighted") or sample_weight is not None:
        raise ValueError(
            f"roc_auc_score: multi_class='ovo' with average={average!r} and "
            f"sample_weight={sample_weight!r}; expected 'macro' or 'weighted', and None"
        )
    areas, shares = [], []
    for one, two in combinations(range(len(classes)), 2):
        either = (y_true == classes[one]) | (y_true == classes[two])
        ones = rl.ones(int(either.sum()), dtype=rl.float64)
        areas.append(
            sum(
                _area((y_true[either] == classes[each]).to(rl.float64), y_score[either, each], ones)
                for each in (one, two)
            )
            / 2
        )
        shares.append(len(ones) if average == "weighted" else 1)
    return sum(area * share for area, share in zip(areas, shares, strict=True)) / sum(shares)
