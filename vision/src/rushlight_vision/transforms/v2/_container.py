"""Transforms made of transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms.sampling import choice, happens, permutation
from rushlight_vision.transforms.v2._fusion import debugged, fused
from rushlight_vision.transforms.v2._transform import Transform


def _run(transform: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Inputs of the next transform: what this one makes of them."""
    result = transform(*inputs)
    return result if len(inputs) > 1 else (result,)


class _Several(Transform):
    def __init__(
        self,
        transforms: Sequence[Callable[..., Any]] | nn.ModuleList,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        if not isinstance(transforms, (Sequence, nn.ModuleList)):
            raise TypeError(f"{type(self).__name__}: transforms should be a sequence of callables")
        self.transforms: Any = transforms

    def extra_repr(self) -> str:
        """The transforms, one a line."""
        return "\n".join(f"    {each}" for each in self.transforms)

    def _all(self, transforms: Any, inputs: tuple[Any, ...]) -> Any:
        for each in transforms:
            inputs = _run(each, inputs)
        return inputs if len(inputs) > 1 else inputs[0]


class Compose(_Several):
    """Transforms one after the other; ValueError for none.

    Parameters
    ----------
    transforms : sequence of callables
    fuse : bool, default True
        Run `ToDtype` or `ConvertImageDtype` of bytes and a `Normalize` after it as one step, with
        the same bits. Members with hooks run on their own, and all of them where a debugger or
        tracer follows the program; an attribute of the same name turns it on and off later.
    generator : Generator, optional
        Where all members sample from; see :class:`Transform`.

    >>> from rushlight_vision.transforms import v2
    >>> v2.Compose([v2.CenterCrop(4), v2.ToDtype(rl.float32, scale=True)])(
    ...     rl.zeros(3, 8, 8, dtype=rl.uint8)
    ... ).shape
    rushlight.Size([3, 4, 4])
    """

    fuse = True

    def __init__(
        self,
        transforms: Sequence[Callable[..., Any]],
        *,
        fuse: bool = True,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(transforms, generator=generator)
        if not transforms:
            raise ValueError("Compose: pass at least one transform")
        self.fuse = fuse

    def forward(self, *inputs: Any) -> Any:
        """The sample after all transforms."""
        steps = fused(self.transforms) if self.fuse and not debugged() else self.transforms
        return self._all(steps, inputs)


class RandomApply(_Several):
    """All of `transforms` with probability `p`, else none; samples `rand(1)`."""

    def __init__(
        self,
        transforms: Sequence[Callable[..., Any]] | rl.nn.ModuleList,
        p: float = 0.5,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(transforms, generator=generator)
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"RandomApply: p {p}; expected 0 to 1")
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        """The sample, transformed or not."""
        if not happens(self.p):
            return inputs if len(inputs) > 1 else inputs[0]
        return self._all(self.transforms, inputs)


class RandomChoice(_Several):
    """One of `transforms`, chosen by `multinomial` with weights `p` or evenly."""

    def __init__(
        self,
        transforms: Sequence[Callable[..., Any]],
        p: list[float] | None = None,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(transforms, generator=generator)
        if p is None:
            p = [1] * len(transforms)
        elif len(p) != len(transforms):
            raise ValueError(f"RandomChoice: {len(transforms)} transforms, {len(p)} weights")
        self.p = [weight / sum(p) for weight in p]

    def forward(self, *inputs: Any) -> Any:
        """The sample after one transform."""
        chosen = choice(self.p)
        return self.transforms[chosen](*inputs)


class RandomOrder(_Several):
    """All of `transforms` in a random order, by `randperm`."""

    def forward(self, *inputs: Any) -> Any:
        """The sample after all transforms."""
        order = permutation(len(self.transforms))
        return self._all([self.transforms[number] for number in order], inputs)
