# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from rushlight._words import _int
from rushlight.utils.data.datapipes.datapipe import IterDataPipe
from typing import Any

class SHARDING_PRIORITIES(IntEnum):
    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3
class ShardingFilter(IterDataPipe):
    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = ...) -> None: ...
    def apply_sharding(self, num_of_instances: _int, instance_id: _int, sharding_group: _int = ...) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> _int: ...
    source_datapipe: Any
    sharding_group_filter: Any
    groups: dict[Any, Any]
    num_of_instances: _int
    instance_id: _int
