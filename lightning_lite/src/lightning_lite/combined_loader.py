"""Several loaders at once: batches come as the container that holds the loaders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MODES = ("min_size", "max_size", "max_size_cycle", "sequential")
_END = object()


class CombinedLoader:
    """Loaders in a list, tuple or dictionary, read side by side or one after another.

    `mode` says when to stop: "min_size" at the end of the shortest; "max_size" at the end of the
    longest, with None for those that ended; "max_size_cycle" (the trainer's own choice) at the end
    of the longest, with the others starting again. "sequential" reads one loader after another.

    Iterating gives a batch, its number, and the number of its loader (0 unless sequential):

    >>> loader = CombinedLoader({"a": range(2), "b": range(7, 8)}, mode="max_size_cycle")
    >>> for batch, batch_idx, dataloader_idx in loader:
    ...     print(batch, batch_idx, dataloader_idx)
    {'a': 0, 'b': 7} 0 0
    {'a': 1, 'b': 7} 1 0
    """

    def __init__(self, iterables: object, mode: str = "min_size") -> None:
        if mode not in MODES:
            raise ValueError(f"CombinedLoader: mode {mode!r}; expected one of {MODES}")
        self.iterables = iterables
        self.mode = mode

    @property
    def flattened(self) -> list[Any]:
        """The loaders in order."""
        return list(_leaves(self.iterables))

    def __len__(self) -> int:
        lengths = [len(loader) for loader in self.flattened]
        if self.mode == "sequential":
            return sum(lengths)
        return (min if self.mode == "min_size" else max)(lengths, default=0)

    def __iter__(self) -> Iterator[tuple[Any, int, int]]:
        if self.mode == "sequential":
            for number, loader in enumerate(self.flattened):
                for batch_idx, batch in enumerate(loader):
                    yield batch, batch_idx, number
        else:
            for batch_idx, batch in enumerate(self.batches()):
                yield batch, batch_idx, 0

    def batches(self) -> Iterator[Any]:
        """The batches alone."""
        if self.mode == "sequential":
            for loader in self.flattened:
                yield from loader
            return
        loaders = self.flattened
        iterators = [iter(loader) for loader in loaders]
        ended = [False] * len(loaders)
        while True:
            batch = [next(iterator, _END) for iterator in iterators]
            ended = [was or item is _END for was, item in zip(ended, batch, strict=True)]
            if all(ended) or (self.mode == "min_size" and any(ended)):
                return
            self._fill(batch, loaders, iterators)
            yield _rebuild(self.iterables, iter(batch))

    def _fill(self, batch: list[Any], loaders: list[Any], iterators: list[Any]) -> None:
        """Put something in the place of the batches of loaders that ended."""
        for number, item in enumerate(batch):
            if item is not _END:
                continue
            if self.mode == "max_size":
                batch[number] = None
            else:
                iterators[number] = iter(loaders[number])
                batch[number] = next(iterators[number])


def batches_of(loader: Any) -> Iterator[Any]:
    """An iterator over a loader's batches, whatever it is."""
    return loader.batches() if isinstance(loader, CombinedLoader) else iter(loader)


def _leaves(container: Any) -> Iterator[Any]:
    """The loaders of nested containers, in order."""
    if isinstance(container, dict):
        container = list(container.values())
    if isinstance(container, list | tuple):
        for item in container:
            yield from _leaves(item)
    else:
        yield container


def _rebuild(container: Any, values: Iterator[Any]) -> Any:
    """The same nested containers with the loaders replaced by values."""
    if isinstance(container, dict):
        return {key: _rebuild(item, values) for key, item in container.items()}
    if isinstance(container, list | tuple):
        return type(container)(_rebuild(item, values) for item in container)
    return next(values)
