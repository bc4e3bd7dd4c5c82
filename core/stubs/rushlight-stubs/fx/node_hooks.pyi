# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from typing import Any

class NodeHooks:
    ...
def call_hooks(graph: Any, kind: Any, *args: Any, **kwargs: Any) -> None: ...
