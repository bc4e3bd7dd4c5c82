# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.tensor.tensor import Tensor
from typing import Any

from rushlight.autograd.handle import RemovableHandle as RemovableHandle
def unserializable_hook(f: Any) -> Any: ...
def warn_if_has_hooks(tensor: Tensor) -> None: ...
