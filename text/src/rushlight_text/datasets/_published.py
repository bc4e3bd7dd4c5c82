"""Published data sets: iterable, fetched when they are first gone through, kept in a folder."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rushlight.utils.data import IterableDataset, get_worker_info

__all__ = ["CACHE", "TextPipe", "published"]

CACHE = os.path.expanduser("~/.torchtext/cache")
BUFFER = 10_000


class TextPipe(IterableDataset):
    """Items that can be gone through again and again, and changed on the way.

    Args:
        source: makes an iterator of the items.
    """

    def __init__(self, source: Callable[[], Iterable[Any]]):
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        return iter(self._source())

    def map(self, fn: Callable[[Any], Any]) -> TextPipe:
        """`fn` of every item."""
        return TextPipe(lambda: map(fn, self))

    def filter(self, fn: Callable[[Any], bool]) -> TextPipe:
        """The items for which `fn` is true."""
        return TextPipe(lambda: filter(fn, self))

    def batch(self, batch_size: int, drop_last: bool = False) -> TextPipe:
        """Lists of so many items."""
        return TextPipe(lambda: _batches(self, batch_size, drop_last))

    def rows2columnar(self, column_names: Sequence[str]) -> TextPipe:
        """Batches of tuples as dicts of columns."""
        return self.map(
            lambda rows: dict(zip(column_names, map(list, zip(*rows, strict=True)), strict=True))
        )

    def shuffle(self, buffer_size: int = BUFFER) -> TextPipe:
        """Random order within a buffer, by Python's generator."""
        return TextPipe(lambda: _shuffled(self, buffer_size))

    def sharding_filter(self) -> TextPipe:
        """Each worker of a `DataLoader` its share of the items."""
        return TextPipe(lambda: _share(self))


def _batches(items: Iterable[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    rest = iter(items)
    while rows := list(itertools.islice(rest, size)):
        if len(rows) == size or not drop_last:
            yield rows


def _shuffled(items: Iterable[Any], size: int) -> Iterator[Any]:
    buffer: list[Any] = []
    for item in items:
        if len(buffer) < size:
            buffer.append(item)
            continue
        place = random.randrange(size)
        buffer[place], item = item, buffer[place]
        yield item
    random.shuffle(buffer)
    yield from buffer


def _share(items: Iterable[Any]) -> Iterator[Any]:
    worker = get_worker_info()
    if worker is None:
        return iter(items)
    return itertools.islice(items, worker.id, None, worker.num_workers)


def published(
    name: str, splits: tuple[str, ...] = (), check: Callable[..., None] | None = None
) -> Callable[[Callable[..., Iterable[Any]]], Callable[..., Any]]:
    """Make a data set of a generator of its items.

    The generator gets the folder, the split if there are `splits`, and the other options; what it
    makes of them is a function of `root`, `split` and these options. `check` looks at the options
    at once, while the generator runs when the items are asked for.
    """

    def decorate(items: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
        def pipe(root: str, *arguments: Any, **options: Any) -> TextPipe:
            folder = os.path.join(os.path.expanduser(root), "datasets", name)
            return TextPipe(functools.partial(items, folder, *arguments, **options))

        def whole(root: str = CACHE, *arguments: Any, **options: Any) -> TextPipe:
            if check is not None:
                check(*arguments, **options)
            return pipe(root, *arguments, **options)

        def parts(
            root: str = CACHE, split: Any = splits, *arguments: Any, **options: Any
        ) -> TextPipe | tuple[TextPipe, ...]:
            if check is not None:
                check(*arguments, **options)
            asked = _asked(name, split, splits)
            made = tuple(pipe(root, each, *arguments, **options) for each in asked)
            return made[0] if len(made) == 1 else made

        made = parts if splits else whole
        functools.update_wrapper(made, items)
        parameters = list(inspect.signature(made, follow_wrapped=False).parameters.values())
        own = list(inspect.signature(items).parameters.values())[2 if splits else 1 :]
        signature = inspect.Signature(parameters[: 2 if splits else 1] + own)
        setattr(made, "__signature__", signature)  # noqa: B010 - functions have no such slot
        return made

    return decorate


def _asked(name: str, split: Any, splits: tuple[str, ...]) -> tuple[str, ...]:
    asked = (split,) if isinstance(split, str) else split
    if not isinstance(asked, (tuple, list)):
        raise ValueError(f"{name}(): split must be a string or a tuple of strings, got {split!r}")
    if not asked or not set(asked) <= set(splits):
        raise TypeError(
            f"Given selection {asked} of splits is not supported for dataset {name}. Please choose "
            f"from {splits}."
        )
    return tuple(asked)
