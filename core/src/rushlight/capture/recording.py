"""Capturing one call of a program as a graph of the functions that it calls.

The program runs on tensors without values (:class:`~rushlight.ops._transforms.capturing.
CaptureLevel`), so that nothing it does to its inputs happens, and no seed moves. A node calls the
very function that the program called, composite or not: the graph gives eager's numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight.autograd.mode import mode
from rushlight.capture.breaks import BreakError
from rushlight.capture.calls import Made
from rushlight.capture.guards import Guards
from rushlight.capture.interpreter import Interpreter, Parent
from rushlight.capture.kinds import is_container, is_known_by_identity, is_value
from rushlight.capture.lookups import Own
from rushlight.capture.numbers import Leaf, Number
from rushlight.capture.writes import writes_to_its_first
from rushlight.compiler.eager import capturing
from rushlight.fx.experimental.recorder import Recorder, Step
from rushlight.fx.node import Node, map_aggregate
from rushlight.nn.module import Module
from rushlight.tensor.tensor import EXACT, Tensor
from rushlight.utils import _pytree as pytree

_DESCRIBING = ("rushlight.inspection", "rushlight.dtypes")  # what tells forms, not elements


class Recorded(NamedTuple):
    """`graph` of `fx`; `constants`: name -> tensor of its ``get_attr`` nodes; `guards`: what was
    read; `conditions`: what comparisons of numbers gave."""

    graph: Any
    constants: dict
    guards: Guards
    conditions: list


class _Calls(Recorder):
    """Records functions as they were called."""

    def __init__(self, objects=False, free=frozenset()):
        super().__init__(True, None, self._constant_of, stacks=False)
        self.objects, self.free = objects, free
        self.conditions: list = []
        self.constants, self.seen = {}, {}
        self.modes = mode.recording, mode.inference
        self.interpreter = Interpreter(self.constant_for)
        self.refuse = self.interpreter.refuse

    def step(self, function, args, kwargs):
        """Every function is one step."""
        if mode.recording and not self.modes[0] or mode.inference is not self.modes[1]:
            self.refuse("it turns gradients on or off")
        writes = writes_to_its_first(function)
        if kwargs.get("generator") is not None:
            self.refuse("it draws from a generator of its own")
        if getattr(function, "__module__", "") == "rushlight.nn.native_calls":
            self.refuse("it runs a recurrent layer, which is no single op")
        if writes and (type(args[0]) in EXACT or is_view(function)):
            self.refuse(f"it changes a tensor by {function.__name__}()")
        if kwargs.get("out") is not None:
            self.refuse("it writes into out=")
        return Step(function, tuple(args), dict(kwargs), writes)

    def record(self, step, result):
        """As in every capture; numbers that come of elements end it."""
        if not isinstance(result, (Tensor, tuple, list)):
            if getattr(step.target, "__module__", None) not in _DESCRIBING:
                name = getattr(step.target, "__name__", "a function")
                self.refuse(f"it asks {name}() for a value")
            return result
        return super().record(step, result)

    def value_needed(self, tensor, name):
        """A look at an element."""
        self.refuse(f"it looks at elements by {name.strip('_')}()")

    def constant_for(self, tensor):
        """The program's tensor for one from outside."""
        if id(tensor) not in self.seen:
            name = f"constant_{len(self.constants)}"
            self.constants[name] = tensor
            self.interpreter.lookups.guards.tensors[id(tensor)] = tensor, name
            self.seen[id(tensor)] = self.entering(self.graph.get_attr(name), tensor)
        return self.seen[id(tensor)]

    def _constant_of(self, tensor):
        """The node of a tensor that a function of the op table brought."""
        if type(tensor) not in EXACT or tensor._device.type != "cpu":
            self.refuse(f"it uses a {type(tensor).__name__} on {tensor._device}")
        return self.constant_for(tensor)._fx_node

    def input(self, index, leaf):
        """The program's value for one of the arguments."""
        if id(leaf) in self.seen:  # the same tensor once more
            self.node("placeholder", f"input_{index}", (), {}, f"input_{index}").meta["val"] = leaf
            return self.seen[id(leaf)]
        if type(leaf) in EXACT:
            found = self.placeholder(f"input_{index}", leaf)[1]
            self.seen[id(leaf)] = found
            return found
        node = self.node("placeholder", f"input_{index}", (), {}, f"input_{index}")
        node.meta["val"] = leaf
        if index in self.free:
            return Number(leaf, node, Leaf(index), self.conditions)
        known = is_value(leaf) or isinstance(leaf, Module)
        if not (known or self.objects and is_known_by_identity(leaf)):
            raise BreakError(f"an argument is a {type(leaf).__name__}")
        return leaf


def is_view(function):
    """Whether a function is a form of a view: an in-place one gives its tensor another shape, of
    which a second name for the same tensor would not know."""
    return getattr(getattr(function, "op", None), "kind", None) == "view"


def capture(function, args, kwargs, objects=False, free=frozenset()) -> Recorded:
    """The graph of a call; raises :class:`BreakError` where there is none. `objects`: those that it
    is given and gives may be of any class; `free`: which of the leaves are numbers that are inputs
    of the graph."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    recorder = _Calls(objects, free)
    interpreter = recorder.interpreter
    try:
        with recorder.level, capturing("program"):
            given = [recorder.input(i, leaf) for i, leaf in enumerate(leaves)]
            args, kwargs = pytree.tree_unflatten(given, spec)
            for value in (*args, *kwargs.values()):
                _note(interpreter.lookups, value)
            _end(recorder, interpreter.call(function, args, kwargs))
    except Exception as error:
        try:
            interpreter.refuse(f"{type(error).__name__}: {error}")
        except BreakError as found:
            raise found from error
    guards = interpreter.lookups.guards
    return Recorded(recorder.graph, recorder.constants, guards, recorder.conditions)


def _note(lookups, value):
    """Lists and dicts of the arguments must not be changed."""
    if is_container(value):
        lookups.externals.add(id(value))
        for each in value.values() if isinstance(value, dict) else value:
            _note(lookups, each)


def _end(recorder, value):
    """End the graph by the result, nodes for tensors; other leaves are constants."""
    try:
        _check_result(recorder, value)
    except BreakError as error:
        _locate(error, recorder.interpreter.end)
        raise
    recorder.graph.output(map_aggregate(value, recorder._leaf))


def _locate(error, end):
    """Say of an error about a result which return statement gave that."""
    if end is not None and end.nodes:
        error.function, error.nodes = end.function, end.nodes
        error.file, error.line = end.function.__code__.co_filename, end.nodes[0].lineno
        error.name = end.function.__name__


def _check_result(recorder, value):
    if is_container(value):
        if recorder.interpreter.is_external(value) and not is_value(value):
            raise BreakError(f"it gives a {type(value).__name__} that is not its own")
        if isinstance(value, set | frozenset) and not is_value(value):
            raise BreakError("it gives a set")
        for each in value.values() if isinstance(value, dict) else value:
            _check_result(recorder, each)
    elif not (is_value(value) or isinstance(recorder._leaf(value), Node)):
        if not _is_found(recorder, value):
            raise BreakError(f"it gives an object of class {type(value).__name__}")


def _is_found(recorder, value):
    """Whether an object is one that the program found, and may give."""
    interpreter = recorder.interpreter
    if not recorder.objects or type(value) in (Made, Parent, Own):
        return False
    if id(value) in interpreter.iterators or id(value) in interpreter.made:
        return False
    return is_known_by_identity(value)
