# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.tensor.tensor import Tensor

def swap_tensors(t1: Tensor, t2: Tensor) -> None: ...
