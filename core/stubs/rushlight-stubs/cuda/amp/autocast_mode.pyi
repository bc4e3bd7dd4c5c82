# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _str
from rushlight.amp.mode import autocast as _autocast
from typing import Any

def amp_definitely_not_available() -> _bool: ...
class autocast(_autocast):
    def __init__(self, enabled: _bool = ..., dtype: _dtype = ..., cache_enabled: _bool = ...) -> None: ...
def custom_bwd(bwd: Any = ..., *, device_type: _str = ...) -> Any: ...
def custom_fwd(fwd: Any = ..., *, device_type: _str = ..., cast_inputs: Any = ...) -> Any: ...
