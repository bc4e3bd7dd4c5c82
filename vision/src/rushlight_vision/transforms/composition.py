"""Transforms made of transforms."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import sampling
from rushlight_vision.transforms.sampling import Sampling, current_generator

Transform = Callable[[Any], Any]


def _lines(name: str, transforms: Any, first: str = "") -> str:
    body = "".join(f"\n    {transform}" for transform in transforms)
    return f"{name}({first}{body}\n)"


class Compose(Sampling):
    """Transforms one after the other."""

    def __init__(
        self, transforms: Sequence[Transform], *, generator: rl.Generator | None = None
    ) -> None:
        super().__init__(generator=generator)
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


class RandomApply(Sampling, nn.Module):
    """All of `transforms` with probability `p`, else none. Draws `rand(1)`."""

    def __init__(
        self,
        transforms: Sequence[Transform],
        p: float = 0.5,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        """The image, transformed or not."""
        if self.p < sampling.rand((1,)):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _lines("RandomApply", self.transforms, f"\n    p={self.p}")


class RandomOrder(Sampling):
    """All of `transforms` in a random order, by Python's `random`, as torchvision has it.

    With a `generator`, its own or that of a container around it, by `randperm` from that one.

    >>> both = [lambda x: x + 1, lambda x: x * 2]
    >>> RandomOrder(both, generator=rl.Generator().manual_seed(1))(3)
    7
    """

    def __init__(
        self, transforms: Sequence[Transform], *, generator: rl.Generator | None = None
    ) -> None:
        super().__init__(generator=generator)
        if not isinstance(transforms, Sequence):
            raise TypeError("RandomOrder: transforms should be a sequence")
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        """The image after all transforms."""
        order = list(range(len(self.transforms)))
        if current_generator() is None:
            random.shuffle(order)
        else:
            order = sampling.permutation(len(order))
        for number in order:
            img = self.transforms[number](img)
        return img

    def __repr__(self) -> str:
        return _lines("RandomOrder", self.transforms)


class RandomChoice(Sampling):
    """One of `transforms`, with weights `p` or evenly, by Python's `random`, as torchvision has it.

    With a `generator`, its own or that of a container around it, by `multinomial` from that one.
    """

    def __init__(
        self,
        transforms: Sequence[Transform],
        p: Sequence[float] | None = None,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
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
        if current_generator() is None:
            return random.choices(self.transforms, weights=self.p)[0](*args)
        weights = self.p or [1.0] * len(self.transforms)
        return self.transforms[sampling.choice(weights)](*args)

    def __repr__(self) -> str:
        return f"{_lines('RandomChoice', self.transforms)}(p={self.p})"
