"""Data pipes that are read in order."""

from __future__ import annotations

import copy
import fnmatch
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from rushlight.refusals import rest_of
from rushlight.utils.data import sampler as samplers
from rushlight.utils.data.collate import default_collate
from rushlight.utils.data.datapipes.datapipe import (
    DataChunk,
    IterDataPipe,
    Shuffling,
    functional_datapipe,
    sized,
)
from rushlight.utils.data.datapipes.sharding import ShardingFilter

__all__ = [
    "Batcher", "Collator", "Concater", "FileLister", "FileOpener", "Filter", "Grouper",
    "IterableWrapper", "Mapper", "Multiplexer", "Sampler", "ShardingFilter", "Shuffler",
    "StreamReader", "UnBatcher", "Zipper",
]  # fmt: skip


class IterableWrapper(IterDataPipe):
    """A pipe of the items of something iterable; by default of a deep copy, so that each reading
    begins at the same item."""

    def __init__(self, iterable: Iterable, deepcopy: bool = True):
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        yield from copy.deepcopy(self.iterable) if self.deepcopy else self.iterable

    def __len__(self):
        return len(self.iterable)


def _column(item, number):
    """A column of an item, or several of them as a tuple."""
    many = isinstance(number, (list, tuple))
    return tuple(item[n] for n in number) if many else item[number]


@functional_datapipe("map")
class Mapper(IterDataPipe):
    """``fn(item)`` of every item; with `input_col` of columns of it, whose result goes into
    `output_col` (by default where they came from; -1 appends it)."""

    def __init__(self, datapipe, fn: Callable, input_col=None, output_col=None):
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        self.datapipe, self.fn = datapipe, fn
        self.input_col, self.output_col = input_col, output_col

    def __iter__(self):
        for item in self.datapipe:
            yield self.fn(item) if self.input_col is None else self._in_columns(item)

    def _in_columns(self, item):
        given = _column(item, self.input_col)
        many = isinstance(self.input_col, (list, tuple))
        result = self.fn(*given) if many else self.fn(given)
        was_tuple = isinstance(item, tuple)
        made = list(item) if was_tuple else copy.copy(item)
        if self.output_col == -1:
            made.append(result)
        else:
            column = self.output_col if self.output_col is not None else self.input_col
            made[column[0] if isinstance(column, (list, tuple)) else column] = result
            if self.output_col is None and many:
                # The result stands for all of them; from behind, so that the other numbers hold.
                for extra in sorted(self.input_col[1:], reverse=True):
                    del made[extra]
        return tuple(made) if was_tuple else made

    def __len__(self):
        return sized("Mapper", self.datapipe)


@functional_datapipe("filter")
class Filter(IterDataPipe):
    """The items for which `filter_fn`, of the item or of its columns `input_col`, is True."""

    def __init__(self, datapipe, filter_fn: Callable, input_col=None):
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self):
        for item in self.datapipe:
            if self._wanted(item):
                yield item

    def _wanted(self, item):
        if self.input_col is None:
            found = self.filter_fn(item)
        elif isinstance(self.input_col, (list, tuple)):
            found = self.filter_fn(*_column(item, self.input_col))
        else:
            found = self.filter_fn(_column(item, self.input_col))
        if not isinstance(found, bool):
            raise ValueError(
                "Boolean output is required for `filter_fn` of FilterIterDataPipe, got "
                f"{type(found)}"
            )
        return found


@functional_datapipe("batch")
class Batcher(IterDataPipe):
    """Lists of `batch_size` items; the last may be shorter unless `drop_last`."""

    def __init__(self, datapipe, batch_size: int, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __iter__(self):
        batch: list = []
        for item in self.datapipe:
            batch.append(item)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self):
        length = sized("Batcher", self.datapipe)
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe):
    """The items of lists, `unbatch_level` lists deep; -1 for all."""

    def __init__(self, datapipe, unbatch_level: int = 1):
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self):
        for item in self.datapipe:
            yield from self._opened(item, self.unbatch_level)

    def _opened(self, item, level) -> Iterator:
        is_list = isinstance(item, (list, DataChunk))
        if level == 0 or (level == -1 and not is_list):
            yield item
            return
        if not is_list:
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )
        for inner in item:
            yield from self._opened(inner, level if level == -1 else level - 1)


@functional_datapipe("collate")
class Collator(Mapper):
    """Batches as tensors: `collate_fn` of each, `default_collate` by default."""

    def __init__(self, datapipe, conversion=default_collate, collate_fn=None):
        if isinstance(conversion, dict):
            raise NotImplementedError(
                "Collator(conversion={...}): a conversion for each column is not there; give a "
                "function of the batch"
            )
        super().__init__(datapipe, collate_fn if collate_fn is not None else conversion)


