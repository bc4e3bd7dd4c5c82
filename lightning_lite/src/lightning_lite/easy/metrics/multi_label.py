"""Metrics of classifiers over all of validation, for targets of several labels each.

Outputs are scores of labels, `(N, L)`, targets 0 and 1 of the same shape. With `sigmoid` (the
default) scores become shares first; those of at least `thresh` are labels. `average`: "macro" is
the mean over labels, "weighted" by how often targets have them, "micro" the score of all
decisions, "samples" the mean over samples; None a tensor of the scores of labels. Values are those
of fastai, which asks scikit-learn; but `RocAucMulti` and `APScoreMulti` take outputs as they are
with `sigmoid=False`, of which fastai's keep the number of the largest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightning_lite.easy.metrics.accumulated import AccumMetric, ActivationType, for_targets
from lightning_lite.easy.metrics.agreement import (
    brier_score_loss,
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


def _decided(
    func: Any, thresh: float | None, sigmoid: bool, sample_weight: Any, **how: Any
) -> AccumMetric:
    activation = ActivationType.Sigmoid if sigmoid else ActivationType.No
    options = {"activation": activation, "flatten": False, "sample_weight": sample_weight, **how}
    return for_targets(func, thresh=thresh, is_class=thresh is not None, **options)


def F1ScoreMulti(
    thresh: float = 0.5,
    sigmoid: bool = True,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    average: str | None = "macro",
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """The harmonic mean of precision and recall. `labels`: the numbers of those that count, by
    default all.

    >>> import rushlight as rl
    >>> outputs = rl.tensor([[2.0, -1], [3, 1], [-1, 2]])
    >>> F1ScoreMulti()(outputs, rl.tensor([[1, 0], [0, 1], [0, 1]]))
    tensor(0.8333)
    """
    how = {"labels": labels, "pos_label": pos_label, "average": average}
    return _decided(f1_score, thresh, sigmoid, sample_weight, **how)


def FBetaMulti(
    beta: float,
    thresh: float = 0.5,
    sigmoid: bool = True,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    average: str | None = "macro",
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Precision and recall in one, recall being `beta` times as important; see `F1ScoreMulti`.

    Args:
        thresh: labels whose outputs are above it are there.
        sigmoid: whether outputs are brought between 0 and 1 first.
        labels: the classes that count, by default all that are there.
        pos_label: the class whose score is meant by `average="binary"`.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[2.0, -1.0], [1.0, 1.0]]), rl.tensor([[1, 0], [0, 1]])
    >>> FBetaMulti(2)(outputs, targets)
    tensor(0.9167)
    """
    how = {"labels": labels, "pos_label": pos_label, "average": average, "beta": beta}
    return _decided(fbeta_score, thresh, sigmoid, sample_weight, **how)


def PrecisionMulti(
    thresh: float = 0.5,
    sigmoid: bool = True,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    average: str | None = "macro",
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Of the labels that outputs have, how many are right; see `F1ScoreMulti`.

    Args:
        thresh: labels whose outputs are above it are there.
        sigmoid: whether outputs are brought between 0 and 1 first.
        labels: the classes that count, by default all that are there.
        pos_label: the class whose score is meant by `average="binary"`.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[2.0, -1.0], [1.0, 1.0]]), rl.tensor([[1, 0], [0, 1]])
    >>> PrecisionMulti()(outputs, targets)
    tensor(0.7500)
    """
    how = {"labels": labels, "pos_label": pos_label, "average": average}
    return _decided(precision_score, thresh, sigmoid, sample_weight, **how)


def RecallMulti(
    thresh: float = 0.5,
    sigmoid: bool = True,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    average: str | None = "macro",
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Of the labels that targets have, how many were found; see `F1ScoreMulti`.

    Args:
        thresh: labels whose outputs are above it are there.
        sigmoid: whether outputs are brought between 0 and 1 first.
        labels: the classes that count, by default all that are there.
        pos_label: the class whose score is meant by `average="binary"`.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[2.0, -1.0], [1.0, 1.0]]), rl.tensor([[1, 0], [0, 1]])
    >>> RecallMulti()(outputs, targets)
    tensor(1.)
    """
    how = {"labels": labels, "pos_label": pos_label, "average": average}
    return _decided(recall_score, thresh, sigmoid, sample_weight, **how)


