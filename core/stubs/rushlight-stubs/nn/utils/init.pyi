# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.nn.module import Module
from typing import Any

def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module: ...
