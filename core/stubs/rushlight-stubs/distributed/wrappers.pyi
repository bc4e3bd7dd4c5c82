# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _str
from rushlight.nn.module import Module
from typing import Any

CHECKPOINTED: _str
SHARDED: _str
class Wrapper(Module):
    def __init__(self) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
    def __getitem__(self, key: Any) -> Any: ...
def clean_name(name: _str) -> _str: ...
