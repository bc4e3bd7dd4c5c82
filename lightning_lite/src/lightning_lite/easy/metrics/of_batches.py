"""Metrics of a batch whose mean over batches, weighted by their sizes, is that of all data.

Each takes outputs and targets and gives a tensor of one element. Metrics that are no means (F1, the
area under a curve) gather over all batches: see `gathered.py`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from lightning_lite.easy.data.describing import announce

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushlight import Tensor


def flattened(name: str, output: Any, target: Any) -> tuple[Any, Any]:
    """Outputs and targets without their shapes. ValueError where they are not as many."""
    if output.numel() != target.numel():
        raise ValueError(
            f"{name}: outputs of shape {tuple(output.shape)} and targets of shape "
            f"{tuple(target.shape)}; expected as many numbers"
        )
    return output.reshape(-1), target.reshape(-1)


@announce
def accuracy(output: Tensor, target: Tensor, axis: int = -1) -> Tensor:
    """The share of targets at which the output is largest along `axis`.

    >>> import rushlight as rl
    >>> accuracy(rl.tensor([[0.1, 0.9], [0.8, 0.2]]), rl.tensor([1, 1])).item()
    0.5
    """
    output, target = flattened("accuracy", output.argmax(axis), target)
    return (output == target).float().mean()


@announce
def error_rate(output: Tensor, target: Tensor, axis: int = -1) -> Tensor:
    """1 less `accuracy`.

    Args:
        output: `(N, C)`, a number for each class.

    >>> import rushlight as rl
    >>> error_rate(rl.tensor([[0.1, 0.9], [0.8, 0.2]]), rl.tensor([1, 1])).item()
    0.5
    """
    right: Any = accuracy(output, target, axis)
    return 1 - right


@announce
def top_k_accuracy(output: Tensor, target: Tensor, k: int = 5, axis: int = -1) -> Tensor:
    """The share of targets that are among the `k` largest outputs.

    Args:
        output: `(N, C)`, a number for each class.

    >>> import rushlight as rl
    >>> top_k_accuracy(rl.tensor([[0.1, 0.7, 0.2], [0.8, 0.1, 0.1]]), rl.tensor([2, 0]), k=2).item()
    1.0
    """
    best = output.topk(k, dim=axis).indices
    return (best == target.unsqueeze(axis)).any(axis).float().mean()


@announce
def accuracy_multi(
    output: Tensor, target: Tensor, thresh: float = 0.5, sigmoid: bool = True
) -> Tensor:
    """The share of labels, several for each example, that are on the right side of `thresh`.

    Args:
        output: `(N, C)`, a number for each label.
        sigmoid: whether outputs are brought between 0 and 1 first.

    >>> import rushlight as rl
    >>> accuracy_multi(rl.tensor([[2.0, -1.0]]), rl.tensor([[1, 1]])).item()
    0.5
    """
    output, target = flattened("accuracy_multi", output, target)
    output = output.sigmoid() if sigmoid else output
    return ((output > thresh) == target.bool()).float().mean()


@announce
def mse(output: Tensor, target: Tensor) -> Tensor:
    """The mean squared difference.

    Args:
        output: numbers of any shape.

    >>> import rushlight as rl
    >>> mse(rl.tensor([1.0, 3.0]), rl.tensor([2.0, 5.0])).item()
    2.5
    """
    output, target = flattened("mse", output, target)
    return (output - target).square().mean()


@announce
def mae(output: Tensor, target: Tensor) -> Tensor:
    """The mean absolute difference.

    Args:
        output: numbers of any shape.

    >>> import rushlight as rl
    >>> mae(rl.tensor([1.0, 3.0]), rl.tensor([2.0, 5.0])).item()
    1.5
    """
    output, target = flattened("mae", output, target)
    return (output - target).abs().mean()


@announce
def msle(output: Tensor, target: Tensor) -> Tensor:
    """The mean squared difference of the logarithms of 1 and outputs, and 1 and targets. NaN below
    -1.

    Args:
        output: numbers of any shape.

    >>> import rushlight as rl
    >>> msle(rl.tensor([1.0, 3.0]), rl.tensor([1.0, 3.0])).item()
    0.0
    """
    output, target = flattened("msle", output, target)
    return (output.log1p() - target.log1p()).square().mean()


@announce
def foreground_acc(output: Tensor, target: Tensor, bkg_idx: int = 0, axis: int = 1) -> Tensor:
    """The share of pixels whose class is right, among those that are not `bkg_idx`.

    Args:
        output: `(N, C, ...)`, a number for each class of every pixel.

    >>> import rushlight as rl
    >>> foreground_acc(rl.tensor([[[0.1, 0.2], [0.9, 0.1]]]), rl.tensor([[1, 1]])).item()
    0.5
    """
    target = target.squeeze(1) if target.ndim == output.ndim else target
    seen = target != bkg_idx
    return (output.argmax(axis)[seen] == target[seen]).float().mean()


def named(metric: Callable[..., Tensor], name: str, **options: Any) -> Callable[..., Tensor]:
    """A metric with some arguments given, and the name that its numbers get.

    >>> named(top_k_accuracy, "top2", k=2).__name__
    'top2'
    """
    made: Any = partial(metric, **options)
    made.__name__ = name
    return made
