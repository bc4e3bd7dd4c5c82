# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from multiprocessing.context import BaseContext
from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.ops.random.generators import Generator
from rushlight.utils.data.dataset import Dataset
from rushlight.utils.data.workers import WorkerInfo
from typing import Any
from typing import Generic
from typing import TypeVar

T_co = TypeVar("T_co", covariant=True)
class DataLoader(Generic[T_co]):
    def __init__(self, dataset: Dataset[T_co] | Iterable[T_co], batch_size: _int | None = ..., shuffle: _bool | None = ..., sampler: Iterable[Any] | None = ..., batch_sampler: Iterable[Any] | None = ..., num_workers: _int = ..., collate_fn: Callable[[list[Any]], Any] | None = ..., pin_memory: _bool = ..., drop_last: _bool = ..., timeout: _float = ..., worker_init_fn: Callable[[_int], None] | None = ..., multiprocessing_context: _str | BaseContext | None = ..., generator: Generator | None = ..., *, prefetch_factor: _int | None = ..., persistent_workers: _bool = ..., pin_memory_device: _str = ..., in_order: _bool = ...) -> None: ...
    @property
    def multiprocessing_context(self) -> Any: ...
    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> _int: ...
    def check_worker_number_rationality(self) -> Any: ...
    def state_dict(self) -> dict[Any, Any]: ...
    def load_state_dict(self, state_dict: dict[Any, Any]) -> None: ...
    dataset: Dataset[T_co]
    batch_size: _int | None
    num_workers: _int
    pin_memory: _bool
    drop_last: _bool
    timeout: _float
    sampler: Any
    batch_sampler: Any
    collate_fn: Callable[[list[Any]], Any]
    generator: Generator | None
    prefetch_factor: _int | None
    persistent_workers: _bool
    pin_memory_device: _str
    worker_init_fn: Callable[[_int], None] | None
    in_order: _bool
def default_collate(batch: list[Any]) -> Any: ...
def default_convert(data: object) -> Any: ...
def get_worker_info() -> WorkerInfo | None: ...
