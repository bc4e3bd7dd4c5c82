"""Questions about loaders and batches."""

from __future__ import annotations

import os
from typing import Any

from lightning_lite.configuration import AttributeDict
from lightning_lite.errors import MisconfigurationException
from lightning_lite.metrics import batch_size_of
from rushlight.utils.data import IterableDataset

__all__ = ["AttributeDict"]


def extract_batch_size(batch: Any) -> int:
    """The length of the first dimension of the first tensor in a batch; 1 for a tensor without
    dimensions. MisconfigurationException if there is no tensor."""
    size = batch_size_of(batch)
    if size is None:
        raise MisconfigurationException(
            f"extract_batch_size: {type(batch).__name__} holds no tensor; give self.log(..., "
            "batch_size=...)"
        )
    return size


def has_iterable_dataset(dataloader: object) -> bool:
    """Whether a loader's data set is read in order, without indices."""
    return isinstance(getattr(dataloader, "dataset", None), IterableDataset)


def sized_len(dataloader: object) -> int | None:
    """The length of something; None if it does not know."""
    try:
        return len(dataloader)  # type: ignore[arg-type]
    except (TypeError, NotImplementedError):
        return None


def has_len(dataloader: object) -> bool:
    """Whether a loader knows its length."""
    return sized_len(dataloader) is not None


def has_len_all_ranks(
    dataloader: object, strategy: Any = None, allow_zero_length: bool = False
) -> bool:
    """Whether a loader knows its length, in every process: there is one."""
    return has_len(dataloader)


def suggested_max_num_workers(local_world_size: int) -> int:
    """How many worker processes a loader may have so that each processor core has one.

    Raises ValueError for a number of processes below 1.
    """
    if local_world_size < 1:
        raise ValueError(f"suggested_max_num_workers: {local_world_size}; expected 1 or more")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (cores or 1) // local_world_size - 1)
