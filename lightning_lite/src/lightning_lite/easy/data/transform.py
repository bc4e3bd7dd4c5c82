"""What a transform of a sample is: a method for each kind of thing that it changes.

Kinds: `image`, `mask`, `audio`, `text`, `points`, `boxes`, `labels`, `category`, `categories`,
`number`, `value`. Pictures and masks are Pillow's in transforms of items, tensors in transforms of
batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class Transform:
    """Changes the parts of a sample by their kinds: define a method of a kind's name.

    `order` sorts transforms; `split_idx=0` leaves validation alone, 1 training. `begin` sees the
    whole sample first, and draws what its parts share.
    """

    order = 0
    split_idx: int | None = None

    def begin(self, sample: tuple[Any, ...], kinds: tuple[str, ...], split: int) -> None:
        """Draw what the parts of a sample share."""

    def __call__(self, sample: tuple[Any, ...], kinds: tuple[str, ...], split: int) -> Any:
        """The sample, changed."""
        if self.split_idx not in (None, split):
            return sample
        self.begin(sample, kinds, split)
        methods = [getattr(self, kind, None) for kind in kinds]
        pairs = zip(sample, methods, strict=True)
        return tuple(part if method is None else method(part) for part, method in pairs)


class Function(Transform):
    """A plain function as a transform: it is given the inputs of a sample."""

    def __init__(self, function: Callable[[Any], Any], n_inp: int) -> None:
        self.function, self.n_inp = function, n_inp

    def __call__(self, sample: tuple[Any, ...], kinds: tuple[str, ...], split: int) -> Any:
        """The sample with changed inputs."""
        inputs = [self.function(each) for each in sample[: self.n_inp]]
        return (*inputs, *sample[self.n_inp :])


def in_order(name: str, given: Any) -> list[Any]:
    """Functions sorted by their `order`, of one, several or None. TypeError for others."""
    listed = [] if given is None else list(given) if isinstance(given, Iterable) else [given]
    for each in listed:
        if not callable(each):
            raise TypeError(f"{name} holds {each!r}; expected transforms or functions")
    return sorted(listed, key=lambda each: getattr(each, "order", 0))


def as_transforms(name: str, given: Any, n_inp: int) -> list[Transform]:
    """Transforms in their order, of transforms and plain functions."""
    listed = in_order(name, given)
    return [each if isinstance(each, Transform) else Function(each, n_inp) for each in listed]
