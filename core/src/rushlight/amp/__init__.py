"""Mixed precision: matrix products in bfloat16 or float16, what needs range in float32."""

from __future__ import annotations

from rushlight.amp.custom import custom_bwd, custom_fwd
from rushlight.amp.grad_scaler import GradScaler
from rushlight.amp.mode import autocast, is_autocast_available

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_LATE = {"autocast_mode": "rushlight.amp.mode"}


def __getattr__(name):
    if name in _LATE:
        import importlib

        return importlib.import_module(_LATE[name])
    raise AttributeError(f"module 'rushlight.amp' has no attribute '{name}'")
