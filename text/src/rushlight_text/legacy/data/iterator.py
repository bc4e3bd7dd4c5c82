"""Iterators over the batches of a data set: in order, shuffled, by length, along one long text."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Iterator as Iteration
from typing import Any

import rushlight as rl
from rushlight_text.data.utils import RandomShuffler
from rushlight_text.legacy.data.batch import Batch
from rushlight_text.legacy.data.dataset import Dataset

__all__ = ["BPTTIterator", "BucketIterator", "Iterator", "batch", "pool"]

SizeFunction = Callable[[Any, int, int], int]
Key = Callable[[Any], Any]
POOL = 100  # batches whose examples are sorted together


class Iterator:
    """Batches of a data set.

    Args:
        dataset: examples and fields.
        batch_size: examples in a batch, or what `batch_size_fn` counts.
        sort_key: of an example; default: the data set's.
        device: of the tensors.
        batch_size_fn: of a new example, the number of examples with it and the size so far, gives
            the size with it.
        train: training data, which are shuffled and not sorted unless told otherwise.
        repeat: go on after the last batch.
        shuffle, sort: examples between epochs; default: by `train`.
        sort_within_batch: by falling key within each batch; default: `sort`.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        sort_key: Key | None = None,
        device: Any = None,
        batch_size_fn: SizeFunction | None = None,
        train: bool = True,
        repeat: bool = False,
        shuffle: bool | None = None,
        sort: bool | None = None,
        sort_within_batch: bool | None = None,
    ):
        self.dataset, self.batch_size, self.batch_size_fn = dataset, batch_size, batch_size_fn
        self.train, self.repeat = train, repeat
        self.shuffle = train if shuffle is None else shuffle
        self.sort = not train if sort is None else sort
        self.sort_within_batch = self.sort if sort_within_batch is None else sort_within_batch
        self.sort_key: Any = dataset.sort_key if sort_key is None else sort_key
        self.device = rl.device("cpu") if device is None else rl.device(device)
        self.iterations = 0
        self.random_shuffler = RandomShuffler()
        self.batches: Iterable[list[Any]] = ()
        self._iterations_this_epoch = 0
        self._random_state_this_epoch: Any = None
        self._restored_from_state = False

    @classmethod
    def splits(
        cls, datasets: Sequence[Any], batch_sizes: Sequence[int] | None = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """An iterator for each data set, of which the first is for training.

        batch_sizes: one for each; default: ``batch_size`` of `kwargs` for all.
        """
        if batch_sizes is None:
            batch_sizes = [kwargs.pop("batch_size")] * len(datasets)
        return tuple(
            cls(dataset, batch_size=size, train=place == 0, **kwargs)
            for place, (dataset, size) in enumerate(zip(datasets, batch_sizes, strict=True))
        )

    def data(self) -> Any:
        """The examples in the order of this epoch."""
        if self.sort:
            return sorted(self.dataset, key=self.sort_key)
        if self.shuffle:
            places: list[int] = self.random_shuffler(range(len(self.dataset)))
            return [self.dataset[i] for i in places]
        return self.dataset

    def init_epoch(self) -> None:
        """Begin an epoch, or go on with the one that was restored."""
        if self._restored_from_state:
            self.random_shuffler.random_state = self._random_state_this_epoch
        else:
            self._random_state_this_epoch = self.random_shuffler.random_state
        self.create_batches()
        if self._restored_from_state:
            self._restored_from_state = False
            return
        self._iterations_this_epoch = 0
        if not self.repeat:
            self.iterations = 0

    def create_batches(self) -> None:
        """Put the batches of this epoch into `batches`."""
        self.batches = batch(self.data(), self.batch_size, self.batch_size_fn)

    @property
    def epoch(self) -> int:
        """Epochs that are over."""
        return math.floor(self.iterations / len(self))

    def __len__(self) -> int:
        if self.batch_size_fn is not None:
            raise NotImplementedError("the number of batches is unknown with a batch_size_fn")
        return math.ceil(len(self.dataset) / self.batch_size)

    def __iter__(self) -> Iteration[Batch]:
        while True:
            self.init_epoch()
            for place, examples in enumerate(self.batches):
                if place < self._iterations_this_epoch:
                    continue  # before the state that was restored
                self.iterations += 1
                self._iterations_this_epoch += 1
                if self.sort_within_batch:
                    # Sorted examples are ascending already, and keep the order of equal ones.
                    if self.sort:
                        examples.reverse()
                    else:
                        examples.sort(key=self.sort_key, reverse=True)
                yield Batch(examples, self.dataset, self.device)
            if not self.repeat:
                return

    def state_dict(self) -> dict[str, Any]:
        """Where in which epoch it is."""
        return {
            "iterations": self.iterations,
            "iterations_this_epoch": self._iterations_this_epoch,
            "random_state_this_epoch": self._random_state_this_epoch,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Let the next epoch be the one of a state, from its place on."""
        self.iterations = state_dict["iterations"]
        self._iterations_this_epoch = state_dict["iterations_this_epoch"]
        self._random_state_this_epoch = state_dict["random_state_this_epoch"]
        self._restored_from_state = True


class BucketIterator(Iterator):
    """Batches of examples of similar length, shuffled; arguments as of :class:`Iterator`.

    A hundred batches' examples at a time are sorted by key, cut into batches, and these shuffled.
    """

    def create_batches(self) -> None:
        """Put the batches of this epoch into `batches`."""
        if self.sort:
            super().create_batches()
            return
        self.batches = pool(
            self.data(),
            self.batch_size,
            self.sort_key,
            self.batch_size_fn,
            random_shuffler=self.random_shuffler,
            shuffle=self.shuffle,
            sort_within_batch=self.sort_within_batch,
        )


class BPTTIterator(Iterator):
    """Windows of one long text, cut into `batch_size` columns, with their targets one token on.

    Args:
        dataset: of one example with the field ``text``.
        batch_size: number of columns.
        bptt_len: rows of a window.
        kwargs: as of :class:`Iterator`.
    """

    def __init__(self, dataset: Any, batch_size: int, bptt_len: int, **kwargs: Any):
        self.bptt_len = bptt_len
        super().__init__(dataset, batch_size, **kwargs)

    def __len__(self) -> int:
        return math.ceil((len(self.dataset[0].text) / self.batch_size - 1) / self.bptt_len)

    def __iter__(self) -> Iteration[Batch]:
        field = self.dataset.fields["text"]
        field.eos_token = None
        columns = self._columns(field)
        dataset = Dataset(self.dataset.examples, [("text", field), ("target", field)])
        while True:
            for start in range(0, len(self) * self.bptt_len, self.bptt_len):
                self.iterations += 1
                end = min(start + self.bptt_len, len(columns) - 1)
                text, target = columns[start:end], columns[start + 1 : end + 1]
                if field.batch_first:
                    text, target = text.t().contiguous(), target.t().contiguous()
                yield Batch.fromvars(dataset, self.batch_size, text=text, target=target)
            if not self.repeat:
                return

    def _columns(self, field: Any) -> rl.Tensor:
        text = list(self.dataset[0].text)
        text += [field.pad_token] * (-len(text) % self.batch_size)
        ids = field.numericalize([text], device=self.device)
        return ids.reshape(self.batch_size, -1).t().contiguous()


def batch(
    data: Iterable[Any], batch_size: int, batch_size_fn: SizeFunction | None = None
) -> Iteration[list[Any]]:
    """Lists of so many items; of as many as fit where `batch_size_fn` counts.

    >>> list(batch(range(5), 2))
    [[0, 1], [2, 3], [4]]
    """
    size_of = batch_size_fn or (lambda new, count, sofar: count)
    items: list[Any] = []
    size = 0
    for item in data:
        items.append(item)
        size = size_of(item, len(items), size)
        if size == batch_size:
            yield items
            items, size = [], 0
        elif size > batch_size:
            if items[:-1]:
                yield items[:-1]
            items, size = items[-1:], size_of(item, 1, 0)
    if items:
        yield items


def pool(
    data: Iterable[Any],
    batch_size: int,
    key: Key,
    batch_size_fn: SizeFunction | None = None,
    random_shuffler: Callable[[list[Any]], Any] | None = None,
    shuffle: bool = False,
    sort_within_batch: bool = False,
) -> Iteration[list[Any]]:
    """The batches of :class:`BucketIterator`: with `sort_within_batch` sorted by `key` within a
    hundred batches, with `shuffle` in random order."""
    mix = random_shuffler or (lambda items: random.sample(items, len(items)))
    for items in batch(data, batch_size * POOL, batch_size_fn):
        ordered = sorted(items, key=key) if sort_within_batch else items
        batches = list(batch(ordered, batch_size, batch_size_fn))
        yield from mix(batches) if shuffle else batches
