# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _int
from rushlight.tensor.tensor import Tensor

def apply_permutation(tensor: Tensor, permutation: Tensor, dim: _int = ...) -> Tensor: ...
