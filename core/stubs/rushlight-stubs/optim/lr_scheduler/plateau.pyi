# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.optim.lr_scheduler.scheduler import LRScheduler
from rushlight.optim.optimizer import Optimizer
from typing import Any

class ReduceLROnPlateau(LRScheduler):
    def __init__(self, optimizer: Optimizer, mode: _str = ..., factor: _float = ..., patience: _int = ..., threshold: _float = ..., threshold_mode: _str = ..., cooldown: _int = ..., min_lr: _int = ..., eps: _float = ...) -> None: ...
    @property
    def in_cooldown(self) -> Any: ...
    def step(self, metrics: Any, epoch: Any = ...) -> None: ...  # type: ignore[override]
    def load_state_dict(self, state_dict: Any) -> Any: ...
    best: _float
    num_bad_epochs: _int
    cooldown_counter: _int
    factor: _float
    default_min_lr: Any
    min_lrs: Any
    patience: _int
    cooldown: _int
    eps: _float
    mode_worse: Any
    mode: Any
    threshold: Any
    threshold_mode: Any
