# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _str
from typing import Any

from rushlight.amp.grad_scaler import GradScaler as GradScaler
from rushlight.amp.mode import autocast as autocast
def custom_bwd(bwd: Callable[..., Any] | None = ..., *, device_type: _str) -> Callable[..., Any]: ...
def custom_fwd(fwd: Callable[..., Any] | None = ..., *, device_type: _str, cast_inputs: _dtype | None = ...) -> Callable[..., Any]: ...
def is_autocast_available(device_type: _str) -> _bool: ...
