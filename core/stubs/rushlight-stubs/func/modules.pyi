# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from rushlight._words import _bool
from rushlight._words import _str
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from typing import Any

def functional_call(module: Module, parameter_and_buffer_dicts: Mapping[_str, Tensor] | Sequence[Mapping[_str, Tensor]], args: object = ..., kwargs: Mapping[_str, Any] | None = ..., *, tie_weights: _bool = ..., strict: _bool = ...) -> Any: ...
def replace_all_batch_norm_modules_(root: Module) -> Module: ...
def stack_module_state(models: Sequence[Module]) -> tuple[dict[_str, Any], dict[_str, Any]]: ...
