# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from typing import Any

class CheckpointError(RuntimeError):
    ...
class Part:
    def __init__(self, function: Any, args: Any, kwargs: Any, surroundings: Any, second: Any, check: Any, early_stop: Any, debug: Any) -> None: ...
    def run(self, args: Any, first: Any) -> Any: ...
    def opened(self, place: Any) -> Any: ...
    function: Any
    kwargs: Any
    surroundings: Any
    second: Any
    check: Any
    early_stop: Any
    logs: Any
    places: list[Any]
    forms: list[Any]
    args: Any
    others: Any
