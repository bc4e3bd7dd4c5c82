# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _str
from typing import Any

PH: PHBase
class PHBase:
    ...
class PHWithMeta(PHBase):
    def __init__(self, ph_key: _str | None = ...) -> None: ...
    ph_key: _str | None
def entry_of(tracer: Any, root_fn: Any, is_module: Any, concrete_args: Any) -> Any: ...
