# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight.nn.module import Module
from typing import Any

def called(module: Module, parameters_and_buffers: Any, args: Any, kwargs: Any = ..., tie_weights: _bool = ..., strict: _bool = ...) -> Any: ...
def functional_call(module: Module, parameters_and_buffers: Any, args: Any = ..., kwargs: Any = ..., *, tie_weights: _bool = ..., strict: _bool = ...) -> Any: ...