@functional_datapipe("concat")
class Concater(IterDataPipe):
    """Several pipes, one after the other."""

    def __init__(self, *datapipes):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __iter__(self):
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self):
        return sum(sized("Concater", pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class Zipper(IterDataPipe):
    """Tuples of an item of each pipe, as long as the shortest."""

    def __init__(self, *datapipes):
        self.datapipes = datapipes

    def __iter__(self):
        yield from zip(*self.datapipes, strict=False)

    def __len__(self):
        return min(sized("Zipper", pipe) for pipe in self.datapipes)


@functional_datapipe("mux")
class Multiplexer(IterDataPipe):
    """One item of each pipe in turn, as long as the shortest lasts."""

    def __init__(self, *datapipes):
        self.datapipes = datapipes

    def __iter__(self):
        for items in zip(*self.datapipes, strict=False):
            yield from items

    def __len__(self):
        return min(sized("Multiplexer", p) for p in self.datapipes) * len(self.datapipes)


@functional_datapipe("shuffle")
class Shuffler(Shuffling, IterDataPipe):
    """The items in random order: each comes out of a buffer of `buffer_size`.

    The order follows `set_seed`, or else the default generator, as in PyTorch.
    """

    def __init__(self, datapipe, *, buffer_size: int = 10000, unbatch_level: int = 0):
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level)
        self.buffer_size = buffer_size

    def __iter__(self):
        if not self._enabled:
            yield from self.datapipe
            return
        draw = self._draw()
        buffer: list = []
        for item in self.datapipe:
            if len(buffer) == self.buffer_size:
                i = draw.randint(0, len(buffer) - 1)
                found, buffer[i] = buffer[i], item
                yield found
            else:
                buffer.append(item)
        while buffer:
            yield buffer.pop(draw.randint(0, len(buffer) - 1))

    def __len__(self):
        return sized("Shuffler", self.datapipe)


class Sampler(IterDataPipe):
    """Items by the indices of a sampler."""

    def __init__(self, datapipe, sampler=samplers.SequentialSampler, sampler_args=None,
                 sampler_kwargs=None):  # fmt: skip
        self.datapipe = datapipe
        self.sampler = sampler(
            *(sampler_args or ()), data_source=datapipe, **(sampler_kwargs or {})
        )

    def __iter__(self):
        return iter(self.sampler)

    def __len__(self):
        return sized("Sampler", self.sampler)


@functional_datapipe("groupby")
class Grouper(IterDataPipe):
    """Lists of items with the same key, `group_size` of them where it is given.

    With more than `buffer_size` items waiting, the largest group is given out before it is full;
    RuntimeError where it has fewer than `guaranteed_group_size` and `drop_remaining` is False.
    """

    def __init__(
        self, datapipe, group_key_fn: Callable, *, keep_key: bool = False, buffer_size=10000,
        group_size: int | None = None, guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ):  # fmt: skip
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.buffer_size, self.group_size, self.drop_remaining = (
            buffer_size, group_size, drop_remaining,
        )  # fmt: skip
        self.guaranteed = guaranteed_group_size if guaranteed_group_size else group_size
        if guaranteed_group_size is not None and not 0 < guaranteed_group_size <= (group_size or 0):
            raise ValueError(
                "guaranteed_group_size must be positive and at most group_size, got "
                f"{guaranteed_group_size} and {group_size}"
            )

    def _given(self, key, items):
        return (key, items) if self.keep_key else items

    def __iter__(self):
        waiting, count = defaultdict(list), 0
        for item in self.datapipe:
            key = self.group_key_fn(item)
            waiting[key].append(item)
            count += 1
            if self.group_size is not None and len(waiting[key]) == self.group_size:
                count -= self.group_size
                yield self._given(key, waiting.pop(key))
            elif count == self.buffer_size:
                key, items = self._largest(waiting)
                count -= len(waiting.pop(key))
                if items is not None:
                    yield self._given(key, items)
        for key in list(waiting):
            yield self._given(key, waiting.pop(key))

    def _largest(self, waiting):
        key = max(waiting, key=lambda k: len(waiting[k]))
        items = waiting[key]
        if self.guaranteed is not None and len(items) < self.guaranteed:
            if not self.drop_remaining:
                raise RuntimeError("Failed to group items", str(items))
            return key, None
        return key, items


class FileLister(IterDataPipe):
    """The paths of the files in folders whose names match `masks`."""

    def __init__(self, root=".", masks="", *, recursive: bool = False, abspath: bool = False,
                 non_deterministic: bool = False, length: int = -1):  # fmt: skip
        self.roots = [root] if isinstance(root, str) else root
        self.masks, self.recursive, self.abspath, self.length = masks, recursive, abspath, length

    def __iter__(self):
        for root in self.roots:
            root = os.path.abspath(root) if self.abspath else root
            for folder, folders, files in os.walk(root):
                folders.sort()
                if not self.recursive:
                    folders.clear()
                for name in sorted(files):
                    if self._matches(name):
                        yield os.path.join(folder, name)

    def _matches(self, name):
        masks = [self.masks] if isinstance(self.masks, str) else self.masks
        return not self.masks or any(fnmatch.fnmatch(name, mask) for mask in masks)

    def __len__(self):
        if self.length == -1:
            raise TypeError("FileLister instance doesn't have valid length")
        return self.length


@functional_datapipe("open_files")
class FileOpener(IterDataPipe):
    """Pairs of a path and the file opened for reading."""

    def __init__(self, datapipe, mode: str = "r", encoding: str | None = None, length: int = -1):
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        self.datapipe, self.encoding, self.length = datapipe, encoding, length
        self.mode = mode if mode.startswith("r") else "r" + mode

    def __iter__(self):
        for path in self.datapipe:
            yield path, open(path, self.mode, encoding=self.encoding)

    def __len__(self):
        if self.length == -1:
            raise TypeError("FileOpener instance doesn't have valid length")
        return self.length


@functional_datapipe("read_from_stream")
class StreamReader(IterDataPipe):
    """Pairs of a name and what its file holds, whole or in pieces of `chunk` bytes."""

    def __init__(self, datapipe, chunk: int | None = None):
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self):
        for name, stream in self.datapipe:
            while data := stream.read(self.chunk):
                yield name, data
            stream.close()


__getattr__ = rest_of(__name__)
