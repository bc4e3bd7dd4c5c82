# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.profiler.events import EventList
from typing import Any

class StepReport:
    def __init__(self, steps: _int, seconds: _float, phases: dict[_str, _float], averages: EventList, advice: list[_str]) -> None: ...
    steps: _int
    seconds: _float
    phases: dict[_str, _float]
    averages: EventList
    advice: list[_str]
    ops: Any
def where_does_my_step_go(step: Callable[..., object], data: Iterable[object] | None = ..., *, steps: _int = ..., warmup: _int = ...) -> StepReport: ...
