# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any

def rearrange(tensor: Tensor | Sequence[Tensor], pattern: _str, **axes_lengths: Any) -> Tensor: ...
