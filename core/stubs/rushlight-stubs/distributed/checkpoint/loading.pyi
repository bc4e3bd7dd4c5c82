# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _str
from typing import Any

class CheckpointException(RuntimeError):
    ...
class DefaultLoadPlanner:
    default: _bool
    def __init__(self, flatten_state_dict: _bool = ..., flatten_sharded_tensors: _bool = ..., allow_partial_load: _bool = ...) -> None: ...
class DefaultSavePlanner:
    default: _bool
    def __init__(self, **options: Any) -> None: ...
def load(state_dict: Any, *, checkpoint_id: Any = ..., storage_reader: Any = ..., planner: Any = ..., process_group: Any = ..., no_dist: _bool = ...) -> None: ...
def whole_tensor(name: _str, whole: Any, reader: Any) -> Any: ...
