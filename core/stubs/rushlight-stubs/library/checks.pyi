# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _str
from rushlight.library.definitions import CustomOpDef
from rushlight.library.kinds import OpOverload
from rushlight.library.kinds import OpOverloadPacket
from typing import Any

class OpCheckError(Exception):
    ...
def opcheck(op: OpOverload | OpOverloadPacket | CustomOpDef, args: tuple[Any, ...], kwargs: dict[_str, Any] | None = ..., *, test_utils: _str | Sequence[_str] = ..., raise_exception: _bool = ..., atol: _float | None = ..., rtol: _float | None = ...) -> dict[_str, _str]: ...
