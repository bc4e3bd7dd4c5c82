"""Loaders of which each process takes its part: samplers put in place of their own."""

from __future__ import annotations

import os
from typing import Any

from lightning_lite.errors import MisconfigurationException
from lightning_lite.random_state import SEED_VARIABLE
from lightning_lite.utilities.distributed import (
    DistributedSamplerWrapper,
    UnrepeatedDistributedSampler,
    UnrepeatedDistributedSamplerWrapper,
)
from rushlight.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
)


def divided(loader: Any, ranks: dict[str, int] | None, repeats: bool = True) -> Any:
    """A loader of this process's part of the data.

    `ranks`: `num_replicas` and `rank`; None for one process. Without `repeats` no item comes twice,
    and processes may get different numbers of them. Loaders of iterable data sets, other objects
    than DataLoaders, and loaders with a DistributedSampler stay as they are.
    """
    if ranks is None or not isinstance(loader, DataLoader):
        return loader
    if isinstance(loader.dataset, IterableDataset) or _is_divided(loader):
        return loader
    return with_sampler(loader, _sampler(loader, ranks, repeats))


def _is_divided(loader: Any) -> bool:
    inner = getattr(loader.batch_sampler, "sampler", None)
    return any(isinstance(each, DistributedSampler) for each in (loader.sampler, inner))


def _sampler(loader: Any, ranks: dict[str, Any], repeats: bool) -> Any:
    """The sampler of a process, which shuffles where the loader's does."""
    kinds = (
        (DistributedSampler, DistributedSamplerWrapper)
        if repeats
        else (UnrepeatedDistributedSampler, UnrepeatedDistributedSamplerWrapper)
    )
    own = getattr(loader.batch_sampler, "sampler", loader.sampler)
    if isinstance(own, RandomSampler | SequentialSampler):
        seed = int(os.environ.get(SEED_VARIABLE, 0))
        shuffled = isinstance(own, RandomSampler)
        return kinds[0](loader.dataset, shuffle=shuffled, seed=seed, **ranks)
    return kinds[1](own, shuffle=False, **ranks)


def with_sampler(loader: Any, sampler: Any) -> Any:
    """The same loader with another sampler. MisconfigurationException if it cannot be made."""
    options: dict[str, Any] = {
        "num_workers": loader.num_workers,
        "collate_fn": loader.collate_fn,
        "pin_memory": loader.pin_memory,
        "timeout": loader.timeout,
        "worker_init_fn": loader.worker_init_fn,
        "multiprocessing_context": loader.multiprocessing_context,
        "generator": loader.generator,
        "prefetch_factor": loader.prefetch_factor,
        "persistent_workers": loader.persistent_workers,
    }
    try:
        batches = loader.batch_sampler
        if type(batches) is BatchSampler or batches is None:
            options |= {
                "sampler": sampler,
                "batch_size": loader.batch_size,
                "drop_last": loader.drop_last,
            }
        else:
            options["batch_sampler"] = type(batches)(
                sampler, batch_size=batches.batch_size, drop_last=batches.drop_last
            )
        return type(loader)(loader.dataset, **options)
    except (TypeError, AttributeError) as error:
        raise MisconfigurationException(
            f"{type(loader).__name__} cannot be made anew with a sampler for each process "
            f"({error}); give it a DistributedSampler and use_distributed_sampler=False"
        ) from error
