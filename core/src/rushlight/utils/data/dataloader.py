"""PyTorch's path of the data loader and what belongs to it."""

from __future__ import annotations

from rushlight.utils.data.collate import default_collate, default_convert
from rushlight.utils.data.loader import DataLoader, _SerialIterator
from rushlight.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)
from rushlight.utils.data.worker_iteration import WorkerIterator
from rushlight.utils.data.workers import get_worker_info

_SingleProcessDataLoaderIter = _SerialIterator
_MultiProcessingDataLoaderIter = WorkerIterator
_BaseDataLoaderIter = _SerialIterator | WorkerIterator  # for isinstance

__all__ = [
    "BatchSampler",
    "DataLoader",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
]
