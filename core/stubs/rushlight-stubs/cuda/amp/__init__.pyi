# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _str
from typing import Any

from rushlight.cuda.amp.grad_scaler import GradScaler as GradScaler
def amp_definitely_not_available() -> _bool: ...
from rushlight.cuda.amp.autocast_mode import autocast as autocast
def custom_bwd(bwd: Any = ..., *, device_type: _str = ...) -> Any: ...
def custom_fwd(fwd: Any = ..., *, device_type: _str = ..., cast_inputs: Any = ...) -> Any: ...
