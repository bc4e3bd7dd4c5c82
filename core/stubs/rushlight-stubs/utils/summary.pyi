# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _int
from rushlight._words import _str
from rushlight.nn.module import Module
from typing import Any

class LayerSummary:
    def __init__(self, name: _str, module: Module, depth: Any) -> None: ...
    depth: Any
    kind: Any
    multiply_adds: Any
    name: Any
    output: Any
    parameters: Any
    trainable: Any
class ModelSummary:
    def __init__(self, rows: Any, model: Any) -> None: ...
    rows: Any
    total_parameters: Any
    trainable_parameters: Any
    parameter_bytes: Any
    multiply_adds: Any
def summarize(model: Any, *inputs: Any, depth: _int | None = ..., **keywords: Any) -> ModelSummary: ...
