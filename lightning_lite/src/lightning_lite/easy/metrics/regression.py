"""Metrics of numbers over all of validation: correlations, explained variance, roots of means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.easy.data.describing import announce
from lightning_lite.easy.metrics.accumulated import AccumMetric, for_targets
from lightning_lite.easy.metrics.counts import weights_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight import Tensor


def _doubles(*values: Any) -> list[Any]:
    return [each.to(rl.float64).reshape(-1) for each in values]


@announce
def _rmse(outputs: Any, targets: Any) -> Any:
    return (outputs - targets).square().mean().sqrt()


@announce
def _exp_rmspe(outputs: Any, targets: Any) -> Any:
    outputs, targets = outputs.exp(), targets.exp()
    return ((targets - outputs) / targets).square().mean().sqrt()


@announce
def r2_score(
    y_true: Any, y_pred: Any, sample_weight: Sequence[float] | Tensor | None = None
) -> float:
    """1 less the share of the targets' variance that outputs miss; for targets that are all the
    same 1 or 0, and NaN for one target alone."""
    y_true, y_pred = _doubles(y_true, y_pred)
    weights = weights_of("r2_score", sample_weight, len(y_true))
    mean = (weights * y_true).sum() / weights.sum()
    missed = float((weights * (y_true - y_pred).square()).sum())
    spread = float((weights * (y_true - mean).square()).sum())
    return math.nan if len(y_true) < 2 else _explained(missed, spread)


@announce
def explained_variance_score(
    y_true: Any, y_pred: Any, sample_weight: Sequence[float] | Tensor | None = None
) -> float:
    """The same, but for a constant by which outputs are wrong."""
    y_true, y_pred = _doubles(y_true, y_pred)
    weights = weights_of("explained_variance_score", sample_weight, len(y_true))
    variances = []
    for each in (y_true - y_pred, y_true):
        mean = (weights * each).sum() / weights.sum()
        variances.append(float((weights * (each - mean).square()).sum() / weights.sum()))
    return _explained(*variances)


def _explained(missed: float, spread: float) -> float:
    if spread == 0:
        return 1.0 if missed == 0 else 0.0
    return 1 - missed / spread


@announce
def pearsonr(outputs: Any, targets: Any) -> float:
    """Pearson's correlation; NaN where either is constant. ValueError for one number alone."""
    outputs, targets = _doubles(outputs, targets)
    if len(outputs) < 2:
        raise ValueError("pearsonr: there is one number; expected two or more")
    if bool((outputs == outputs[0]).all()) or bool((targets == targets[0]).all()):
        return math.nan
    outputs, targets = outputs - outputs.mean(), targets - targets.mean()
    found = float(outputs @ targets / (outputs.norm() * targets.norm()))
    return found if math.isnan(found) else min(1.0, max(-1.0, found))


@announce
def spearmanr(outputs: Any, targets: Any, axis: Any = 0, nan_policy: str = "propagate") -> float:
    """Spearman's correlation: Pearson's of the ranks, equal numbers sharing the mean of theirs."""
    if axis not in (0, None):
        raise ValueError(f"spearmanr: axis={axis!r}; expected 0: outputs and targets are flattened")
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"spearmanr: nan_policy={nan_policy!r}; expected 'propagate', 'omit' or 'raise'"
        )
    outputs, targets = _doubles(outputs, targets)
    missing = outputs.isnan() | targets.isnan()
    if bool(missing.any()):
        if nan_policy == "propagate":
            return math.nan
        if nan_policy == "raise":
            raise ValueError("spearmanr: outputs or targets hold NaN")
        outputs, targets = outputs[~missing], targets[~missing]
    return pearsonr(_ranks(outputs), _ranks(targets)) if len(outputs) > 1 else math.nan


def _ranks(values: Any) -> Any:
    _, positions, counts = rl.unique(values, return_inverse=True, return_counts=True)
    return (counts.cumsum(0) - (counts - 1) / 2)[positions]


rmse = AccumMetric(_rmse)
exp_rmspe = AccumMetric(_exp_rmspe)


def R2Score(sample_weight: Sequence[float] | Tensor | None = None) -> AccumMetric:
    """The coefficient of determination over all of validation. `sample_weight`: `(N,)`.

    >>> import rushlight as rl
    >>> R2Score()(rl.tensor([1.0, 2.0, 4.0]), rl.tensor([1.0, 2.0, 3.0]))
    tensor(0.5000)
    """
    return for_targets(r2_score, is_class=False, sample_weight=sample_weight)


def ExplainedVariance(sample_weight: Sequence[float] | Tensor | None = None) -> AccumMetric:
    """The share of the targets' variance that outputs explain. `sample_weight`: `(N,)`.

    >>> import rushlight as rl
    >>> ExplainedVariance()(rl.tensor([1.0, 2.0, 3.0]), rl.tensor([2.0, 3.0, 4.0]))
    tensor(1.)
    """
    return for_targets(explained_variance_score, is_class=False, sample_weight=sample_weight)


def PearsonCorrCoef(dim_argmax: int | None = None, **kwargs: Any) -> AccumMetric:
    """Pearson's correlation of outputs and targets. `kwargs`: those of `AccumMetric`.

    >>> import rushlight as rl
    >>> PearsonCorrCoef()(rl.tensor([1.0, 2.0, 3.0]), rl.tensor([6.0, 4.0, 2.0]))
    tensor(-1.)
    """
    return AccumMetric(pearsonr, dim_argmax, invert_arg=False, **kwargs)


def SpearmanCorrCoef(
    dim_argmax: int | None = None, axis: int = 0, nan_policy: str = "propagate", **kwargs: Any
) -> AccumMetric:
    """Spearman's correlation of outputs and targets. `nan_policy`: "propagate" gives NaN where one
    is, "omit" leaves such pairs out, "raise" is a ValueError. `kwargs`: those of `AccumMetric`.

    >>> import rushlight as rl
    >>> SpearmanCorrCoef()(rl.tensor([1.0, 2.0, 9.0]), rl.tensor([1.0, 4.0, 5.0]))
    tensor(1.)
    """
    options = {"axis": axis, "nan_policy": nan_policy, **kwargs}
    return AccumMetric(spearmanr, dim_argmax, invert_arg=False, **options)
