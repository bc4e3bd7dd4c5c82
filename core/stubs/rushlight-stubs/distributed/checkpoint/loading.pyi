# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from os import PathLike
from rushlight._words import _bool
from rushlight._words import _str
from rushlight.distributed.checkpoint.filesystem import FileSystemReader
from rushlight.distributed.process_group import ProcessGroup
from typing import Any

class CheckpointException(RuntimeError):
    ...
class DefaultLoadPlanner:
    default: _bool
    def __init__(self, flatten_state_dict: _bool = ..., flatten_sharded_tensors: _bool = ..., allow_partial_load: _bool = ...) -> None: ...
    allow_partial_load: _bool
class DefaultSavePlanner:
    default: _bool
    def __init__(self, **options: Any) -> None: ...
    options: Any
def load(state_dict: dict[_str, Any], *, checkpoint_id: _str | PathLike[_str] | None = ..., storage_reader: FileSystemReader | None = ..., planner: object = ..., process_group: ProcessGroup | None = ..., no_dist: _bool = ...) -> None: ...
def whole_tensor(name: _str, whole: Any, reader: Any) -> Any: ...
