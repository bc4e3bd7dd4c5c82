"""What new nodes of graphs inherit: the `meta` of the node that is being run."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import threading
from typing import Any


class NodeSourceAction(enum.Enum):
    """What a pass did with a node: made another of it, or replaced it."""

    CREATE = "create"
    REPLACE = "replace"


@dataclasses.dataclass(frozen=True)
class NodeInfo:
    """Which node of which graph: `graph_id` is the graph's identity while it exists."""

    name: str
    target: str
    graph_id: int


class NodeSource:
    """What a node was made of, as ``meta["from_node"]`` keeps it in a list: a node of another
    graph, and in `from_node` what that one was made of.

    Args:
        node: the node; None for one that no other was made of.
        pass_name: what made a node of it.
        action: a :class:`NodeSourceAction` or a list of them; none by default.

    >>> import rushlight
    >>> from rushlight.fx.traceback import NodeSource
    >>> graph = rushlight.fx.Graph()
    >>> source = NodeSource(graph.placeholder("x"), "my_pass")
    >>> source.name, source.target, source.pass_name, source.from_node
    ('x', 'x', 'my_pass', [])
    """

    NodeInfo = NodeInfo

    def __init__(self, node, pass_name: str = "", action=None):
        self.pass_name = pass_name
        self.action = list(action) if isinstance(action, list) else [action] if action else []
        self.node_info: NodeInfo | None = None
        self.from_node: list[NodeSource] = []
        if node is not None:
            self.node_info = NodeInfo(node.name, str(node.target), id(node.graph))
            self.from_node = list(node.meta.get("from_node", ()))

    @property
    def name(self) -> str:
        """The node's name, or ``""``."""
        return self.node_info.name if self.node_info else ""

    @property
    def target(self) -> str:
        """The node's target as text, or ``""``."""
        return self.node_info.target if self.node_info else ""

    @property
    def graph_id(self) -> int:
        """The identity of the node's graph, or -1."""
        return self.node_info.graph_id if self.node_info else -1

    def print_readable(self, indent: int = 0) -> str:
        """A line for the node, and one, further to the right, for each that it was made of."""
        found = self.to_dict()
        shown = ", ".join(f"{key}={found[key]}" for key in ("name", "pass_name", "action"))
        line = f"{'    ' * indent}({shown}, graph_id={self.graph_id})\n"
        return line + "".join(each.print_readable(indent + 1) for each in self.from_node)

    __repr__ = print_readable

    def to_dict(self) -> dict[str, Any]:
        """The same as strings, numbers, and dicts in a list."""
        return {
            "name": self.name,
            "target": self.target,
            "graph_id": self.graph_id,
            "pass_name": self.pass_name,
            "action": "+".join(each.name.lower() for each in self.action),
            "from_node": [each.to_dict() for each in self.from_node],
        }

    @classmethod
    def _from_dict(cls, d: dict[str, Any] | None) -> NodeSource | None:
        """The source that `to_dict` wrote down."""
        if d is None:
            return None
        words = [word for word in str(d.get("action", "")).split("+") if word]
        made = cls(None, str(d.get("pass_name", "")), [NodeSourceAction(word) for word in words])
        if {"name", "target", "graph_id"} <= d.keys():
            made.node_info = NodeInfo(str(d["name"]), str(d["target"]), int(d["graph_id"]))
        made.from_node = [each for each in map(cls._from_dict, d.get("from_node") or ()) if each]
        return made

    def __eq__(self, other):
        return isinstance(other, NodeSource) and self.to_dict() == other.to_dict()

    def __hash__(self):
        return hash((self.node_info, self.pass_name, tuple(self.action), tuple(self.from_node)))


class _Current(threading.local):
    def __init__(self):
        self.meta: dict = {}
        self.preserve = False
        self.replayed = None


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
    made_of = NodeSource(node, pass_name, NodeSourceAction.CREATE)
    _current.meta = {**node.meta, "from_node": [made_of]}
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


def annotate_fn(annotation_dict: dict):
    """A decorator: nodes that are made while the function runs carry the annotation, see
    :func:`annotate`.

    >>> import rushlight
    >>> from rushlight.fx.traceback import annotate_fn, get_current_meta
    >>> annotate_fn({"stage": 1})(get_current_meta)()["custom"]
    {'stage': 1}
    """

    def decorate(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return run

    return decorate


@contextlib.contextmanager
def set_current_replay_node(node):
    """Inside, `node` is the one that :func:`get_current_replay_node` gives: for programs that make
    the nodes of a graph anew, one by one."""
    before = _current.replayed
    _current.replayed = node
    try:
        yield
    finally:
        _current.replayed = before


def get_current_replay_node():
    """The node that is being made anew; None outside of :func:`set_current_replay_node`.

    >>> from rushlight.fx.traceback import get_current_replay_node
    >>> get_current_replay_node() is None
    True
    """
    return _current.replayed


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Begin the nodes of a function of a backward pass: nodes made now have its number, and those
    of the functions it is inside of, in ``meta["grad_fn_seq_nr"]``, and how many these are in
    ``meta["in_grad_fn"]``; while :func:`preserve_node_meta` is on."""
    if _current.preserve:
        meta = _current.meta
        meta["grad_fn_seq_nr"] = [*meta.get("grad_fn_seq_nr", ()), seq_nr]
        meta["in_grad_fn"] = len(meta["grad_fn_seq_nr"])


def reset_grad_fn_seq_nr() -> None:
    """End what :func:`set_grad_fn_seq_nr` began; AssertionError where it began nothing."""
    if not _current.preserve:
        return
    meta = _current.meta
    level = meta.get("in_grad_fn", 0)
    if level < 1:
        raise AssertionError(f"Expected current_level > 0, got {level}")
    meta["grad_fn_seq_nr"] = meta["grad_fn_seq_nr"][:-1]
    meta["in_grad_fn"] = level - 1
    if level == 1:
        del meta["grad_fn_seq_nr"], meta["in_grad_fn"]


def get_graph_provenance_json(graph) -> dict[str, Any]:
    """What the calls of functions in a graph were made of: for each by its name the dicts of
    ``meta["from_node"]``, see :meth:`NodeSource.to_dict`.

    >>> import rushlight
    >>> from rushlight.fx.traceback import get_graph_provenance_json
    >>> get_graph_provenance_json(rushlight.fx.symbolic_trace(lambda x: x + 1).graph)
    {'add': []}
    """
    return {
        node.name: [source.to_dict() for source in node.meta.get("from_node", ())]
        for node in graph.nodes
        if node.op == "call_function"
    }


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
    "NodeSource",
    "NodeSourceAction",
    "annotate",
    "format_stack",
    "get_current_meta",
    "get_current_replay_node",
    "get_graph_provenance_json",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_current_replay_node",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]
