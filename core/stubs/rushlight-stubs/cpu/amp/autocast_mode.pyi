# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight.amp.mode import autocast as _autocast

class autocast(_autocast):
    def __init__(self, enabled: _bool = ..., dtype: _dtype = ..., cache_enabled: _bool = ...) -> None: ...
