# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.tensor.tensor import Tensor
from typing import Any

def rearrange(tensor: Tensor, pattern: Any, **axes_lengths: Any) -> Any: ...
