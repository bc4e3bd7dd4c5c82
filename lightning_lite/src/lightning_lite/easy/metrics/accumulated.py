"""AccumMetric: any function of all outputs and targets of validation as a metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.describing import describable
from lightning_lite.easy.metrics.gathered import Gathered
from lightning_lite.easy.metrics.of_batches import flattened


class ActivationType:
    """What becomes of outputs before an `AccumMetric` keeps them."""

    No = "no"
    Sigmoid = "sigmoid"
    Softmax = "softmax"
    BinarySoftmax = "binarysoftmax"


ACTIVATIONS = ("no", "sigmoid", "softmax", "binarysoftmax")


@describable
class AccumMetric(Gathered):
    """A function of all outputs and targets of validation, which are kept on the CPU.

    `func(outputs, targets, **kwargs)`, or `func(targets, outputs, **kwargs)` with
    `invert_arg=True`; with `to_np` of NumPy arrays. Before, outputs get an `activation` ("no",
    "sigmoid"; "softmax" along `dim_argmax`, or the last dimension; "binarysoftmax" keeps the share
    of the last class), or, with none and a `dim_argmax`, become the number of the largest along it;
    with `thresh` whether they are at least that. `flatten`: outputs and targets lose their shapes.
    `name`: by default the function's.

    Raises ValueError for outputs and targets of different sizes, and where there is no batch.

    >>> import rushlight as rl
    >>> largest = AccumMetric(lambda outputs, targets: (outputs - targets).abs().max(), name="most")
    >>> largest.update(rl.tensor([1.0, 2.0]), rl.tensor([1.5, 2.0]))
    >>> largest.update(rl.tensor([3.0]), rl.tensor([1.0]))
    >>> largest.compute()
    tensor(2.)
    """

    def __init__(
        self,
        func: Callable[..., Any],
        dim_argmax: int | None = None,
        activation: str = ActivationType.No,
        thresh: float | None = None,
        to_np: bool = False,
        invert_arg: bool = False,
        flatten: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if not callable(func):
            raise TypeError(
                f"AccumMetric: func is {func!r}; expected a function of outputs and targets"
            )
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"AccumMetric: activation={activation!r}; expected one of {ACTIVATIONS}"
            )
        super().__init__(name or _name_of(func))
        self.func, self.dim_argmax, self.activation = func, dim_argmax, activation
        self.thresh, self.to_np, self.invert_arg = thresh, to_np, invert_arg
        self.flatten, self.kwargs = flatten, kwargs

    def clear(self) -> None:
        """Forget outputs and targets."""
        self.outputs: list[Any] = []
        self.targets: list[Any] = []

    def gather(self, output: Any, target: Any) -> None:
        """Keep a batch."""
        output, target = self._activated(output).detach().cpu(), target.detach().cpu()
        if self.flatten:
            output, target = flattened(self.name, output, target)
        elif len(output) != len(target):
            raise ValueError(
                f"{self.name}: outputs of shape {tuple(output.shape)} and targets of shape "
                f"{tuple(target.shape)}; expected as many rows"
            )
        self.outputs.append(output)
        self.targets.append(target)

    def _activated(self, output: Any) -> Any:
        if self.activation in (ActivationType.Softmax, ActivationType.BinarySoftmax):
            output = output.softmax(-1 if self.dim_argmax is None else self.dim_argmax)
            output = output[:, -1] if self.activation == ActivationType.BinarySoftmax else output
        elif self.activation == ActivationType.Sigmoid:
            output = output.sigmoid()
        elif self.dim_argmax is not None:
            output = output.argmax(self.dim_argmax)
        return output if self.thresh is None else output >= self.thresh

    def state(self) -> Any:
        """All outputs and targets of this process; None where there are none."""
        return (rl.cat(self.outputs), rl.cat(self.targets)) if self.outputs else None

    def value_of(self, states: list[Any]) -> Any:
        """What the function gives."""
        parts = [each for each in states if each is not None]
        if not parts or not sum(len(outputs) for outputs, _ in parts):
            raise ValueError(
                f"{self.name}: nothing was gathered; expected an update(output, target) before "
                "compute()"
            )
        joined = [rl.cat(list(each)) for each in zip(*parts, strict=True)]
        outputs, targets = [each.numpy() for each in joined] if self.to_np else joined
        given = (targets, outputs) if self.invert_arg else (outputs, targets)
        return self.func(*given, **self.kwargs)


def _name_of(func: Any) -> str:
    return getattr(getattr(func, "func", func), "__name__", type(func).__name__)


def skm_to_fastai(
    func: Callable[..., Any],
    is_class: bool = True,
    thresh: float | None = None,
    axis: int = -1,
    activation: str | None = None,
    **kwargs: Any,
) -> AccumMetric:
    """A function of scikit-learn's kind, `func(targets, outputs)` of NumPy arrays, as a metric.

    `is_class`: the function compares classes: the number of the largest output along `axis`, or,
    with `thresh`, whether the sigmoid of an output is at least that. `activation`: see
    `AccumMetric`, which takes `kwargs` and hands those that it does not know to the function.

    >>> import rushlight as rl
    >>> def hits(targets, outputs):
    ...     return float((targets == outputs).sum())
    >>> skm_to_fastai(hits)(rl.tensor([[0.1, 0.9], [0.8, 0.2]]), rl.tensor([1, 1]))
    tensor(1.)
    """
    return for_targets(func, is_class, thresh, axis, activation, to_np=True, **kwargs)


def for_targets(
    func: Callable[..., Any],
    is_class: bool = True,
    thresh: float | None = None,
    axis: int = -1,
    activation: str | None = None,
    **kwargs: Any,
) -> AccumMetric:
    """The same of a function of tensors, as all of ours are."""
    if activation is None:
        by_sigmoid = is_class and thresh is not None
        activation = ActivationType.Sigmoid if by_sigmoid else ActivationType.No
    largest = axis if is_class and thresh is None else None
    return AccumMetric(func, largest, activation, thresh, invert_arg=True, **kwargs)
