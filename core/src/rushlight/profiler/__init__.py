"""Where the time of a program goes: op times forward and backward, memory, shapes, traces."""

from __future__ import annotations

from rushlight.profiler.bottleneck import StepReport, where_does_my_step_go
from rushlight.profiler.profile import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from rushlight.profiler.ranges import record_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "StepReport",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
    "where_does_my_step_go",
]


def kineto_available() -> bool:
    """Whether PyTorch's library Kineto is there: never; traces are written without it."""
    return False
