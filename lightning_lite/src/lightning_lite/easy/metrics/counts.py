"""Scores of labels by what was found, what there is, and what both are: precision, recall, F and
Jaccard scores, as scikit-learn averages them.

`y_true` and `y_pred`: classes `(N,)`, or labels of 0 and 1 `(N, L)`, several of which may be true.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import rushlight as rl
from lightning_lite.easy.data.describing import announce

AVERAGES = ("binary", "micro", "macro", "weighted", "samples", None)


class Counts(NamedTuple):
    """Weights of the samples of each label: `both` in outputs and targets, `found` in outputs,
    `real` in targets; each `(L,)`, or `(N,)` by samples."""

    both: Any
    found: Any
    real: Any


class Averaging(NamedTuple):
    """How the scores of labels become one: scikit-learn's arguments."""

    labels: Any = None
    pos_label: Any = 1
    average: str | None = "binary"
    sample_weight: Any = None


def is_multi(y: Any) -> bool:
    """Whether targets have several labels each."""
    return bool(y.ndim == 2 and y.shape[1] > 1)


def weights_of(name: str, sample_weight: Any, count: int) -> Any:
    """The weights of samples as float64, 1 by default. ValueError unless there are `count`."""
    if sample_weight is None:
        return rl.ones(count, dtype=rl.float64)
    weights = rl.as_tensor(sample_weight, dtype=rl.float64).reshape(-1)
    if len(weights) != count:
        raise ValueError(
            f"{name}: sample_weight has {len(weights)} weights; expected one for each of the "
            f"{count} samples gathered"
        )
    return weights


