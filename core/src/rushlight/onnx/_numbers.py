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


def is_check(node) -> bool:
    """Whether a node says something of numbers, which is not checked in ONNX."""
    checks = lookup("aten")._assert_scalar.default, lookup("aten")._assert_async.msg
    if node.target in COMPARISONS:
        return all(user.target in checks for user in node.users)
    return node.target in checks


_COMPARING = {
    operator.gt: "Greater", operator.lt: "Less", operator.eq: "Equal", operator.ne: "Equal",
    operator.ge: "GreaterOrEqual", operator.le: "LessOrEqual",
}  # fmt: skip


def compared(builder, node, values):
    """A comparison of numbers that a choice reads: an operator also where both are known at these
    sizes, since they differ at others."""
    floats = any(isinstance(v, float) or getattr(v, "dtype", None) is rushlight.float64
                 for v in values)  # fmt: skip
    dtype = rushlight.float64 if floats else rushlight.int64
    operands = [
        builder.cast(v, dtype) if isinstance(v, Value) else builder.constant(v, dtype)
        for v in values
    ]
    found = builder.op(_COMPARING[node.target], *operands)
    found = builder.op("Not", found) if node.target is operator.ne else found
    return Value(found.name, rushlight.bool, ())


def is_float(node) -> bool:
    """Whether a node computes a float of numbers that the program reads."""
    return isinstance(node.meta.get("val"), SymFloat) and node.target is not _item()


def reads_number(node) -> bool:
    """Whether a node reads a number from a tensor."""
    return node.target is _item()


def _item():
    return lookup("aten").item.default


def read(builder, tensor):
    """The one element of a tensor; a whole number as int64."""
    if not tensor.dtype.is_floating_point:
        tensor = builder.cast(tensor, rushlight.int64)
    return builder.op("Reshape", tensor, builder.integers([]), shape=())


def sized_by_values(program) -> bool:
    """Whether sizes in a program depend on values of tensors."""
    return any(map(_sized_by_values, program.graph.nodes))


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
