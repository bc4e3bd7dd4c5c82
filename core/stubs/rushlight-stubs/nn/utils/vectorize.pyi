# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Iterable
from rushlight.tensor.tensor import Tensor
from typing import Any

def parameters_to_vector(parameters: Tensor | Iterable[Tensor]) -> Tensor: ...
def vector_to_parameters(vec: Any, parameters: Tensor | Iterable[Tensor]) -> Any: ...
