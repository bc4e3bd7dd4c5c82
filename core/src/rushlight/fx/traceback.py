"""What new nodes of graphs inherit: the `meta` of the node that is being run."""

from __future__ import annotations

import contextlib
import threading


class _Current(threading.local):
    def __init__(self):
        self.meta: dict = {}
        self.preserve = False


_current = _Current()


def has_preserved_node_meta() -> bool:
    """Whether nodes made now inherit :func:`get_current_meta`."""
    return _current.preserve


def get_current_meta() -> dict:
    """The `meta` that nodes made now inherit."""
    return _current.meta


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True):
    """Inside, nodes that are made inherit the `meta` of the node that an interpreter runs."""
    before = _current.preserve, _current.meta
    _current.preserve, _current.meta = enable, {}
    try:
        yield
    finally:
        _current.preserve, _current.meta = before


@contextlib.contextmanager
def set_current_meta(node, pass_name: str = ""):
    """Inside, `node` is the one whose `meta` is inherited; with ``from_node`` naming it."""
    if not _current.preserve:
        yield
        return
    before = _current.meta
    _current.meta = {**node.meta, "from_node": [(node.name, node.target)]}
    try:
        yield
    finally:
        _current.meta = before


@contextlib.contextmanager
def annotate(annotation: dict):
    """Inside, nodes that are made carry `annotation` in ``meta["custom"]``, while
    :func:`preserve_node_meta` is on."""
    before = _current.meta
    _current.meta = {**before, "custom": {**before.get("custom", {}), **annotation}}
    try:
        yield
    finally:
        _current.meta = before


def set_stack_trace(stack: list[str]) -> None:
    """Let nodes made now have these lines as their `stack_trace`."""
    if _current.preserve and stack:
        _current.meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The lines of the program that made the node that is being run."""
    if "stack_trace" in _current.meta:
        return [_current.meta["stack_trace"]]
    import traceback

    return traceback.format_list(traceback.extract_stack()[:-1])


__all__ = [
    "annotate",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]
