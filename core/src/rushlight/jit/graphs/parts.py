"""Graphs of TorchScript functions: nodes in blocks, and the values that they take and give."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from rushlight.tensor.tensor import Tensor

CONSTANT = "prim::Constant"
_KINDS = {bool: "i", int: "i", float: "f", str: "s", complex: "c"}


class Use(NamedTuple):
    """Where a value is read: the node, and which of its inputs it is."""

    user: Node
    offset: int


class Value:
    """One value of a graph."""

    def __init__(self, node: Node, name: str, kind: Any) -> None:
        self._node, self._name, self._type = node, name, kind
        self._uses: list[Use] = []

    def node(self) -> Node:
        """The node that gives it."""
        return self._node

    def debugName(self) -> str:  # noqa: N802 - PyTorch's name
        """Its name, unique in the graph."""
        return self._name

    def setDebugName(self, name: str) -> Value:  # noqa: N802 - PyTorch's name
        """Give it another name."""
        self._name = name
        return self

    def type(self) -> Any:
        """Its type; `str` of it is as TorchScript writes types."""
        return self._type

    def isCompleteTensor(self) -> bool:  # noqa: N802 - PyTorch's name
        """Whether it is a tensor of known shape; False, since compiled functions take any."""
        return False

    def uses(self) -> list[Use]:
        """Where it is read."""
        return list(self._uses)

    def toIValue(self) -> Any:  # noqa: N802 - PyTorch's name
        """What a constant is; None of other values."""
        return self._node._attributes.get("value") if self._node.kind() == CONSTANT else None

    def __repr__(self) -> str:
        return f"{self._name} defined in ({self._node!r})"


class Node:
    """One operation: its kind, as ``aten::relu``, the values it takes and gives, its attributes and
    the blocks inside of it."""

    def __init__(self, kind: str, inputs: list[Value], schema: Any = None, at: Any = None) -> None:
        self._kind, self._schema, self._at = kind, schema, at
        self._inputs: list[Value] = []
        self._outputs: list[Value] = []
        self._attributes: dict[str, Any] = {}
        self._blocks: list[Block] = []
        for value in inputs:
            self.addInput(value)

    def addInput(self, value: Value) -> None:  # noqa: N802 - PyTorch's name
        """Take another value."""
        value._uses.append(Use(self, len(self._inputs)))
        self._inputs.append(value)

    def kind(self) -> str:
        """What it does: ``aten::relu``, ``prim::Loop``."""
        return self._kind

    def inputs(self) -> Iterator[Value]:
        """The values it takes, in order."""
        return iter(self._inputs)

    def outputs(self) -> Iterator[Value]:
        """The values it gives, in order."""
        return iter(self._outputs)

    def inputsSize(self) -> int:  # noqa: N802 - PyTorch's name
        """How many values it takes."""
        return len(self._inputs)

    def outputsSize(self) -> int:  # noqa: N802 - PyTorch's name
        """How many values it gives."""
        return len(self._outputs)

    def input(self) -> Value:
        """The one value it takes; RuntimeError if there are others."""
        return self._only(self._inputs, "input")

    def output(self) -> Value:
        """The one value it gives; RuntimeError if there are others."""
        return self._only(self._outputs, "output")

    def inputsAt(self, i: int) -> Value:  # noqa: N802 - PyTorch's name
        """The value that it takes at a position."""
        return self._inputs[i]

    def outputsAt(self, i: int) -> Value:  # noqa: N802 - PyTorch's name
        """The value that it gives at a position."""
        return self._outputs[i]

    def _only(self, values, word):
        if len(values) != 1:
            raise RuntimeError(f"{self._kind} has {len(values)} {word}s, not one")
        return values[0]

    def blocks(self) -> Iterator[Block]:
        """The blocks inside: of a branch two, of a loop one."""
        return iter(self._blocks)

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:  # noqa: N802
        """The first node of a kind in its blocks; None if there is none."""
        return next((n for b in self._blocks for n in b._found(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:  # noqa: N802
        """All nodes of a kind in its blocks."""
        return [n for b in self._blocks for n in b._found(kind, recurse)]

    def attributeNames(self) -> list[str]:  # noqa: N802 - PyTorch's name
        """The names of its attributes."""
        return [name for name, value in self._attributes.items() if value is not None]

    def hasAttribute(self, name: str) -> bool:  # noqa: N802 - PyTorch's name
        """Whether it has an attribute."""
        return name in self.attributeNames()

    def hasAttributes(self) -> bool:  # noqa: N802 - PyTorch's name
        """Whether it has any attribute."""
        return bool(self.attributeNames())

    def kindOf(self, name: str) -> str:  # noqa: N802 - PyTorch's name
        """The method that reads an attribute: ``"i"``, ``"f"``, ``"s"``, ``"c"``, ``"t"``,
        ``"ival"``."""
        value = self._read(name)
        return "t" if isinstance(value, Tensor) else _KINDS.get(type(value), "ival")

    def _read(self, name, kinds=None):
        value = self._attributes.get(name)
        if value is None:
            raise RuntimeError(f"{self._kind} has no attribute {name!r}")
        if kinds is not None and not isinstance(value, kinds):
            raise RuntimeError(f"the attribute {name!r} of {self._kind} is {value!r}")
        return value

    def i(self, name: str) -> int:
        """An attribute that is a whole number, or a bool as one."""
        return int(self._read(name, int))

    def f(self, name: str) -> float:
        """An attribute that is a float."""
        return self._read(name, float)

    def s(self, name: str) -> str:
        """An attribute that is a string."""
        return self._read(name, str)

    def c(self, name: str) -> complex:
        """An attribute that is a complex number."""
        return self._read(name, complex)

    def t(self, name: str) -> Tensor:
        """An attribute that is a tensor."""
        return self._read(name, Tensor)

    def ival(self, name: str) -> Any:
        """An attribute of any kind."""
        return self._read(name)

    def schema(self) -> str:
        """The schema of an operator, as text; ``(no schema)`` of others."""
        return "(no schema)" if self._schema is None else str(self._schema)

    def sourceRange(self) -> str:  # noqa: N802 - PyTorch's name
        """Where it stands in the program; empty where that is not known."""
        return "" if self._at is None else str(self._at)

    def scopeName(self) -> str:  # noqa: N802 - PyTorch's name
        """Empty: compiled functions have no scopes."""
        return ""

    def __repr__(self) -> str:
        return "\n".join(_lines(self, 0)) + "\n"


class Block:
    """Nodes in order, with the values that come in and go out."""

    def __init__(self) -> None:
        self._param, self._return = Node("prim::Param", []), Node("prim::Return", [])
        self._nodes: list[Node] = []

    def nodes(self) -> Iterator[Node]:
        """The nodes, in order; those inside of branches and loops are in their blocks."""
        return iter(self._nodes)

    def inputs(self) -> Iterator[Value]:
        """The values that come in."""
        return self._param.outputs()

    def outputs(self) -> Iterator[Value]:
        """The values that go out."""
        return self._return.inputs()

    def paramNode(self) -> Node:  # noqa: N802 - PyTorch's name
        """The node that gives the inputs."""
        return self._param

    def returnNode(self) -> Node:  # noqa: N802 - PyTorch's name
        """The node that takes the outputs."""
        return self._return

    def _found(self, kind, recurse):
        for node in self._nodes:
            if node.kind() == kind:
                yield node
            if recurse:
                for block in node.blocks():
                    yield from block._found(kind, True)

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:  # noqa: N802
        """The first node of a kind, in blocks of nodes too; None if there is none."""
        return next(self._found(kind, recurse), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:  # noqa: N802
        """All nodes of a kind, in blocks of nodes too."""
        return list(self._found(kind, recurse))


class Graph(Block):
    """A function as a graph; `str` of it has one operation a line, as PyTorch prints graphs."""

    def copy(self) -> Graph:
        """A graph of other nodes and values, alike."""
        return copy.deepcopy(self)

    def param_node(self) -> Node:
        """The node that gives the inputs."""
        return self._param

    def return_node(self) -> Node:
        """The node that takes the outputs."""
        return self._return

    def __str__(self) -> str:
        head = "graph(" + ",\n      ".join(map(_typed, self.inputs())) + "):"
        lines = [line for node in self._nodes for line in _lines(node, 1)]
        return "\n".join([head, *lines, f"  return ({_named(self.outputs())})"]) + "\n"

    __repr__ = __str__


def _typed(value):
    return f"%{value.debugName()} : {value.type()}"


def _named(values):
    return ", ".join("%" + value.debugName() for value in values)


def _shown(value):
    if isinstance(value, Tensor):
        return "<Tensor>" if value.numel() != 1 else f"{{{value.item()}}}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _lines(node, depth):
    """The text of a node, and of its blocks below."""
    kept = ((name, node._attributes[name]) for name in node.attributeNames())
    words = ", ".join(f"{name}={_shown(value)}" for name, value in kept)
    call = f"{node.kind()}{f'[{words}]' if words else ''}({_named(node.inputs())})"
    margin = "  " * depth
    yield f"{margin}{', '.join(map(_typed, node.outputs()))} = {call}"
    for number, block in enumerate(node.blocks()):
        inside = ", ".join(map(_typed, block.inputs()))
        yield f"{margin}  block{number}({inside}):"
        for inner in block.nodes():
            yield from _lines(inner, depth + 2)
        yield f"{margin}    -> ({_named(block.outputs())})"