def doubles(name: str, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Both as float64, of one dimension where each sample has one label. ValueError where a sample
    with several has others than 0 and 1."""
    y_true, y_pred = y_true.to(rl.float64), y_pred.to(rl.float64)
    if not (is_multi(y_true) or is_multi(y_pred)):
        return y_true.reshape(-1), y_pred.reshape(-1)
    if y_true.shape != y_pred.shape:
        raise ValueError(
            f"{name}: outputs give {tuple(y_pred.shape)} labels, targets are "
            f"{tuple(y_true.shape)}; expected the same shape"
        )
    if not ((y_true == 0) | (y_true == 1)).all():
        raise ValueError(f"{name}: targets {tuple(y_true.shape)} hold others than 0 and 1")
    return y_true, y_pred


def encoded(y_true: Any, y_pred: Any) -> tuple[Any, Any, Any]:
    """The classes that are in either, and both as positions among them."""
    present, codes = rl.unique(rl.cat([y_true, y_pred]), return_inverse=True)
    return present, codes[: len(y_true)], codes[len(y_true) :]


def label_counts(name: str, y_true: Any, y_pred: Any, how: Averaging) -> Counts:
    """The counts of the labels to average over."""
    y_true, y_pred = doubles(name, y_true, y_pred)
    weights = weights_of(name, how.sample_weight, len(y_true))
    if is_multi(y_true):
        return _of_columns(name, y_true, y_pred, weights, how)
    if how.average == "samples":
        raise ValueError(f"{name}: average='samples' needs targets of several labels, (N, L)")
    present, real, found = encoded(y_true, y_pred)
    labels = _binary_label(name, present, how) if how.average == "binary" else how.labels
    size = len(present)
    right = real == found
    counts = Counts(
        rl.bincount(real[right], weights[right], size),
        rl.bincount(found, weights, size),
        rl.bincount(real, weights, size),
    )
    if labels is None:
        return counts
    wanted = rl.as_tensor(labels, dtype=rl.float64).reshape(-1, 1) == present
    return Counts(*((wanted * each).sum(1) for each in counts))


def _binary_label(name: str, present: Any, how: Averaging) -> list[Any]:
    if len(present) > 2:
        raise ValueError(
            f"{name}: average='binary' is for two classes, there are {len(present)}; expected "
            "average='micro', 'macro', 'weighted' or None"
        )
    if len(present) == 2 and how.pos_label not in present.tolist():
        raise ValueError(f"{name}: pos_label={how.pos_label!r}; expected one of {present.tolist()}")
    return [how.pos_label]


def _of_columns(name: str, y_true: Any, y_pred: Any, weights: Any, how: Averaging) -> Counts:
    if how.average == "binary":
        raise ValueError(
            f"{name}: average='binary' is for one label, there are {y_true.shape[1]}; expected "
            "average='micro', 'macro', 'weighted', 'samples' or None"
        )
    if how.labels is not None:
        columns = rl.as_tensor(how.labels, dtype=rl.int64).reshape(-1)
        if bool(((columns < 0) | (columns >= y_true.shape[1])).any()):
            raise ValueError(
                f"{name}: labels={columns.tolist()}; expected numbers of the {y_true.shape[1]} "
                "labels"
            )
        y_true, y_pred = y_true[:, columns], y_pred[:, columns]
    parts = (y_true * y_pred, y_pred, y_true)
    if how.average == "samples":
        return Counts(*(each.sum(1) for each in parts))
    return Counts(*((each * weights[:, None]).sum(0) for each in parts))


def ratio(part: Any, whole: Any) -> Any:
    """A part of a whole; 0 where there is no whole."""
    return rl.where(whole == 0, 0.0, part / rl.where(whole == 0, 1.0, whole))


def averaged(
    name: str, y_true: Any, y_pred: Any, how: Averaging, score: Callable[[Counts], Any]
) -> Any:
    """The score of all labels as one number; with `average=None` a tensor `(L,)`. Labels that are
    nowhere score 0."""
    if how.average not in AVERAGES:
        raise ValueError(f"{name}: average={how.average!r}; expected one of {AVERAGES}")
    counts = label_counts(name, y_true, y_pred, how)
    if how.average == "micro":
        counts = Counts(*(each.sum().reshape(1) for each in counts))
    scores = score(counts)
    if how.average is None:
        return scores
    by = None
    if how.average == "weighted":
        by = counts.real
    elif how.average == "samples":
        by = weights_of(name, how.sample_weight, len(scores))
    if by is None or not float(by.sum()):
        return float(scores.mean())
    return float((scores * by).sum() / by.sum())


@announce
def precision_score(y_true: Any, y_pred: Any, **how: Any) -> Any:
    """Of what was found, how much is right. `how`: see `Averaging`."""
    return averaged(
        "precision_score",
        y_true,
        y_pred,
        Averaging(**how),
        lambda each: ratio(each.both, each.found),
    )


@announce
def recall_score(y_true: Any, y_pred: Any, **how: Any) -> Any:
    """Of what there is, how much was found. `how`: see `Averaging`."""
    return averaged(
        "recall_score", y_true, y_pred, Averaging(**how), lambda each: ratio(each.both, each.real)
    )


def _f_score(name: str, y_true: Any, y_pred: Any, beta: float, how: Averaging) -> Any:
    if not beta >= 0:
        raise ValueError(f"{name}: beta={beta}; expected 0 or more")

    def score(counts: Counts) -> Any:
        if math.isinf(beta):
            return ratio(counts.both, counts.real)
        square = beta * beta
        return ratio((1 + square) * counts.both, square * counts.real + counts.found)

    return averaged(name, y_true, y_pred, how, score)


@announce
def fbeta_score(y_true: Any, y_pred: Any, beta: float, **how: Any) -> Any:
    """The harmonic mean of precision and recall, the latter weighted by the square of `beta`;
    `beta=math.inf` is recall alone. `how`: see `Averaging`. ValueError for negative `beta`."""
    return _f_score("fbeta_score", y_true, y_pred, beta, Averaging(**how))


@announce
def f1_score(y_true: Any, y_pred: Any, **how: Any) -> Any:
    """The harmonic mean of precision and recall. `how`: see `Averaging`."""
    return _f_score("f1_score", y_true, y_pred, 1.0, Averaging(**how))


@announce
def jaccard_score(y_true: Any, y_pred: Any, **how: Any) -> Any:
    """Of what was found or there is, how much is both. `how`: see `Averaging`."""
    return averaged(
        "jaccard_score", y_true, y_pred, Averaging(**how),
        lambda each: ratio(each.both, each.found + each.real - each.both),
    )  # fmt: skip
