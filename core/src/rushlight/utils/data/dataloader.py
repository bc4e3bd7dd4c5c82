"""PyTorch's path of the data loader and what belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from rushlight.utils.data.collate import default_collate, default_convert
from rushlight.utils.data.iteration import (
    _BaseDataLoaderIter,
    _DatasetKind,
    _SingleProcessDataLoaderIter,
)
from rushlight.utils.data.loader import DataLoader, _InfiniteConstantSampler
from rushlight.utils.data.pipe_passes import _sharding_worker_init_fn
from rushlight.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)
from rushlight.utils.data.worker_iteration import _MultiProcessingDataLoaderIter
from rushlight.utils.data.workers import get_worker_info

_T = TypeVar("_T")
_collate_fn_t: TypeAlias = Callable[[list[_T]], Any]
_worker_init_fn_t: TypeAlias = Callable[[int], None]

__all__ = [
    "BatchSampler",
    "DataLoader",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "_BaseDataLoaderIter",
    "_DatasetKind",
    "_InfiniteConstantSampler",
    "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter",
    "_sharding_worker_init_fn",
    "default_collate",
    "default_convert",
    "get_worker_info",
]
