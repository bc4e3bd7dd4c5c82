# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _float
from rushlight._words import _int
from rushlight.optim.lr_scheduler.scheduler import LRScheduler
from rushlight.optim.optimizer import Optimizer
from typing import Any

class CosineAnnealingLR(LRScheduler):
    def __init__(self, optimizer: Optimizer, T_max: _int, eta_min: _float = ..., last_epoch: _int = ...) -> None: ...
    def get_lr(self) -> Any: ...
    T_max: _int
    eta_min: _float
class CosineAnnealingWarmRestarts(LRScheduler):
    def __init__(self, optimizer: Optimizer, T_0: _int, T_mult: _int = ..., eta_min: _float = ..., last_epoch: _int = ...) -> None: ...
    def get_lr(self) -> Any: ...
    def step(self, epoch: Any = ...) -> None: ...
    T_0: _int
    T_i: _int
    T_mult: _int
    eta_min: _float
    T_cur: _int
