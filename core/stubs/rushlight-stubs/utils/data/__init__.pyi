# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _float
from rushlight._words import _int
from rushlight.ops.random.generators import Generator
from rushlight.utils.data.dataset import T_co
from rushlight.utils.data.workers import WorkerInfo
from typing import Any

from rushlight.utils.data.sampler import BatchSampler as BatchSampler
from rushlight.utils.data.dataset import ChainDataset as ChainDataset
from rushlight.utils.data.dataset import ConcatDataset as ConcatDataset
from rushlight.utils.data.loader import DataLoader as DataLoader
from rushlight.utils.data.dataset import Dataset as Dataset
from rushlight.utils.data.distributed import DistributedSampler as DistributedSampler
from rushlight.utils.data.dataset import IterableDataset as IterableDataset
from rushlight.utils.data.sampler import RandomSampler as RandomSampler
from rushlight.utils.data.sampler import Sampler as Sampler
from rushlight.utils.data.sampler import SequentialSampler as SequentialSampler
from rushlight.utils.data.dataset import StackDataset as StackDataset
from rushlight.utils.data.dataset import Subset as Subset
from rushlight.utils.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from rushlight.utils.data.dataset import TensorDataset as TensorDataset
from rushlight.utils.data.sampler import WeightedRandomSampler as WeightedRandomSampler
def default_collate(batch: list[Any]) -> Any: ...
def default_convert(data: object) -> Any: ...
def get_worker_info() -> WorkerInfo | None: ...
def random_split(dataset: Dataset[T_co], lengths: Sequence[_int | _float], generator: Generator | None = ...) -> list[Subset[T_co]]: ...
