# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _str

class HigherOrderOperator:
    def __init__(self, name: _str, *, cacheable: _bool = ...) -> None: ...
class OpOverload:
    ...
class OpOverloadPacket:
    ...
