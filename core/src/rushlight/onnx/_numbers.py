"""Numbers that a program reads from tensors, and computes of them, as scalars of the graph."""

from __future__ import annotations

import operator

import rushlight
from rushlight.export.dynamic.expressions import COMPARISONS, SymFloat, SymInt
from rushlight.library.operators import lookup
from rushlight.onnx._builder import Value

_BINARY = {
    operator.add: "Add", operator.sub: "Sub", operator.mul: "Mul", operator.truediv: "Div",
    operator.pow: "Pow", rushlight.sym_max: "Max", rushlight.sym_min: "Min",
}  # fmt: skip
_UNARY = {operator.neg: "Neg", rushlight.sym_sqrt: "Sqrt"}
# What the graph has no need of: what a program says of its numbers is not checked in ONNX.
CHECKS = frozenset(COMPARISONS)


def is_float(node) -> bool:
    """Whether a node computes a float of numbers that the program reads."""
    return isinstance(node.meta.get("val"), SymFloat) and node.target is not _item()


def reads_number(node) -> bool:
    """Whether a node reads a number from a tensor."""
    return node.target is _item()


def _item():
    return lookup("aten").item.default


def read(builder, node, tensor, program):
    """The one element of a tensor; NotImplementedError where sizes depend on it."""
    if isinstance(node.meta.get("val"), SymInt) and any(map(_sized_by_values, program.graph.nodes)):
        raise NotImplementedError("sizes that depend on the number are not available")
    return builder.op("Reshape", tensor, builder.integers([]), shape=())


def _sized_by_values(node):
    sizes = node.meta.get("sizes") or ()
    flat = [n for one in sizes for n in (one if isinstance(one, tuple) else (one,))]
    return any(isinstance(n, SymInt) and n.expression.depends_on_values() for n in flat)


def computed(builder, node, values):
    """A float of numbers, in the dtype of those that are values of the graph."""
    dtype = next((v.dtype for v in values if isinstance(v, Value)), rushlight.float32)
    dtype = dtype if dtype.is_floating_point else rushlight.float32
    values = builder.to(dtype, *values)
    if node.target in _UNARY:
        return builder.op(_UNARY[node.target], *values, shape=())
    if node.target is rushlight.sym_float:
        return values[0]
    if node.target not in _BINARY:
        raise NotImplementedError("this function of numbers has no translation")
    return builder.op(_BINARY[node.target], *values, shape=())
