"""Transforms made of transforms."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight import nn

Transform = Callable[[Any], Any]


def _lines(name: str, transforms: Any, first: str = "") -> str:
    body = "".join(f"\n    {transform}" for transform in transforms)
    return f"{name}({first}{body}\n)"


class Compose:
    """Transforms one after the other."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        """The image after all transforms."""
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _lines("Compose", self.transforms)


class Lambda:
    """Any function as a transform."""

    def __init__(self, lambd: Transform) -> None:
        if not callable(lambd):
            raise TypeError(f"Lambda: expected a function, got {type(lambd).__name__}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        """What the function makes of the image."""
        return self.lambd(img)

    def __repr__(self) -> str:
        return "Lambda()"


class RandomApply(nn.Module):
    """All of `transforms` with probability `p`, else none. Draws `rand(1)`."""

    def __init__(self, transforms: Sequence[Transform], p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        """The image, transformed or not."""
        if self.p < rl.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _lines("RandomApply", self.transforms, f"\n    p={self.p}")


class RandomOrder:
    """All of `transforms` in a random order, which Python's `random` draws."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("RandomOrder: transforms should be a sequence")
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        """The image after all transforms."""
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for number in order:
            img = self.transforms[number](img)
        return img

    def __repr__(self) -> str:
        return _lines("RandomOrder", self.transforms)


class RandomChoice:
    """One of `transforms`, which Python's `random` chooses, with weights `p` or evenly."""

    def __init__(self, transforms: Sequence[Transform], p: Sequence[float] | None = None) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("RandomChoice: transforms should be a sequence")
        if p is not None and len(p) != len(transforms):
            raise ValueError(
                f"RandomChoice: {len(transforms)} transforms and {len(p)} probabilities"
            )
        self.transforms = transforms
        self.p = p

    def __call__(self, *args: Any) -> Any:
        """What the chosen transform makes of the image."""
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{_lines('RandomChoice', self.transforms)}(p={self.p})"
