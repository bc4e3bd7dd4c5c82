# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.optim.lr_scheduler.scheduler import LRScheduler
from rushlight.optim.optimizer import Optimizer
from typing import Any

class _MomentumCycle(LRScheduler):
    use_beta1: Any
class CyclicLR(_MomentumCycle):
    def __init__(self, optimizer: Optimizer, base_lr: _float, max_lr: _float, step_size_up: _int = ..., step_size_down: _int | None = ..., mode: _str = ..., gamma: _float = ..., scale_fn: Callable[[_float], _float] | None = ..., scale_mode: _str = ..., cycle_momentum: _bool = ..., base_momentum: _float = ..., max_momentum: _float = ..., last_epoch: _int = ...) -> None: ...
    def scale_fn(self, x: Any) -> _float: ...
    def get_lr(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, state_dict: Any) -> Any: ...
    max_lrs: Any
    total_size: Any
    step_ratio: Any
    mode: _str
    gamma: _float
    scale_mode: Any
    cycle_momentum: _bool
    base_momentums: Any
    max_momentums: Any
class OneCycleLR(_MomentumCycle):
    def __init__(self, optimizer: Optimizer, max_lr: _float, total_steps: _int | None = ..., epochs: _int | None = ..., steps_per_epoch: _int | None = ..., pct_start: _float = ..., anneal_strategy: _str = ..., cycle_momentum: _bool = ..., base_momentum: _float = ..., max_momentum: _float = ..., div_factor: _float = ..., final_div_factor: _float = ..., three_phase: _bool = ..., last_epoch: _int = ...) -> None: ...
    def get_lr(self) -> Any: ...
    total_steps: Any
    cycle_momentum: _bool
