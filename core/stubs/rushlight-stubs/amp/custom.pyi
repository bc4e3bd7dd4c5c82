# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import _dtype
from rushlight._words import _str
from typing import Any

def custom_bwd(bwd: Callable[..., Any] | None = ..., *, device_type: _str) -> Callable[..., Any]: ...
def custom_fwd(fwd: Callable[..., Any] | None = ..., *, device_type: _str, cast_inputs: _dtype | None = ...) -> Callable[..., Any]: ...
