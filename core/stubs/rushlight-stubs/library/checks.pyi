# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _str
from typing import Any

class OpCheckError(Exception):
    ...
def opcheck(op: Any, args: Any, kwargs: Any = ..., *, test_utils: Any = ..., raise_exception: _bool = ..., atol: Any = ..., rtol: Any = ...) -> dict[_str, _str]: ...
