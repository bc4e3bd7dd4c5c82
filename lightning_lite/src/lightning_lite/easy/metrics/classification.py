"""Metrics of classifiers over all of validation, for targets of one class each.

Outputs are scores of classes, `(N, C)` or with the classes along `axis`, targets the classes'
numbers, `(N,)`. The largest score decides; `RocAuc`, `RocAucBinary` and `APScoreBinary` look at the
shares that softmax gives. `sample_weight`: a weight for each sample of validation, in its order. A
class that is nowhere scores 0. Values are those of fastai, which asks scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightning_lite.easy.metrics.accumulated import AccumMetric, ActivationType, for_targets
from lightning_lite.easy.metrics.agreement import (
    balanced_accuracy_score,
    brier_score_loss,
    cohen_kappa_score,
    hamming_loss,
    matthews_corrcoef,
)
from lightning_lite.easy.metrics.counts import (
    f1_score,
    fbeta_score,
    jaccard_score,
    precision_score,
    recall_score,
)
from lightning_lite.easy.metrics.curves import average_precision_score, roc_auc_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight import Tensor


def _by_label(
    func: Any, axis: int, labels: Any, pos_label: Any, average: Any, sample_weight: Any, **more: Any
) -> AccumMetric:
    how = {"labels": labels, "pos_label": pos_label, "average": average}
    return for_targets(func, axis=axis, sample_weight=sample_weight, **how, **more)


def F1Score(
    axis: int = -1,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    average: str | None = "binary",
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """The harmonic mean of precision and recall.

    `average`: "binary" is the score of `pos_label`, of two classes; "macro" the mean over
    `labels` (by default all that are in outputs or targets), "weighted" by how often targets have
    them, "micro" the score of all decisions; None a tensor of the scores. ValueError for "binary"
    with more than two classes.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[1.0, 2], [2, 1], [0, 1], [0, 1]]), rl.tensor([1, 0, 0, 1])
    >>> F1Score()(outputs, targets)
    tensor(0.8000)
    """
    return _by_label(f1_score, axis, labels, pos_label, average, sample_weight)


def FBeta(
    beta: float,
    axis: int = -1,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    average: str | None = "binary",
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Precision and recall in one, recall being `beta` times as important; see `F1Score`.

    Args:
        labels: the classes that count, by default all that are there.
        pos_label: the class whose score is meant by `average="binary"`.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[1.0, 2], [2, 1], [0, 1], [0, 1]]), rl.tensor([1, 0, 0, 1])
    >>> FBeta(2)(outputs, targets)
    tensor(0.9091)
    """
    return _by_label(fbeta_score, axis, labels, pos_label, average, sample_weight, beta=beta)


def Precision(
    axis: int = -1,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    average: str | None = "binary",
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Of the samples that were taken for a class, how many are of it; see `F1Score`.

    Args:
        labels: the classes that count, by default all that are there.
        pos_label: the class whose score is meant by `average="binary"`.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[1.0, 2], [2, 1], [0, 1], [0, 1]]), rl.tensor([1, 0, 0, 1])
    >>> Precision()(outputs, targets)
    tensor(0.6667)
    """
    return _by_label(precision_score, axis, labels, pos_label, average, sample_weight)


def Recall(
    axis: int = -1,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    average: str | None = "binary",
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Of the samples of a class, how many were taken for it; see `F1Score`.

    Args:
        labels: the classes that count, by default all that are there.
        pos_label: the class whose score is meant by `average="binary"`.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[1.0, 2], [2, 1], [0, 1], [0, 1]]), rl.tensor([1, 0, 0, 1])
    >>> Recall()(outputs, targets)
    tensor(1.)
    """
    return _by_label(recall_score, axis, labels, pos_label, average, sample_weight)


def Jaccard(
    axis: int = -1,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    average: str | None = "binary",
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Of the samples that are of a class or were taken for it, how many are both; see `F1Score`.

    Args:
        labels: the classes that count, by default all that are there.
        pos_label: the class whose score is meant by `average="binary"`.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[1.0, 2], [2, 1], [0, 1], [0, 1]]), rl.tensor([1, 0, 0, 1])
    >>> Jaccard()(outputs, targets)
    tensor(0.6667)
    """
    return _by_label(jaccard_score, axis, labels, pos_label, average, sample_weight)


def BalancedAccuracy(
    axis: int = -1, sample_weight: Sequence[float] | Tensor | None = None, adjusted: bool = False
) -> AccumMetric:
    """The mean of the recalls of all classes; `adjusted` so that chance is 0.

    >>> import rushlight as rl
    >>> BalancedAccuracy()(rl.tensor([[1.0, 2], [2, 1], [0, 1]]), rl.tensor([1, 0, 0]))
    tensor(0.7500)
    """
    return for_targets(
        balanced_accuracy_score, axis=axis, sample_weight=sample_weight, adjusted=adjusted
    )


def BrierScore(
    axis: int = -1,
    sample_weight: Sequence[float] | Tensor | None = None,
    pos_label: int | None = None,
) -> AccumMetric:
    """The Brier score of the classes of outputs, as fastai has it: the share of wrong ones. For two
    classes; ValueError for others.

    Args:
        pos_label: the class that counts as 1, by default the larger one.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[1.0, 2], [2, 1], [0, 1], [0, 1]]), rl.tensor([1, 0, 0, 1])
    >>> BrierScore()(outputs, targets)
    tensor(0.2500)
    """
    return for_targets(
        brier_score_loss, axis=axis, sample_weight=sample_weight, pos_label=pos_label
    )


def CohenKappa(
    axis: int = -1,
    labels: Sequence[int] | None = None,
    weights: str | None = None,
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Cohen's kappa: agreement above what chance gives, at most 1.

    `weights`: "linear" or "quadratic": classes that are further apart disagree more. `labels`: the
    classes that count, in their order. NaN where there is but one class.

    >>> import rushlight as rl
    >>> CohenKappa()(rl.tensor([[1.0, 2], [2, 1], [0, 1]]), rl.tensor([1, 0, 0]))
    tensor(0.4000)
    """
    return for_targets(
        cohen_kappa_score, axis=axis, labels=labels, weights=weights, sample_weight=sample_weight
    )


