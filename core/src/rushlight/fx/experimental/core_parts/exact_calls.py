"""Calls of an overload that a graph has as that one, not as the first that takes their values."""

from __future__ import annotations

from rushlight.fx.experimental.recorder import Step
from rushlight.ops._transforms.capturing import run
from rushlight.tensor.dispatch import innermost_capture


def exact(target, *args, **kwargs):
    """The result of a call, which is a node of exactly this overload in the program that is being
    captured, if there is one."""
    level = innermost_capture()
    if level is None:
        return target(*args, **kwargs)
    with level.recorder.calling(target):
        return run(level, Step(target, args, kwargs), target, args, kwargs)
