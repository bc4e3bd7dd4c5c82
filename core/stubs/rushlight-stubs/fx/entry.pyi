# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from typing import Any

PH: PHBase
class PHBase:
    ...
def entry_of(tracer: Any, root_fn: Any, is_module: Any, concrete_args: Any) -> Any: ...
