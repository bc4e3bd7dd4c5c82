"""Metrics of masks: how outputs and targets overlap, over all pixels of validation."""

from __future__ import annotations

import math
from typing import Any

from lightning_lite.easy.data.describing import describable
from lightning_lite.easy.metrics.gathered import Gathered


class _Overlap(Gathered):
    """Pixels that are of a class in both output and target, and in either, by class."""

    def __init__(self, name: str, axis: int) -> None:
        self.axis = axis
        super().__init__(name)

    def clear(self) -> None:
        """Forget the pixels."""
        self.both: dict[int, float] = {}
        self.sums: dict[int, float] = {}

    def _classes(self, count: int) -> Any:
        return range(count)

    def gather(self, output: Any, target: Any) -> None:
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

    def state(self) -> Any:
        """The pixels, by class."""
        return self.both, self.sums

    def value_of(self, states: list[Any]) -> float:
        """The mean over classes that are somewhere; NaN where none is."""
        both, sums = (_added(each) for each in zip(*states, strict=True))
        shares = [self._share(both[number], found) for number, found in sums.items() if found]
        return sum(shares) / len(shares) if shares else math.nan


def _added(counts: Any) -> dict[int, float]:
    """The sums of several counts by class."""
    numbers = sorted({number for each in counts for number in each})
    return {number: sum(each.get(number, 0.0) for each in counts) for number in numbers}


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
    tensor(0.6667)
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
