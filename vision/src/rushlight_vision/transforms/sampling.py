"""Random numbers of transforms: from the default generator, or from one that the caller gives.

A transform with `generator=` makes it the current one while it runs, so that the transforms inside
of containers sample from it too unless they have their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import rushlight as rl

# A context variable, so that threads and coroutines do not see each other's generator.
_CURRENT: ContextVar[rl.Generator | None] = ContextVar("generator of transforms", default=None)


def current_generator() -> rl.Generator | None:
    """The generator that transforms sample from here; None is the default generator."""
    return _CURRENT.get()


@contextmanager
def sampling_from(generator: rl.Generator) -> Iterator[None]:
    """Make `generator` the current one."""
    token = _CURRENT.set(generator)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def _with_own_generator(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, run with the object's generator as the current one."""

    @functools.wraps(method)
    def call(self: Sampling, *args: Any, **options: Any) -> Any:
        if self.generator is None:
            return method(self, *args, **options)
        with sampling_from(self.generator):
            return method(self, *args, **options)

    return call


class Sampling:
    """Base of everything with a `generator`: its methods that sample do so from it.

    Parameters
    ----------
    generator : Generator, optional
        Where all random numbers come from, those of transforms inside of this one too unless they
        have their own; by default the generator of the surrounding transform, and the default
        generator outside of any. Copies and pickles hold a copy of it in its state.

    Raises `TypeError` for what is no generator.
    """

    generator: rl.Generator | None = None  # objects pickled before there was one have none

    def __init__(self, *, generator: rl.Generator | None = None) -> None:
        super().__init__()
        if not isinstance(generator, (rl.Generator, type(None))):
            raise TypeError(
                f"{type(self).__name__}: generator is a {type(generator).__name__}; "
                "expected a Generator or None"
            )
        self.generator = generator

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("forward", "make_params", "__call__"):
            if name in vars(cls):
                setattr(cls, name, _with_own_generator(vars(cls)[name]))


def rand(size: Sequence[int]) -> rl.Tensor:
    """Numbers of [0, 1) in a float32 tensor of shape `size`."""
    return rl.rand(size, generator=_CURRENT.get())


def happens(p: float) -> bool:
    """True with probability `p`; samples one number."""
    return bool(rand((1,)) < p)


def integer(high: int, low: int = 0) -> int:
    """A number of low ... high - 1."""
    return int(rl.randint(low, high, (1,), generator=_CURRENT.get()))


def integers(high: int, size: Sequence[int]) -> rl.Tensor:
    """Numbers of 0 ... high - 1 in an int64 tensor of shape `size`."""
    return rl.randint(0, high, size, generator=_CURRENT.get())


def uniform(low: float, high: float) -> float:
    """A number of [low, high)."""
    return float(rl.empty(1).uniform_(low, high, generator=_CURRENT.get()))


def permutation(count: int) -> list[int]:
    """0 ... count - 1 in a random order."""
    return rl.randperm(count, generator=_CURRENT.get()).tolist()


def choice(weights: Sequence[float]) -> int:
    """An index, each with the probability that its weight has of all weights."""
    weighed = rl.tensor(weights, dtype=rl.float32)
    return int(rl.multinomial(weighed, 1, generator=_CURRENT.get()))


def normal_like(tensor: rl.Tensor) -> rl.Tensor:
    """Standard normal numbers in a tensor of the same shape, dtype, device and strides."""
    return rl.empty_like(tensor).normal_(generator=_CURRENT.get())


def normal(size: Sequence[int]) -> rl.Tensor:
    """Standard normal numbers in a float32 tensor of shape `size`."""
    return rl.empty(size, dtype=rl.float32).normal_(generator=_CURRENT.get())


def dirichlet(parameters: Sequence[float], count: int) -> rl.Tensor:
    """`count` samples of a Dirichlet distribution, (count, number of parameters)."""
    expanded = rl.tensor(list(parameters)).expand(count, -1)
    return rl._sample_dirichlet(expanded, generator=_CURRENT.get())
