"""DataLoader: batches of a dataset, in this process or from workers."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import warnings

import rushlight
from rushlight.utils.data.collate import default_collate, default_convert
from rushlight.utils.data.dataset import IterableDataset, TensorDataset
from rushlight.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from rushlight.utils.data.worker_iteration import WorkerIterator


class _Endless:
    """The sampler of iterable datasets: the indices mean nothing."""

    def __iter__(self):
        return itertools.repeat(None)


def fetch_map(dataset, collate, batched, indices):
    """A batch of a map dataset, all at once where the dataset can."""
    if not batched:
        return collate(dataset[indices])
    if type(dataset) is TensorDataset and collate is default_collate:
        rows = rushlight.tensor(indices)
        return [t.index_select(0, rows) for t in dataset.tensors]
    many = getattr(dataset, "__getitems__", None)
    samples = many(indices) if callable(many) else [dataset[i] for i in indices]
    return collate(samples)


class _Stream:
    """Fetches batches of an iterable dataset."""

    def __init__(self, dataset, collate, batched, drop_last):
        self.iterator, self.collate = iter(dataset), collate
        self.batched, self.drop_last, self.ended = batched, drop_last, False

    def __call__(self, indices):
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate(next(self.iterator))
        samples = list(itertools.islice(self.iterator, len(indices)))
        if len(samples) < len(indices):
            self.ended = True
            if not samples or self.drop_last:
                raise StopIteration
        return self.collate(samples)


def _map_fetcher(collate, batched, dataset):
    return functools.partial(fetch_map, dataset, collate, batched)


def _stream_fetcher(collate, batched, drop_last, dataset):
    return _Stream(dataset, collate, batched, drop_last)


class DataLoader:
    """An iterable over batches of `dataset`.

    Arguments, defaults, order and seeds are PyTorch's. With ``num_workers`` above 0 samples are
    loaded in that many processes; their batches travel through shared memory.

    >>> data = rushlight.utils.data.TensorDataset(rushlight.arange(4))
    >>> [batch[0].tolist() for batch in DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        _check(num_workers, timeout, prefetch_factor, persistent_workers)
        if not in_order:
            raise NotImplementedError("in_order=False is not available; batches come in order")
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.worker_init_fn, self.generator = worker_init_fn, generator
        self.multiprocessing_context = multiprocessing_context
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self._streams = isinstance(dataset, IterableDataset)
        if self._streams and (shuffle or sampler is not None or batch_sampler is not None):
            what = "shuffle" if shuffle else "sampler" if sampler is not None else "batch_sampler"
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {what} option")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            sampler = self._default_sampler(shuffle, generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self._batched = batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if self._batched else default_convert)
        self._iterator = None

    def _default_sampler(self, shuffle, generator):
        if self._streams:
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=generator)
        return SequentialSampler(self.dataset)

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._batched else self.sampler

    def fetcher_of(self):
        """A picklable function that turns the dataset into ``fetch(indices) -> batch``."""
        if self._streams:
            return functools.partial(
                _stream_fetcher, self.collate_fn, self._batched, self.drop_last
            )
        return functools.partial(_map_fetcher, self.collate_fn, self._batched)

    def __iter__(self):
        if not self.num_workers:
            return self._serial()
        if not self.persistent_workers:
            return WorkerIterator(self)
        if self._iterator is None:
            self._iterator = WorkerIterator(self)
        else:
            self._iterator.restart()
        return self._iterator

    def base_seed(self):
        """The seed of an epoch's workers, drawn from the generator as PyTorch draws it."""
        seed = rushlight.empty((), dtype=rushlight.int64).random_(generator=self.generator)
        return int(seed.item())

    def _serial(self):
        self.base_seed()
        return _SerialIterator(iter(self._index_sampler), self.fetcher_of()(self.dataset))

    def __len__(self):
        if not self._streams:
            return len(self._index_sampler)
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def context(self):
        """The multiprocessing context that was asked for, or the default one."""
        wanted = self.multiprocessing_context
        if wanted is None or isinstance(wanted, str):
            return multiprocessing.get_context(wanted)
        return wanted


class _SerialIterator:
    """Batches made in this process."""

    def __init__(self, indices, fetch):
        self.indices, self.fetch = indices, fetch

    def __iter__(self):
        return self

    def __next__(self):
        return self.fetch(next(self.indices))


def _check(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. Let num_workers > "
            "0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if num_workers > (multiprocessing.cpu_count() or 1) * 8:
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes on a machine with "
            f"{multiprocessing.cpu_count()} CPUs.",
            stacklevel=3,
        )