def HammingLoss(
    axis: int = -1, sample_weight: Sequence[float] | Tensor | None = None
) -> AccumMetric:
    """The share of wrong classes.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[1.0, 2], [2, 1], [0, 1], [0, 1]]), rl.tensor([1, 0, 0, 1])
    >>> HammingLoss()(outputs, targets)
    tensor(0.2500)
    """
    return for_targets(hamming_loss, axis=axis, sample_weight=sample_weight)


def MatthewsCorrCoef(
    sample_weight: Sequence[float] | Tensor | None = None, **kwargs: Any
) -> AccumMetric:
    """Matthews' correlation coefficient, between -1 and 1. `kwargs`: those of `skm_to_fastai`, such
    as `axis`, and of `AccumMetric`.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[1.0, 2], [2, 1], [0, 1], [0, 1]]), rl.tensor([1, 0, 0, 1])
    >>> MatthewsCorrCoef()(outputs, targets)
    tensor(0.5774)
    """
    return for_targets(matthews_corrcoef, sample_weight=sample_weight, **kwargs)


def RocAuc(
    axis: int = -1,
    average: str | None = "macro",
    sample_weight: Sequence[float] | Tensor | None = None,
    max_fpr: float | None = None,
    multi_class: str = "ovr",
) -> AccumMetric:
    """The area under the ROC curve of outputs `(N, C)`, whose classes stand along `axis`.

    `multi_class`: "ovr" is the mean over classes against the rest ("macro", "weighted" by how often
    they are, "micro" of all decisions, None a tensor), "ovo" over all pairs of classes. ValueError
    where targets lack a class of the outputs.

    >>> import rushlight as rl
    >>> outputs = rl.tensor([[3.0, 0, 0], [0, 2, 1], [1, 0, 2], [2, 0, 0.5]])
    >>> RocAuc()(outputs, rl.tensor([0, 1, 2, 2]))
    tensor(0.9167)
    """
    if multi_class not in ("ovr", "ovo"):
        raise ValueError(f"RocAuc: multi_class={multi_class!r}; expected 'ovr' or 'ovo'")
    return for_targets(
        roc_auc_score, axis=axis, activation=ActivationType.Softmax, flatten=False,
        sample_weight=sample_weight, average=average, max_fpr=max_fpr, multi_class=multi_class,
    )  # fmt: skip


def RocAucBinary(
    axis: int = -1,
    average: str | None = "macro",
    sample_weight: Sequence[float] | Tensor | None = None,
    max_fpr: float | None = None,
    multi_class: str = "raise",
) -> AccumMetric:
    """The area under the ROC curve of the last of two classes, up to the share `max_fpr` of wrong
    ones. NaN where targets are all of one class. ValueError for more classes: use `RocAuc`.

    >>> import rushlight as rl
    >>> outputs = rl.tensor([[0.0, 1], [0, 2], [0, 3], [0, 4]])
    >>> RocAucBinary()(outputs, rl.tensor([0, 1, 0, 1]))
    tensor(0.7500)
    """
    return for_targets(
        roc_auc_score, axis=axis, activation=ActivationType.BinarySoftmax,
        sample_weight=sample_weight, average=average, max_fpr=max_fpr, multi_class=multi_class,
    )  # fmt: skip


def APScoreBinary(
    axis: int = -1,
    average: str | None = "macro",
    pos_label: int = 1,
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Average precision of the last of two classes: the area under precision by recall.

    >>> import rushlight as rl
    >>> outputs = rl.tensor([[0.0, 1], [0, 2], [0, 3], [0, 4]])
    >>> APScoreBinary()(outputs, rl.tensor([0, 1, 0, 1]))
    tensor(0.8333)
    """
    return for_targets(
        average_precision_score, axis=axis, activation=ActivationType.BinarySoftmax,
        average=average, pos_label=pos_label, sample_weight=sample_weight,
    )  # fmt: skip
