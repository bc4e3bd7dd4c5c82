"""Compiling Python: not yet."""

from __future__ import annotations

import functools
import os

from rushlight.refusals import refusal


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """What it is given where ``PYTORCH_JIT=0`` switches compiling off; refuses otherwise."""
    if os.environ.get("PYTORCH_JIT", "1") == "0":
        return obj
    raise refusal("jit.script")


script.refuses = True


def script_if_tracing(fn):
    """A function that is compiled when it is first called in a trace."""

    @functools.wraps(fn)
    def call(*args, **kwargs):
        return fn(*args, **kwargs)

    return call
