# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from rushlight.export.dynamic.expressions import Expression
from rushlight.export.dynamic.expressions import ValueRanges
from rushlight.nn.module import Module
from typing import Any

class Constraint:
    auto: _bool
    inferred: _bool
    def __init__(self, name: _str, range: ValueRanges, example: _int, auto: _bool = ..., inferred: _bool = ...) -> None: ...
    name: _str
    range: ValueRanges
    example: _int
class Declaration:
    def without(self, name: _str) -> Any: ...
    def least(self, name: _str) -> Any: ...
    def only(self, names: Any) -> Any: ...
    def merged(self, group: Any) -> Any: ...
    def substituted(self, name: _str, expression: Any, roots: Any) -> Any: ...
    def __init__(self, free: dict[_str, Constraint] = ..., sizes: dict[tuple[_int, _int], Expression] = ..., labels: dict[_str, _str] = ...) -> None: ...
    free: dict[_str, Constraint]
    sizes: dict[tuple[_int, _int], Expression]
    labels: dict[_str, _str]
def declared(shapes: Any, names: Any, args: Any, kwargs: Any, module: Module) -> Declaration: ...
def limits_text(limits: Any) -> Any: ...
