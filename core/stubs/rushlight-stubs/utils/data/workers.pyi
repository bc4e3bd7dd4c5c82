# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _int
from rushlight._words import _str
from typing import Any

class ExceptionWrapper:
    def __init__(self, exc_info: Any = ..., where: _str = ...) -> None: ...
    def reraise(self) -> Any: ...
    exc_type: Any
    name: Any
    where: _str
    exc_msg: Any
class StreamEnd:
    ...
class WorkerInfo:
    def __init__(self, id: _int, num_workers: _int, seed: _int, dataset: object) -> None: ...
    id: _int
    num_workers: _int
    seed: _int
    dataset: Any
def get_worker_info() -> WorkerInfo | None: ...
def set_worker_info(info: Any) -> None: ...
