"""A graph as a Python function: one line a step, values dropped behind their last use."""

from __future__ import annotations

import functools
import math

from rushlight.capture.settling import Settling, View
from rushlight.fx.node import Node
from rushlight.machine import np
from rushlight.machine.generated_python import function_of
from rushlight.ops._calls.direct import tensor_of

_SIMPLE = (int, bool, str, type(None), type(...))


class _Writer:
    """Writes arguments as Python text; what has no text is put into the function's globals."""

    def __init__(self, names, observed=None):
        self.names, self.space, self.observed = names, {}, observed

    def held(self, value, prefix):
        """The name under which the function finds an object."""
        for name, known in self.space.items():
            if known is value:
                return name
        name = f"_{len(self.space)}_{prefix}"
        self.space[name] = value
        return name

    def text(self, value):
        """An argument."""
        if isinstance(value, Node):
            return self.names[value]
        kind = type(value)
        if kind in _SIMPLE or kind is float and math.isfinite(value):
            return repr(value)
        if kind is slice:
            return f"slice({', '.join(map(self.text, (value.start, value.stop, value.step)))})"
        if isinstance(value, dict):
            items = ", ".join(f"{self.text(k)}: {self.text(v)}" for k, v in value.items())
            return f"{{{items}}}" if _is_plainly(value, dict) else self._made(value, f"{{{items}}}")
        if isinstance(value, (list, tuple)):
            return self._sequence(value)
        return self.held(value, kind.__name__)

    def _made(self, value, text):
        return f"{self.held(type(value), 'kind')}({text})"

    def _sequence(self, value):
        items = ", ".join(map(self.text, value))
        if hasattr(value, "_fields"):
            return self._made(value, items)
        if isinstance(value, list):
            return f"[{items}]"
        return f"({items},)" if value else "()"

    def call(self, node):
        """A step as an expression."""
        if node.op == "get_attr":
            return self.names[node]
        function = getattr(node.target, "settled", node.target)
        name = getattr(function, "__name__", type(function).__name__).strip("<>")
        if self.observed is not None and function is node.target:
            function = functools.partial(self.observed.do, node)
        given = [*map(self.text, node.args)]
        given += [f"{k}={self.text(v)}" for k, v in node.kwargs.items()]
        return f"{self.held(function, name)}({', '.join(given)})"


_DICTS = ("builtins", "rushlight.fx.immutable_collections")


def _is_plainly(value, kind):
    return isinstance(value, kind) and type(value).__module__ in _DICTS


class Plan:
    """A graph that runs: ``plan.run(*leaves)``, leaves of the arguments in, result out.

    The first call runs step by step and finds out how steps are to be done at all others
    (:class:`~rushlight.capture.fusion.Chain`, :mod:`rushlight.capture.settling`); the function is
    then written. `settles`: whether no step writes to what another reads.
    """

    def __init__(self, graph, constants, title, settles=False):
        self.parts, self.settles = (graph, constants, title), settles
        self.forget()

    def forget(self):
        """Begin anew: a tensor that the program brought has other memory."""
        self.run = self._first

    def _first(self, *leaves):
        settling = Settling()
        result = written(*self.parts, None, settling if self.settles else None)(*leaves)
        self.run = written(*self.parts, settling)
        return result


class _Lines:
    """The lines of a function, values of which are tensors or, for steps that have settled, arrays;
    either is made of the other where it is read."""

    def __init__(self, names, space, found):
        self.names, self.space, self.found = names, space, found
        self.lines, self.tensors, self.arrays = [], set(), set()

    def add(self, line):
        """A line."""
        self.lines.append("    " + line)

    def tensor(self, node):
        """Have the tensor of a value at hand."""
        if node in self.found and node not in self.tensors:
            self.tensors.add(node)
            self.space["_tensor_of"] = tensor_of
            self.add(f"{self.names[node]} = _tensor_of({self.array(node)})")

    def array(self, node):
        """The name of the array of a value."""
        name = f"{self.names[node]}_array"
        if node not in self.arrays:
            self.arrays.add(node)
            self.add(f"{name} = {self.names[node]}._array")
        return name

    def settled(self, node):
        """A step that has settled, from arrays to an array."""
        step, name = self.found[node], self.names[node]
        given = ", ".join([self.array(each) for each in step.inputs])
        self.arrays.add(node)
        if type(step) is View:
            self.space["_ndarray"], self.space["_float32"] = np.ndarray, np.dtype(np.float32)
            self.add(f"{name}_array = _ndarray({step.shape}, _float32, {given}, {step.offset}, "
                     f"{step.strides})")  # fmt: skip
            return
        self.space[f"_call_{name}"], self.space[f"_slow_{name}"] = step.call, step.slow
        self.add(f"{name}_array = _call_{name}({given})")
        self.add(f"if {name}_array is NotImplemented:")
        self.add(f"    {name}_array = _slow_{name}({given})")

    def drop(self, nodes):
        """Values that nobody needs any more."""
        for node in nodes:
            if node not in self.found or node in self.tensors:
                self.add(f"{self.names[node]} = None")
            if node in self.arrays:
                self.add(f"{self.names[node]}_array = None")


def written(graph, constants, title, settling=None, observed=None):
    """The function of a graph; its text is in `linecache`. `settling`: what is known of steps;
    `observed`: where to note it."""
    names, inputs = {}, []
    writer = _Writer(names, observed)
    steps = _Steps(graph, settling or Settling())
    lines = _Lines(names, writer.space, steps.found)
    for node in graph.nodes:
        names[node] = node.name
        if node.op == "placeholder":
            inputs.append(node.name)
        elif node.op == "get_attr":
            writer.space[node.name] = constants[node.target]
        elif node not in steps.unread:
            _write(node, lines, writer, steps)
    text = f"def run({', '.join(inputs)}):\n" + "\n".join(lines.lines)
    return function_of(text, "run", title, writer.space, lasting=False)


def _write(node, lines, writer, steps):
    """Add the lines of one step."""
    if node in steps.found:
        lines.settled(node)
    else:
        for used in node.all_input_nodes:
            lines.tensor(used)
        if node.op == "call_function":
            lines.add(f"{node.name} = {writer.call(node)}")
        else:
            lines.add(f"return {writer.text(node.args[0])}")
    lines.drop(steps.last.get(node, ()))


class _Steps:
    """What steps read: views are made of the array that they are part of, so that other views
    which led to them need not be made. `unread`: those; `last`: node -> the values that nobody
    needs behind it."""

    def __init__(self, graph, settling):
        self.found = settling.found
        self.unread, self.last, read = set(), {}, set()
        for node in reversed(graph.nodes):
            if node in settling.views and node not in read:
                self.unread.add(node)
                continue
            step = self.found.get(node)
            for used in node.all_input_nodes if step is None else step.inputs:
                if used not in read and used.op == "call_function" and node.op != "output":
                    self.last.setdefault(node, []).append(used)
                read.add(used)
