# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from typing import Any

class ConstraintRegistry:
    def __init__(self) -> None: ...
    def register(self, constraint: Any, factory: Any = ...) -> Any: ...
    def __call__(self, constraint: Any) -> Any: ...
biject_to: ConstraintRegistry
transform_to: ConstraintRegistry
