"""The public marks of ``rushlight.compiler``: what is captured as a graph, and what is not."""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref

captured: weakref.WeakSet = weakref.WeakSet()  # the graphs of every compiled function


class _Now(threading.local):
    """What this thread captures."""

    program = export = False


_now = _Now()


@contextlib.contextmanager
def capturing(what):
    """Inside, a graph is captured: of a "program" of `compile`, or for an "export"."""
    before = getattr(_now, what)
    setattr(_now, what, True)
    try:
        yield
    finally:
        setattr(_now, what, before)


def is_compiling() -> bool:
    """Whether the running code is being captured as a graph, by `compile` or by ``export``.

    >>> import rushlight
    >>> f = rushlight.compile(lambda x: x + 1 if rushlight.compiler.is_compiling() else x - 1)
    >>> f(rushlight.ones(1))
    tensor([2.])
    """
    return _now.program or _now.export


def is_dynamo_compiling() -> bool:
    """Whether the running code is being captured as a graph by `compile`."""
    return _now.program


def is_exporting() -> bool:
    """Whether the running code is being captured by ``export``."""
    return _now.export


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


def nested_compile_region(fn=None, *, options=None, max_reuse_entries=8, reuse_hash_fn=None):
    """Mark a function that graphs contain many times, so that it may be compiled once: returned as
    it is, since equal steps share their kernels anyway. Also written ``@nested_compile_region()``.

    Args:
        fn: the function; None gives the decorator.
        options, max_reuse_entries, reuse_hash_fn: accepted; they say when code may be shared.

    >>> import rushlight
    >>> block = rushlight.compiler.nested_compile_region(lambda x: x.relu() * 2)
    >>> rushlight.compile(lambda x: block(block(x)))(rushlight.ones(2))
    tensor([4., 4.])
    """
    return nested_compile_region if fn is None else fn


def reset() -> None:
    """Forget all graphs that compiled functions have captured, and what could not be. Kernels stay;
    they do not depend on programs."""
    for graphs in list(captured):
        graphs.reset()


_guard_collectives = False


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Say whether processes should agree before each call on which of them capture anew; returns
    what was said before.

    Capturing does not communicate here, so that the processes of a group wait for one that captures
    alone, and nothing hangs: the setting is kept, and no call communicates for it.

    >>> import rushlight
    >>> rushlight.compiler.set_enable_guard_collectives(True)
    False
    >>> rushlight.compiler.set_enable_guard_collectives(False)
    True
    """
    global _guard_collectives
    before, _guard_collectives = _guard_collectives, bool(enabled)
    return before


def cudagraph_mark_step_begin() -> None:
    """Mark the start of a step for recorded GPU graphs: there are none."""
