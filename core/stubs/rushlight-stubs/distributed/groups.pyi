# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from rushlight._words import _int
from rushlight._words import _str
from rushlight.distributed.backends import Backend
from rushlight.distributed.process_group import ProcessGroup
from rushlight.distributed.stores import Store
from rushlight.distributed.works import Work
from typing import Any

class Completed:
    def __init__(self, counts: Any, membership: Any) -> None: ...
    def get(self, key: _str, otherwise: _int) -> _int: ...
    counts: Any
    rank: Any
class GroupMember:
    WORLD: Any
    NON_GROUP_MEMBER: _int
class Job:
    def __init__(self) -> None: ...
    def done(self) -> Completed: ...
    groups: dict[Any, Any]
    generation: _int
    count: _int
    local_counts: dict[Any, Any]
    control: Any
    server: Any
    mpi: Any
    membership: Any
    process: Any
    failure: Any
    issued: dict[Any, Any]
    completed: dict[Any, Any]
class RankGroup:
    def __init__(self, communicator: object, ranks: Sequence[_int], name: _str, backend: Backend, timeout: timedelta, store: Store | None = ..., description: _str = ...) -> None: ...
    def rank(self) -> _int: ...
    def size(self) -> _int: ...
    def name(self) -> _str: ...
    def get_group_store(self) -> Any: ...
    def set_timeout(self, timeout: timedelta) -> None: ...
    def carrier(self, operation: _str, array: Any) -> Any: ...
    def free(self) -> None: ...
    def start(self, work: Work) -> Work: ...
    def follow(self, work: Work) -> Work: ...
    def advance(self, work: Work) -> None: ...
    def message(self, sender: _int, receiver: _int) -> list[Any]: ...
    def obstacle(self, work: Work) -> _str | None: ...
    def absent(self, work: Work) -> _str: ...
    communicator: object
    ranks: list[Any]
    group_name: _str
    backend: Backend
    timeout: timedelta
    group_desc: Any
    store: Store | None
    rank_of: Any
    number: _int
    monitored: _int
    outstanding: set[Any]
    world_rank: Any
    key: Any
    of_devices: dict[Any, Any]
def default_group() -> ProcessGroup: ...
class group:
    WORLD: ProcessGroup | None
job: Job
def resolved(group: Any) -> ProcessGroup | None: ...
