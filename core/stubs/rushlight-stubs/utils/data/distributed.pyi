# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sized
from rushlight._words import _bool
from rushlight._words import _int
from rushlight.utils.data.sampler import Sampler
from typing import Any

class DistributedSampler(Sampler):
    def __init__(self, dataset: Sized, num_replicas: _int | None = ..., rank: _int | None = ..., shuffle: _bool = ..., seed: _int = ..., drop_last: _bool = ...) -> None: ...
    def __iter__(self) -> Any: ...
    def __len__(self) -> Any: ...
    def set_epoch(self, epoch: _int) -> None: ...
