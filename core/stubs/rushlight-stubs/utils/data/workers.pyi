# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _int
from typing import Any

class ManagerWatchdog:
    def __init__(self) -> None: ...
    def is_alive(self) -> _bool: ...
    manager_pid: Any
    manager_dead: _bool
class WorkerInfo:
    def __init__(self, id: _int, num_workers: _int, seed: _int, dataset: object) -> None: ...
    id: _int
    num_workers: _int
    seed: _int
    dataset: Any
def get_worker_info() -> WorkerInfo | None: ...
def set_worker_info(info: Any) -> None: ...
