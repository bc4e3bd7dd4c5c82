# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight.amp.grad_scaler import GradScaler as _GradScaler

class GradScaler(_GradScaler):
    def __init__(self, init_scale: _float = ..., growth_factor: _float = ..., backoff_factor: _float = ..., growth_interval: _int = ..., enabled: _bool = ...) -> None: ...
from rushlight.amp.grad_scaler import OptState as OptState
