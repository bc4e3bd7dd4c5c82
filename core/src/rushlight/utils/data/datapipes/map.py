"""Data pipes that are read by index."""

from __future__ import annotations

import copy
from collections.abc import Callable

from rushlight.utils.data.datapipes.datapipe import (
    DataChunk,
    MapDataPipe,
    Shuffling,
    functional_datapipe,
)
from rushlight.utils.data.datapipes.iter import IterableWrapper

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapper(MapDataPipe):
    """A pipe of a sequence or a dict; by default of a deep copy."""

    def __init__(self, sequence, deepcopy: bool = True):
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self):
        return len(self.sequence)


def _same(item):
    return item


@functional_datapipe("map")
class Mapper(MapDataPipe):
    """``fn(item)`` of every item."""

    def __init__(self, datapipe, fn: Callable = _same):
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index):
        return self.fn(self.datapipe[index])

    def __len__(self):
        return len(self.datapipe)


@functional_datapipe("batch")
class Batcher(MapDataPipe):
    """Lists of `batch_size` items; the last may be shorter unless `drop_last`."""

    def __init__(self, datapipe, batch_size: int, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        start = index * self.batch_size
        end = min(start + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(start, end)])

    def __len__(self):
        length = len(self.datapipe)
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


@functional_datapipe("concat")
class Concater(MapDataPipe):
    """Several pipes, one after the other."""

    def __init__(self, *datapipes):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __getitem__(self, index):
        place = index
        for pipe in self.datapipes:
            if place < len(pipe):
                return pipe[place]
            place -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self):
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(MapDataPipe):
    """Tuples of an item of each pipe, as long as the shortest."""

    def __init__(self, *datapipes):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __getitem__(self, index):
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self):
        return min(map(len, self.datapipes))


class Shuffler(Shuffling, IterableWrapper):
    """The items of a pipe in random order, read one after the other.

    The order follows `set_seed`, or else the default generator, as in PyTorch.
    """

    def __init__(self, datapipe, *, indices: list | None = None):
        super().__init__(datapipe, deepcopy=False)
        self.indices = list(range(len(datapipe))) if indices is None else indices

    def __iter__(self):
        order = self.indices
        if self._enabled:
            order = self._draw().sample(order, len(order))[::-1]  # PyTorch's come off the end
        for index in order:
            yield self.iterable[index]


MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)
