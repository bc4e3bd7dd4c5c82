# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Iterable
from rushlight.tensor.tensor import Tensor

def parameters_to_vector(parameters: Tensor | Iterable[Tensor]) -> Tensor: ...
def vector_to_parameters(vec: Tensor, parameters: Tensor | Iterable[Tensor]) -> None: ...
