"""Metrics of a batch whose mean over batches, weighted by their sizes, is that of all data.

Each takes outputs and targets and gives a tensor of one element. For metrics that are no means (F1,
AUC), torchmetrics runs on Rushlight.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from lightning_lite.easy.data.describing import announce


@announce
def accuracy(output: Any, target: Any, axis: int = -1) -> Any:
    """The share of targets at which the output is largest along `axis`.

    >>> import rushlight as rl
    >>> accuracy(rl.tensor([[0.1, 0.9], [0.8, 0.2]]), rl.tensor([1, 1])).item()
    0.5
    """
    return (output.argmax(axis) == target).float().mean()


@announce
def error_rate(output: Any, target: Any, axis: int = -1) -> Any:
    """1 less `accuracy`."""
    return 1 - accuracy(output, target, axis)


@announce
def top_k_accuracy(output: Any, target: Any, k: int = 5, axis: int = -1) -> Any:
    """The share of targets that are among the `k` largest outputs."""
    best = output.topk(k, dim=axis).indices
    return (best == target.unsqueeze(axis)).any(axis).float().mean()


@announce
def accuracy_multi(output: Any, target: Any, thresh: float = 0.5, sigmoid: bool = True) -> Any:
    """The share of labels, several for each example, that are on the right side of `thresh`."""
    output = output.sigmoid() if sigmoid else output
    return ((output > thresh) == target.bool()).float().mean()


@announce
def mse(output: Any, target: Any) -> Any:
    """The mean squared difference."""
    return (output - target).square().mean()


@announce
def mae(output: Any, target: Any) -> Any:
    """The mean absolute difference."""
    return (output - target).abs().mean()


@announce
def foreground_acc(output: Any, target: Any, bkg_idx: int = 0, axis: int = 1) -> Any:
    """The share of pixels whose class is right, among those that are not `bkg_idx`."""
    seen = target != bkg_idx
    return (output.argmax(axis)[seen] == target[seen]).float().mean()


def named(metric: Any, name: str, **options: Any) -> Any:
    """A metric with some arguments given, and the name that its numbers get.

    >>> named(top_k_accuracy, "top2", k=2).__name__
    'top2'
    """
    made: Any = partial(metric, **options)
    made.__name__ = name
    return made
