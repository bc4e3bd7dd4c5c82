"""One pass over a data loader, and the one that makes its batches in this process."""

from __future__ import annotations

import importlib
import sys
import warnings

import rushlight
from rushlight.utils.data import fetch, position
from rushlight.utils.data.pin_memory import pin_memory
from rushlight.utils.data.sampler import drawn_seed


class _DatasetKind:
    """The two kinds of datasets, and what fetches their batches."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        """The fetcher for a dataset of a kind."""
        is_map = kind == _DatasetKind.Map
        fetcher = fetch._MapDatasetFetcher if is_map else fetch._IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


def pipe_settings(dataset, *kinds):
    """The module `pipe_passes` where `dataset` is a data pipe, of these kinds; None for others."""
    pipes = sys.modules.get("rushlight.utils.data.datapipes.datapipe")
    if pipes is None:  # not imported: nothing is a pipe
        return None
    if not isinstance(dataset, tuple(getattr(pipes, kind) for kind in kinds)):
        return None
    return importlib.import_module("rushlight.utils.data.pipe_passes")


class _BaseDataLoaderIter:
    """What passes with and without workers have in common: indices, seeds, warnings.

    Libraries derive iterators of their own from it, with PyTorch's names: they call ``_next_index``
    and ``_reset``, and set ``_sampler_iter``, ``_base_seed``, ``_shared_seed`` and the counts.
    """

    # With workers PyTorch begins a first pass twice: the sampler's iterator and the seed that pipes
    # share are made when the iterator is made, and again when its workers are there.
    _begins_twice = False

    def __init__(self, loader, resumption=None):
        self._dataset, self._dataset_kind = loader.dataset, loader._dataset_kind
        self._num_workers, self._timeout = loader.num_workers, loader.timeout
        self._auto_collation, self._drop_last = loader._auto_collation, loader.drop_last
        self._index_sampler, self._collate_fn = loader._index_sampler, loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        self._stateful_sampler = position.stateful_sampler(self._index_sampler)
        self._pin_memory = _pins(loader)
        self._pin_memory_device = loader.pin_memory_device
        self._base_seed = self._shared_seed = None
        self._pipes = pipe_settings(self._dataset, "IterDataPipe")
        shards = pipe_settings(self._dataset, "IterDataPipe", "MapDataPipe")
        self._world_size, self._rank = (1, 0) if shards is None else shards.ranks()
        self._open(loader, resumption, draws_seed=True)

    def _open(self, loader, resumption, draws_seed):
        """Begin a pass: note where it starts, make the sampler's iterator, draw the workers' seed
        (once for workers that persist). Random numbers are drawn in PyTorch's order."""
        stateful = False
        if resumption is not None:
            resumption.rewind()
            draws_seed = resumption.main["_draws_seed"]
            self._base_seed = resumption.main["_base_seed"]
            stateful = resumption.prepare_sampler(self._index_sampler)
        here = loader._position = self._position = position.Position(loader)
        here.draws_seed = draws_seed
        self._seed_pipes(loader)
        self._sampler_iter = iter(self._index_sampler)
        if draws_seed:
            self._base_seed = drawn_seed(loader.generator)
            if self._begins_twice:
                self._sampler_iter = iter(self._index_sampler)
                if self._pipes is not None:
                    self._pipes.shared_seed(loader.generator)
        here.base_seed = self._base_seed
        if resumption is not None:
            here.take_over(resumption)
            if not stateful:
                self._sampler_iter = resumption.skipped(self._sampler_iter)

    def _seed_pipes(self, loader):
        """Draw the seed by which all ranks and workers shuffle the pipes alike."""
        if self._pipes is not None:
            self._shared_seed = self._pipes.shared_seed(loader.generator)
            self._pipes.seed_pipes(self._dataset, self._shared_seed)

    def _reset(self, loader, first_iter=False):
        """Begin another pass; with `first_iter` the first one anew."""
        self._open(loader, None, draws_seed=False)

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._index_sampler)

    def _next_index(self):
        """The indices of the next batch. Raises StopIteration at the sampler's end."""
        return next(self._sampler_iter)

    def _next_data(self):
        raise NotImplementedError(f"{type(self).__name__} must define _next_data()")

    def __next__(self):
        here = self._position
        try:
            data = self._next_data()
        except StopIteration:
            here.finished = True
            raise
        here.yielded += 1
        if here.length is not None and here.yielded > here.length:
            self._warn_of_length(here)
        return pin_memory(data) if self._pin_memory else data

    def _warn_of_length(self, here):
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {here.length} (when "
            f"accessing len(dataloader)), but {here.yielded} samples have been fetched. "
        )
        if self._num_workers:
            message += (
                "With several workers every one of them iterates over the whole dataset unless its "
                "__iter__ or worker_init_fn splits it by get_worker_info()."
            )
        warnings.warn(message, stacklevel=3)

    @property
    def _num_yielded(self):
        return self._position.yielded

    @_num_yielded.setter
    def _num_yielded(self, count):
        self._position.yielded = count

    @property
    def _IterableDataset_len_called(self):  # noqa: N802 - PyTorch's name
        return self._position.length

    @_IterableDataset_len_called.setter
    def _IterableDataset_len_called(self, length):  # noqa: N802
        self._position.length = length

    def __getstate__(self):
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Batches made in this process."""

    def __init__(self, loader, resumption=None):
        super().__init__(loader, resumption)
        if self._timeout:
            raise AssertionError(
                f"timeout={self._timeout} is for worker processes: set num_workers > 0, or "
                "timeout=0"
            )
        shards = pipe_settings(self._dataset, "IterDataPipe", "MapDataPipe")
        if shards is not None:
            shards.graph_settings.apply_sharding(self._dataset, self._world_size, self._rank)
        if resumption is not None:
            position.load_dataset_state(self._dataset, resumption.own["dataset_state"])
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn,
            self._drop_last,
        )  # fmt: skip
        self._fetch = self._dataset_fetcher.fetch
        self._position.fetcher = self._dataset_fetcher
        if resumption is not None:
            batch = example_batch(loader)
            position.stream_state.restore(self._dataset_fetcher, resumption.stream(batch))
            resumption.settle()

    def _next_data(self):
        indices = self._next_index()
        here = self._position
        if self._stateful_sampler is not None:
            here.sampler_state = self._stateful_sampler.state_dict()
        data = self._fetch(indices)
        here.drawn += 1
        return data


def example_batch(loader):
    """What a sampler of streams gives: as many Nones as a batch has samples, or one."""
    size = getattr(loader, "batch_size", None)  # which imitated loaders may lack
    return None if size is None else [None] * size


def _pins(loader):
    """Whether batches go to page-locked memory; the reasons why not are warned of."""
    if not loader.pin_memory:
        return False
    if loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device; "
            f"ignoring pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=5,
        )
    available = rushlight.accelerator.is_available()
    if not available:
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
            "memory won't be used.",
            stacklevel=5,
        )
    return available
