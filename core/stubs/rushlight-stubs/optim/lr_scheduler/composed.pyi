# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _int
from rushlight.optim.lr_scheduler.scheduler import LRScheduler
from rushlight.optim.optimizer import Optimizer
from typing import Any

class _Composed(LRScheduler):
    def state_dict(self) -> Any: ...
    def load_state_dict(self, state_dict: Any) -> Any: ...
class ChainedScheduler(_Composed):
    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = ...) -> None: ...
    def step(self) -> None: ...  # type: ignore[override]
class SequentialLR(_Composed):
    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[_int], last_epoch: _int = ...) -> None: ...
    def recursive_undo(self, sched: Any = ...) -> None: ...
    def step(self) -> None: ...  # type: ignore[override]
