# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.amp.grad_scaler import GradScaler as _GradScaler
from rushlight.amp.mode import autocast as _autocast
from typing import Any

class GradScaler(_GradScaler):
    def __init__(self, init_scale: _float = ..., growth_factor: _float = ..., backoff_factor: _float = ..., growth_interval: _int = ..., enabled: _bool = ...) -> None: ...
class autocast(_autocast):
    def __init__(self, enabled: _bool = ..., dtype: _dtype = ..., cache_enabled: _bool = ...) -> None: ...
def custom_bwd(bwd: Any = ..., *, device_type: _str = ...) -> Any: ...
def custom_fwd(fwd: Any = ..., *, device_type: _str = ..., cast_inputs: Any = ...) -> Any: ...
