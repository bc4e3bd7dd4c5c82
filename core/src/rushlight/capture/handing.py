"""Captured graphs for backends of one's own: ``compile(backend=function)``.

A backend gets a :class:`~rushlight.fx.GraphModule` and the tensors it will be called with, in the
order in which calls read them; of one call, parameters and others that the program brings come
before arguments. What it returns is called with their like, and gives a tuple of the tensors that
the graph computes.
Gradients are whatever it records.
"""

from __future__ import annotations

import functools
import operator
import warnings
from types import FunctionType, MethodType
from typing import NamedTuple

from rushlight._dynamo import exc
from rushlight.amp.mode import paused
from rushlight.capture.breaks import BreakError
from rushlight.capture.entries import Entry
from rushlight.capture.entry import BEFORE_LEAVES, NOT_TAKEN, WholeGraphs
from rushlight.capture.guard_filters import keep_wanted
from rushlight.capture.numbers import Varying, hold
from rushlight.capture.plans import Plan
from rushlight.capture.recording import capture
from rushlight.capture.splitting import split
from rushlight.compiler import stances
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.nn.module import Module
from rushlight.tensor.tensor import EXACT
from rushlight.utils import _pytree as pytree


class Backend(NamedTuple):
    """A backend, its name, and what else it is called with."""

    function: object
    name: str
    keywords: dict


class HandedGraphs(WholeGraphs):
    """The graphs of one function that a backend compiles; in training as well.

    `pieces`: what the function has in common with those that call it in parts, `is_part`: whether
    it is one of these.
    """

    trains = True

    def __init__(self, function, fullgraph, backend, pieces=None, is_part=False):
        self.backend, self.is_part = backend, is_part
        self.pieces = Pieces(backend) if pieces is None else pieces
        super().__init__(function, fullgraph)
        self.limit, self.guard_filter = self.pieces.limit, self.pieces.guard_filter

    def reset(self):
        """Forget everything that was captured."""
        super().reset()
        self.parted, self.joined = {}, {}
        self.varying, self.fixed = Varying(), set()

    def entry(self, args, kwargs, free=frozenset()):
        """Capture a call, and have the backend compile it; `free`: which leaves are numbers that
        are inputs."""
        found = capture(self.function, args, kwargs, self.is_part, free)
        made = [node for node in found.graph.nodes if node.op == "call_function"]
        steps = len([node for node in made if type(node.meta.get("val")) not in (int, float)])
        leaves = pytree.tree_leaves((args, kwargs))
        if steps:
            with paused():
                _hand_over(found, leaves, self.backend)
        plan = Plan(found.graph, found.constants, f"graph of {self.name}")
        keep_wanted(found.guards, self.guard_filter)
        check = found.guards.check()
        entry = Entry(check, plan, steps, [], check.asking())
        entry.conditions = found.conditions
        return entry

    def _captured(self, kind, args, kwargs, leaves):
        """Numbers that are others than before are inputs of graphs, where that can be."""
        form, differing = self.varying.form(kind) if self.is_part else (kind, ())
        if not differing or form in self.fixed:
            return super()._captured(kind, args, kwargs, leaves)
        if form in self.broken:
            return self.in_parts(form, args, kwargs)
        entries = self.entries.setdefault(form, [])
        for entry in entries:
            if hold(entry.conditions, leaves) and entry.hold():
                return entry.run(leaves)
        if not stances.now().captures:
            return NOT_TAKEN
        if len(entries) >= self.most_of_kind():
            self._stop(entries, form)
            return NOT_TAKEN
        entry = self._free(form, differing, args, kwargs)
        if entry is None:
            return self._captured(kind, args, kwargs, leaves)
        entries.insert(0, entry)
        return entry.run(leaves)

    def _free(self, form, differing, args, kwargs):
        """The graph of a call with numbers as inputs. None where it breaks for another reason,
        which is noted, or because of the numbers, which then are constants."""
        try:
            return self.entry(args, kwargs, {i - BEFORE_LEAVES for i in differing})
        except BreakError as error:
            found = error
        try:
            capture(self.function, args, kwargs, self.is_part)
        except BreakError as error:
            if [*map(id, error.nodes)] == [*map(id, found.nodes)]:
                self.broke(form, error)
                return None
        self.fixed.add(form)
        return None

    def most(self):
        """A number that was read outside of graphs is another one at every call."""
        return self.most_of_kind() if self.is_part else super().most()

    def in_parts(self, kind, args, kwargs):
        """The result of a call by the graphs before and behind what is none; `kind` is None where
        no more kinds are captured: then by those of the last one."""
        joined = self.joined.get(kind)
        return NOT_TAKEN if joined is None else joined(*args, **kwargs)

    def broke(self, kind, error):
        """Cut the function where it breaks; where that cannot be, say that the backend is not
        asked for it."""
        self.pieces.note(error)
        self.joined[kind] = joined = self._parts(error)
        self.joined[None] = joined or self.joined.get(None)
        super().broke(kind, error)
        if joined is None and len(self.broken) == 1 and self.pieces.reasons is None:
            warnings.warn(
                f"compile(): {self.name} is no single graph and runs as it is, without the backend "
                f"{self.backend.name!r}: {error.text()}",
                stacklevel=5,
            )

    def _parts(self, error):
        """The function in parts; the same for all kinds of calls that break at one expression."""
        key = tuple(map(id, error.nodes))
        if key not in self.parted:
            function, owner = _program(self.function)
            joined = None
            if function is error.function:
                joined = split(function, error, self.pieces.part, self.pieces.called)
            if joined is not None and owner:
                joined = functools.partial(joined, *owner)
            self.parted[key] = joined, error.nodes  # kept, so that ids stay theirs
        return self.parted[key][0]


