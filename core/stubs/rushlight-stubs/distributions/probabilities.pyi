# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from typing import Any

class BinaryProbabilities:
    logits: Any
    probs: Any
    @property
    def param_shape(self) -> Any: ...
def check_one(probs: Any, logits: Any) -> Any: ...
