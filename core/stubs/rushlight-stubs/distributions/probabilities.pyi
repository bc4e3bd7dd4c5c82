# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight.tensor.tensor import Tensor
from typing import Any

class BinaryProbabilities:
    logits: Any
    probs: Any
    @property
    def param_shape(self) -> Any: ...
def check_one(probs: Tensor | Number, logits: Tensor | Number) -> Any: ...
