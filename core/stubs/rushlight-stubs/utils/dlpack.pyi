# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.tensor.tensor import Tensor

def from_dlpack(ext_tensor: object) -> Tensor: ...
def to_dlpack(tensor: Tensor) -> object: ...
