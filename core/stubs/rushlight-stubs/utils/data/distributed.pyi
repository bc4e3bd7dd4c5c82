# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sized
from rushlight._words import _bool
from rushlight._words import _int
from rushlight.utils.data.sampler import Sampler
from typing import Any
from typing import TypeVar

T_co = TypeVar("T_co", covariant=True)
class DistributedSampler(Sampler[T_co]):
    def __init__(self, dataset: Sized, num_replicas: _int | None = ..., rank: _int | None = ..., shuffle: _bool = ..., seed: _int = ..., drop_last: _bool = ...) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> _int: ...
    def set_epoch(self, epoch: _int) -> None: ...
    dataset: Sized
    num_replicas: Any
    rank: Any
    epoch: _int
    drop_last: _bool
    shuffle: _bool
    seed: _int
    total_size: Any
    num_samples: Any
