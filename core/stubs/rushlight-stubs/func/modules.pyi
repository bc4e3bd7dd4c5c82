# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight.nn.module import Module
from typing import Any

def functional_call(module: Module, parameter_and_buffer_dicts: Any, args: Any = ..., kwargs: Any = ..., *, tie_weights: _bool = ..., strict: _bool = ...) -> Any: ...
def replace_all_batch_norm_modules_(root: Any) -> Any: ...
def stack_module_state(models: Any) -> Any: ...
