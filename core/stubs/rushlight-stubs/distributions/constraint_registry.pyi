# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.distributions.constraints import Constraint
from rushlight.distributions.transform import Transform
from typing import Any

class ConstraintRegistry:
    def __init__(self) -> None: ...
    def register(self, constraint: Any, factory: Any = ...) -> Any: ...
    def __call__(self, constraint: Constraint) -> Transform: ...
biject_to: ConstraintRegistry
transform_to: ConstraintRegistry
