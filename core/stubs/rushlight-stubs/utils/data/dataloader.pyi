# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.utils.data.workers import WorkerInfo
from typing import Any

from rushlight.utils.data.sampler import BatchSampler as BatchSampler
from rushlight.utils.data.loader import DataLoader as DataLoader
from rushlight.utils.data.sampler import RandomSampler as RandomSampler
from rushlight.utils.data.sampler import Sampler as Sampler
from rushlight.utils.data.sampler import SequentialSampler as SequentialSampler
def default_collate(batch: list[Any]) -> Any: ...
def default_convert(data: object) -> Any: ...
def get_worker_info() -> WorkerInfo | None: ...
