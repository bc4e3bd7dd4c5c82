"""DataLoader: batches of a dataset, in this process or from workers."""

from __future__ import annotations

import itertools
import math
import os
import warnings
from typing import Generic

from rushlight.utils.data import position
from rushlight.utils.data.collate import default_collate, default_convert
from rushlight.utils.data.dataset import IterableDataset
from rushlight.utils.data.iteration import (
    _BaseDataLoaderIter,
    _DatasetKind,
    _SingleProcessDataLoaderIter,
    pipe_settings,
)
from rushlight.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    T_co,
)
from rushlight.utils.data.workers import get_worker_info


class _InfiniteConstantSampler(Sampler):
    """The sampler of streams: the indices mean nothing."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """An iterable over batches of `dataset`.

    Arguments, defaults, order and seeds are PyTorch's. With ``num_workers`` above 0 samples are
    loaded in that many processes; their batches travel through shared memory. A worker that dies is
    reported at once. :meth:`state_dict` writes down where a pass stands.

    >>> data = rushlight.utils.data.TensorDataset(rushlight.arange(4))
    >>> [batch[0].tolist() for batch in DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3]]
    """

    __initialized = False
    _FIXED = frozenset(
        "batch_size batch_sampler sampler drop_last dataset persistent_workers".split()
    )

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
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.worker_init_fn, self.generator = worker_init_fn, generator
        self.multiprocessing_context = multiprocessing_context
        self.persistent_workers, self.in_order = persistent_workers, in_order
        is_stream = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if is_stream else _DatasetKind.Map
        pipes = pipe_settings(dataset, "IterDataPipe")
        if pipes is not None:  # as in PyTorch a pipe that does not shuffle is read in its order
            pipes.graph_settings.apply_shuffle_settings(dataset, shuffle)
            shuffle = None
        _check_batches(is_stream, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = self._default_sampler(shuffle, generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn
        if collate_fn is None:
            self.collate_fn = default_collate if self._auto_collation else default_convert
        self._iterator = self._position = self._resumption = None
        self._IterableDataset_len_called = None
        self.__initialized = True
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle, generator):
        if self._dataset_kind == _DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=generator)
        return SequentialSampler(self.dataset)

    def __setattr__(self, name, value):
        if self.__initialized and name in self._FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        """The context that starts worker processes; None for the default one."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, wanted):
        self._context = _checked_context(wanted, self.num_workers)

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    # --------------------------------------------------------------------------------- iteration
    def __iter__(self):
        resumption, self._resumption = self._resumption, None
        if resumption is not None and resumption.finished:
            resumption.begin_anew()
            resumption = None
        if not (self.persistent_workers and self.num_workers):
            return self._get_iterator(resumption)
        if self._iterator is None or resumption is not None or self._lost_workers():
            self._close()
            self._iterator = self._get_iterator(resumption)
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self, resumption=None) -> _BaseDataLoaderIter:
        if not self.num_workers:
            return _SingleProcessDataLoaderIter(self, resumption)
        # Sockets, processes and pickling are not imported before somebody wants workers.
        from rushlight.utils.data.worker_iteration import _MultiProcessingDataLoaderIter

        return _MultiProcessingDataLoaderIter(self, resumption)

    def _lost_workers(self):
        """Whether persistent workers have ended, so that a pass needs new ones. A pass tells of
        those that end in it; of others a warning does."""
        fault = self._iterator._fault()
        if fault and not self._iterator._told:
            warnings.warn(
                f"DataLoader: its persistent workers are started anew, because {fault} between "
                "two passes",
                RuntimeWarning,
                stacklevel=3,
            )
        return bool(fault)

    def _close(self):
        if self._iterator is not None:
            self._iterator._shutdown_workers()
            self._iterator = None

    def __len__(self):
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        batches = length / self.batch_size
        return math.floor(batches) if self.drop_last else math.ceil(batches)

    def check_worker_number_rationality(self):
        """Warn of more workers than the process has processors."""
        affinity = getattr(os, "sched_getaffinity", None)
        processors = len(affinity(0)) if affinity is not None else os.cpu_count()
        if processors is not None and self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {processors}, which is "
                "smaller than what this DataLoader is going to create: loading may get slow or "
                "even freeze.",
                stacklevel=3,
            )

    # ----------------------------------------------------------------------------------- position
    def state_dict(self) -> dict:
        """Where the newest pass stands, for :meth:`load_state_dict` of a loader made alike.

        Datasets, streams and samplers with ``state_dict`` and ``load_state_dict`` are asked for
        theirs. The state holds plain types and tensors; the random number generators of this
        process and of the workers are in it.
        """
        return position.state_dict(self)

    def load_state_dict(self, state_dict: dict) -> None:
        """Let the next iterator go on where a pass stood when `state_dict` was written.

        It gives bit for bit the batches that were left, and puts this process's random number
        generators where they stood. A state from the end of a pass, or from before the first,
        makes the next iterator begin a pass.
        """
        self._resumption = position.Resumption(self, state_dict)


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError(
            f"num_workers option should be non-negative, got {num_workers}; use num_workers=0 to "
            "disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, got {timeout}")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. Let num_workers > "
            "0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError(f"prefetch_factor option should be non-negative, got {prefetch_factor}")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_batches(is_stream, batch_size, shuffle, sampler, batch_sampler, drop_last):
    if is_stream:
        for name, value in (
            ("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler),
        ):  # fmt: skip
            if value is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                    f"{name}={value}"
                )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                "drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _checked_context(wanted, num_workers):
    if wanted is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > "
            f"0), but got num_workers={num_workers}"
        )
    import multiprocessing

    if isinstance(wanted, str):
        methods = multiprocessing.get_all_start_methods()
        if wanted not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in "
                f"{methods!r}, but got multiprocessing_context={wanted!r}"
            )
        return multiprocessing.get_context(wanted)
    if not isinstance(wanted, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={wanted}"
        )
    return wanted


def __getattr__(name):
    """The iterator with workers, which PyTorch's module of this subject has too."""
    if name == "_MultiProcessingDataLoaderIter":
        from rushlight.utils.data.worker_iteration import _MultiProcessingDataLoaderIter

        return _MultiProcessingDataLoaderIter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
