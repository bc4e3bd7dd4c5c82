"""Metrics that gather over all batches of validation, for those that are no means of batches."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.describing import describable
from rushlight import nn


class Gathered(nn.Module):
    """The base: `update` gathers outputs and targets, `compute` gives the value, `reset` begins
    anew. A call gives the value of a batch alone."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.__name__ = name
        self.reset()

    def reset(self) -> None:
        """Forget what was gathered."""
        raise NotImplementedError("Gathered: a subclass says what it gathers")

    def update(self, output: Any, target: Any) -> None:
        """Gather a batch."""
        raise NotImplementedError("Gathered: a subclass says what it gathers")

    def compute(self) -> float:
        """The value of all batches since `reset`; NaN where it has none."""
        raise NotImplementedError("Gathered: a subclass says what it gathers")

    def forward(self, output: Any, target: Any) -> Any:
        """The value of a batch, as a tensor of no dimension; what was gathered is forgotten."""
        self.reset()
        self.update(output, target)
        value = rl.tensor(self.compute())
        self.reset()
        return value


class _Overlap(Gathered):
    """Pixels that are of a class in both output and target, and in either, by class."""

    def __init__(self, name: str, axis: int) -> None:
        self.axis = axis
        super().__init__(name)

    def reset(self) -> None:
        """Forget the pixels."""
        self.both: dict[int, float] = {}
        self.sums: dict[int, float] = {}

    def _classes(self, count: int) -> Any:
        return range(count)

    def update(self, output: Any, target: Any) -> None:
        """Count the pixels of outputs `(N, C, ...)` and targets `(N, ...)`. ValueError for shapes
        that do not fit."""
        found = output.argmax(self.axis)
        if found.shape != target.shape:
            raise ValueError(
                f"{self.__name__}: outputs of shape {tuple(output.shape)} have their classes along "
                f"axis={self.axis}; expected targets {tuple(found.shape)}, not "
                f"{tuple(target.shape)}"
            )
        for number in self._classes(output.shape[self.axis]):
            taken, real = found == number, target == number
            both, sums = float((taken & real).sum()), float(taken.sum() + real.sum())
            self.both[number] = self.both.get(number, 0.0) + both
            self.sums[number] = self.sums.get(number, 0.0) + sums

    def _share(self, both: float, sums: float) -> float:
        return 2 * both / sums

    def compute(self) -> float:
        """The mean over classes that are somewhere."""
        there = [number for number, sums in self.sums.items() if sums]
        shares = [self._share(self.both[number], self.sums[number]) for number in there]
        return sum(shares) / len(shares) if shares else math.nan


class _OfOne(_Overlap):
    """Of class 1 alone."""

    def _classes(self, count: int) -> Any:
        return [1]


class _Union(_Overlap):
    """As a share of the union."""

    def _share(self, both: float, sums: float) -> float:
        return both / (sums - both)


@describable
class Dice(_OfOne):
    """The Dice coefficient of class 1 of outputs whose classes stand along `axis`: twice the pixels
    that both have, of those that each has.

    >>> import rushlight as rl
    >>> Dice()(rl.tensor([[[0.0, 9, 9]], [[5, 5, 5]]]).transpose(0, 1), rl.tensor([[1, 0, 1]]))
    tensor(0.5000)
    """

    def __init__(self, axis: int = 1) -> None:
        super().__init__("dice", axis)


@describable
class DiceMulti(_Overlap):
    """The mean of the Dice coefficients of all classes that are somewhere; see `Dice`."""

    def __init__(self, axis: int = 1) -> None:
        super().__init__("dice_multi", axis)


@describable
class JaccardCoeff(_Union, _OfOne):
    """The pixels of class 1 that output and target both have, of those that either has."""

    def __init__(self, axis: int = 1) -> None:
        super().__init__("jaccard_coeff", axis)


@describable
class JaccardCoeffMulti(_Union):
    """The mean of the Jaccard coefficients of all classes that are somewhere (mIoU)."""

    def __init__(self, axis: int = 1) -> None:
        super().__init__("jaccard_coeff_multi", axis)


@describable
class Perplexity(Gathered):
    """The exponential of the mean cross entropy of all tokens: outputs `(..., C)`, targets `(...)`.
    fastai weighs batches by their rows, whatever their lengths."""

    def __init__(self) -> None:
        super().__init__("perplexity")

    def reset(self) -> None:
        """Forget the losses."""
        self.total, self.count = 0.0, 0

    def update(self, output: Any, target: Any) -> None:
        """Add the losses of a batch."""
        flat = output.reshape(-1, output.shape[-1])
        self.total += float(nn.functional.cross_entropy(flat, target.reshape(-1), reduction="sum"))
        self.count += target.numel()

    def compute(self) -> float:
        """The perplexity."""
        return math.exp(self.total / self.count) if self.count else math.nan
