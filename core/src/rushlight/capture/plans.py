"""A graph as a Python function: one line a step, values dropped behind their last use."""

from __future__ import annotations

import math

from rushlight.fx.node import Node
from rushlight.machine.generated_python import function_of

_SIMPLE = (int, bool, str, type(None), type(...))


class _Writer:
    """Writes arguments as Python text; what has no text is put into the function's globals."""

    def __init__(self, names):
        self.names, self.space = names, {}

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
        given = [*map(self.text, node.args)]
        given += [f"{k}={self.text(v)}" for k, v in node.kwargs.items()]
        return f"{self.held(function, name)}({', '.join(given)})"


_DICTS = ("builtins", "rushlight.fx.immutable_collections")


def _is_plainly(value, kind):
    return isinstance(value, kind) and type(value).__module__ in _DICTS


class Plan:
    """A graph that runs: ``plan.run(*leaves)``, leaves of the arguments in, result out.

    The first call shows some steps (:class:`~rushlight.capture.fusion.Chain`) how they are to be
    done at all others; the function is then written anew.
    """

    def __init__(self, graph, constants, title):
        self.parts = graph, constants, title
        self.run = self._first

    def _first(self, *leaves):
        result = written(*self.parts)(*leaves)
        self.run = written(*self.parts)
        return result


def written(graph, constants, title):
    """The function of a graph; its text is in `linecache`."""
    names, lines, inputs = {}, [], []
    writer = _Writer(names)
    last = _last_uses(graph)
    for node in graph.nodes:
        names[node] = node.name
        if node.op == "placeholder":
            inputs.append(node.name)
        elif node.op == "get_attr":
            writer.space[node.name] = constants[node.target]
        elif node.op == "call_function":
            lines.append(f"    {node.name} = {writer.call(node)}")
            lines += [f"    {gone.name} = None" for gone in last.get(node, ())]
    text = f"def run({', '.join(inputs)}):\n" + "\n".join(lines)
    (output,) = (node.args[0] for node in graph.nodes if node.op == "output")
    text += f"\n    return {writer.text(output)}"
    return function_of(text, "run", title, writer.space, lasting=False)


def _last_uses(graph):
    """Node -> the values that nobody needs behind it."""
    seen, found = set(), {}
    for node in reversed(graph.nodes):
        for used in node.all_input_nodes:
            if used not in seen and used.op == "call_function" and node.op != "output":
                found.setdefault(node, []).append(used)
            seen.add(used)
    return found
