"""The public marks of ``rushlight.compiler``: Python code itself is never compiled.

Only chains of elementwise operations are, and those need no mark.
"""

from __future__ import annotations

import functools


def is_compiling() -> bool:
    """Whether the running code is being captured as a graph: never."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn=None, recursive=True, *, reason=None):
    """Keep a function out of compiled graphs: the function, as one that ends them where it is
    called. Also written ``@disable()``. A module is returned as it is, and its `forward` replaced.

    - `recursive`: accepted; what the function calls is never part of a graph.
    - `reason`: what ``_dynamo.explain`` adds to the break.

    >>> seen = rushlight.compiler.disable(lambda x: x * 2)
    >>> rushlight._dynamo.explain(lambda x: seen(x.sin()).cos())(rushlight.ones(2)).graph_count
    2
    """
    if fn is None:
        return lambda found: disable(found, recursive, reason=reason)
    if isinstance(fn, type):
        return fn
    if hasattr(fn, "forward"):
        fn.forward = disable(fn.forward, recursive, reason=reason)
        return fn

    @functools.wraps(fn)
    def disabled(*args, **kwargs):
        return fn(*args, **kwargs)

    disabled._disabled = reason or ""
    return disabled


def allow_in_graph(fn):
    """Mark a function as fit for a graph; returned as it is."""
    return fn


assume_constant_result = allow_in_graph


def reset() -> None:
    """Forget captured graphs: there are none. Compiled kernels stay; they do not depend on code."""


def cudagraph_mark_step_begin() -> None:
    """Mark the start of a step for recorded GPU graphs: there are none."""
