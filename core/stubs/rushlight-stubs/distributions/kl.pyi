# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _float
from typing import Any

def kl_divergence(p: _float, q: Any) -> Any: ...
def register_kl(type_p: Any, type_q: Any) -> Any: ...
