# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight.tensor.tensor import Tensor
from typing import Any

def write_embedding(log_dir: Any, matrix: Any, metadata: Any, pictures: Any, step: Number | Tensor, tag: Any, header: Any) -> None: ...