class Pieces:
    """The functions that run by themselves around what is no part of a graph; `reasons`: where to
    note breaks, or None; `limit`: of the graphs of each, or None for that of the settings;
    `guard_filter`: which of their guards are kept."""

    def __init__(self, backend, reasons=None, limit=None, guard_filter=None):
        self.backend, self.reasons, self.functions = backend, reasons, {}
        self.limit, self.guard_filter = limit, guard_filter

    def note(self, error):
        """Note a break."""
        if self.reasons is not None:
            self.reasons.append(error)

    def part(self, function):
        """What runs a function by its graphs, or as it is."""
        graphs = HandedGraphs(function, False, self.backend, self, True)

        def run(*args, **kwargs):
            found = graphs.call(args, kwargs)
            return function(*args, **kwargs) if found is NOT_TAKEN else found

        return run

    def called(self, function):
        """What is called for a function that a program calls outside of graphs."""
        program, owner = _program(function)
        if not isinstance(program, FunctionType) or _is_own(function, program):
            return function
        if isinstance(function, MethodType):
            return functools.partial(self.called(program), *owner)
        found = self.functions.get(id(function))
        if found is None:
            if len(self.functions) >= _MOST_FUNCTIONS:
                return function
            found = self.functions[id(function)] = self.part(function)
        return found


_MOST_FUNCTIONS = 256  # a program that makes functions calls others every time


def _program(function):
    """The Python function that runs, and a tuple of the object it is given first, or an empty
    one."""
    if isinstance(function, Module):
        function = function.forward
    if isinstance(function, MethodType):
        return function.__func__, (function.__self__,)
    return function, ()


def _is_own(function, program):
    """Whether a function is one of Rushlight, compiled already, or not to be compiled."""
    if hasattr(program, "_program") or hasattr(program, "_disabled"):
        return True
    return not isinstance(function, Module) and program.__module__.startswith("rushlight.")


def _hand_over(recorded, leaves, backend):
    """Replace all steps of a graph by one: the call of what the backend makes of them."""
    graph = recorded.graph
    calls = [node for node in graph.nodes if node.op == "call_function"]
    inputs = _read_by(calls)
    (output,) = (node for node in graph.nodes if node.op == "output")
    results = [node for node in output.all_input_nodes if node.op == "call_function"]
    module = _module_of(inputs, calls, results)
    given = dict(zip((n for n in graph.nodes if n.op == "placeholder"), leaves, strict=True))
    examples = [recorded.constants[n.target] if n.op == "get_attr" else given[n] for n in inputs]
    run = _Checked(_compiled(module, examples, backend), backend.name, len(results))
    with graph.inserting_before(output):
        made = graph.create_node("call_function", run, tuple(inputs), {})
        for i, node in enumerate(results):
            part = graph.create_node("call_function", operator.getitem, (made, i), {})
            output.replace_input_with(node, part)
    for node in reversed(calls):
        graph.erase_node(node)


def _read_by(calls):
    """The nodes that steps read and do not make."""
    found: dict = {}
    for node in calls:
        outer = [n for n in node.all_input_nodes if n.op in ("get_attr", "placeholder")]
        found.update(dict.fromkeys(sorted(outer, key=lambda n: n.op == "placeholder")))
    return list(found)


def _module_of(inputs, calls, results):
    """The graph module of some steps; everything it reads is an input."""
    graph, twins = Graph(), {}
    for node in inputs:
        twin = twins[node] = graph.placeholder(node.name)
        twin.meta = {**node.meta, "example_value": node.meta["val"]}
    for node in calls:
        twin = twins[node] = graph.node_copy(node, twins.__getitem__)
        twin.meta["example_value"] = node.meta.get("val")
    graph.output(tuple([twins[node] for node in results]))
    return GraphModule(Module(), graph)


def _compiled(module, examples, backend):
    """What the backend makes of a graph module."""
    try:
        found = backend.function(module, examples, **backend.keywords)
        if not callable(found):
            raise TypeError(f"it returned a {type(found).__name__}, not a function")
    except Exception as error:
        raise exc.BackendCompilerFailed(
            f"backend={backend.name!r} raised:\n{type(error).__name__}: {error}"
        ) from error
    return found


class _Checked:
    """A compiled function, of whose results the number and the kind are looked at."""

    def __init__(self, function, name, count):
        self.__name__ = "compiled"
        self.function, self.name, self.count = function, name, count

    def __call__(self, *tensors):
        """The tensors that it gives."""
        found = self.function(*tensors)
        if type(found) not in (tuple, list) or len(found) != self.count:
            raise RuntimeError(
                f"compile(): what backend {self.name!r} returned must give a tuple of {self.count} "
                f"tensors, got {_kind_of(found)}"
            )
        return found


def _kind_of(value):
    if type(value) in (tuple, list):
        return f"a {type(value).__name__} of {len(value)}"
    return "a tensor" if type(value) in EXACT else f"a {type(value).__name__}"