def JaccardMulti(
    thresh: float = 0.5,
    sigmoid: bool = True,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    average: str | None = "macro",
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Of the labels that outputs or targets have, how many both have; see `F1ScoreMulti`.

    Args:
        thresh: labels whose outputs are above it are there.
        sigmoid: whether outputs are brought between 0 and 1 first.
        labels: the classes that count, by default all that are there.
        pos_label: the class whose score is meant by `average="binary"`.

    >>> import rushlight as rl
    >>> outputs, targets = rl.tensor([[2.0, -1.0], [1.0, 1.0]]), rl.tensor([[1, 0], [0, 1]])
    >>> JaccardMulti()(outputs, targets)
    tensor(0.7500)
    """
    how = {"labels": labels, "pos_label": pos_label, "average": average}
    return _decided(jaccard_score, thresh, sigmoid, sample_weight, **how)


def HammingLossMulti(
    thresh: float = 0.5,
    sigmoid: bool = True,
    labels: Sequence[int] | None = None,
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """The share of wrong labels. `labels` is there for fastai's programs, and not looked at, as in
    fastai.

    >>> import rushlight as rl
    >>> HammingLossMulti()(rl.tensor([[2.0, -1], [3, 1]]), rl.tensor([[1, 0], [0, 1]]))
    tensor(0.2500)
    """
    return _decided(hamming_loss, thresh, sigmoid, sample_weight)


def BrierScoreMulti(
    thresh: float | None = 0.5,
    sigmoid: bool = True,
    sample_weight: Sequence[float] | Tensor | None = None,
    pos_label: int | None = None,
) -> AccumMetric:
    """The sum over labels of the mean squared differences, halved for two labels. As in fastai the
    outputs of at least `thresh` count as 1, others as 0; `thresh=None` takes shares as they are.
    `pos_label`: of one label."""
    return _decided(brier_score_loss, thresh, sigmoid, sample_weight, pos_label=pos_label)


def MatthewsCorrCoefMulti(
    thresh: float = 0.5, sigmoid: bool = True, sample_weight: Sequence[float] | Tensor | None = None
) -> AccumMetric:
    """Matthews' correlation coefficient of all labels as one problem of two classes. fastai's
    raises ValueError for more than one label.

    >>> import rushlight as rl
    >>> MatthewsCorrCoefMulti()(rl.tensor([[2.0, -1], [3, 1]]), rl.tensor([[1, 0], [0, 1]]))
    tensor(0.5774)
    """
    return _decided(matthews_corrcoef, thresh, sigmoid, sample_weight)


def RocAucMulti(
    sigmoid: bool = True,
    average: str | None = "macro",
    sample_weight: Sequence[float] | Tensor | None = None,
    max_fpr: float | None = None,
) -> AccumMetric:
    """The area under the ROC curves of labels, up to the share `max_fpr` of wrong ones. NaN where a
    label is in all targets or in none.

    >>> import rushlight as rl
    >>> outputs = rl.tensor([[2.0, -1], [3, 1], [4, 0]])
    >>> RocAucMulti()(outputs, rl.tensor([[1, 0], [0, 1], [1, 0]]))
    tensor(0.7500)
    """
    options = {"average": average, "max_fpr": max_fpr}
    return _decided(roc_auc_score, None, sigmoid, sample_weight, **options)


def APScoreMulti(
    sigmoid: bool = True,
    average: str | None = "macro",
    pos_label: int = 1,
    sample_weight: Sequence[float] | Tensor | None = None,
) -> AccumMetric:
    """Average precision of labels: the areas under precision by recall.

    >>> import rushlight as rl
    >>> APScoreMulti()(rl.tensor([[2.0, -1], [3, 1]]), rl.tensor([[1, 0], [0, 1]]))
    tensor(0.7500)
    """
    options = {"average": average, "pos_label": pos_label}
    return _decided(average_precision_score, None, sigmoid, sample_weight, **options)
