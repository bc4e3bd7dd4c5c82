"""The public marks of ``rushlight.compiler``: Python code itself is never compiled.

Only chains of elementwise operations are, and those need no mark.
"""

from __future__ import annotations


def is_compiling() -> bool:
    """Whether the running code is being captured as a graph: never."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn=None, recursive=True, *, reason=None):
    """Keep a function out of compiled graphs; returned as it is. Also written ``@disable()``."""
    return fn if fn is not None else _same


def _same(fn):
    return fn


def allow_in_graph(fn):
    """Mark a function as fit for a graph; returned as it is."""
    return fn


assume_constant_result = allow_in_graph


def reset() -> None:
    """Forget captured graphs: there are none. Compiled kernels stay; they do not depend on code."""


def cudagraph_mark_step_begin() -> None:
    """Mark the start of a step for recorded GPU graphs: there are none."""
