# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from typing import Any

from rushlight.profiler.profile import ProfilerAction as ProfilerAction
from rushlight.profiler.profile import ProfilerActivity as ProfilerActivity
from rushlight.profiler.bottleneck import StepReport as StepReport
from rushlight.profiler.profile import profile as profile
from rushlight.profiler.ranges import record_function as record_function
def schedule(*, wait: _int, warmup: _int, active: _int, repeat: _int = ..., skip_first: _int = ..., skip_first_wait: _int = ...) -> Callable[..., Any]: ...
def supported_activities() -> set[ProfilerActivity]: ...
def tensorboard_trace_handler(dir_name: _str, worker_name: _str | None = ..., use_gzip: _bool = ...) -> Callable[..., Any]: ...
def where_does_my_step_go(step: Callable[..., object], data: Iterable[object] | None = ..., *, steps: _int = ..., warmup: _int = ...) -> StepReport: ...
