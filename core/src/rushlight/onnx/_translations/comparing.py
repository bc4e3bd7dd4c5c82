"""Comparisons and truth values."""

from __future__ import annotations

import rushlight
from rushlight.onnx._registry import aten

_KINDS = {
    "eq": "Equal", "gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less", "le": "LessOrEqual",
    "greater": "Greater", "greater_equal": "GreaterOrEqual", "less": "Less",
    "less_equal": "LessOrEqual",
}  # fmt: skip


def compared(g, kind, a, b):
    """A comparison of values that have one dtype."""
    a, b = g.common(a, b)
    if a.dtype is rushlight.bool and kind != "Equal":
        a, b = g.to(rushlight.int32, a, b)
    return g.op(kind, a, b, dtype=rushlight.bool)


def _declare():
    def comparing(kind):
        return lambda g, self, other: compared(g, kind, self, other)

    for name, kind in _KINDS.items():
        aten(f"{name}.Tensor", f"{name}.Scalar")(comparing(kind))

    def joining(kind):
        return lambda g, self, other: g.op(kind, *g.to(rushlight.bool, self, other))

    for name in ("and", "or", "xor"):
        aten(f"logical_{name}")(joining(name.capitalize()))


_declare()


@aten("ne.Tensor", "ne.Scalar", "not_equal.Tensor", "not_equal.Scalar")
def ne(g, self, other):
    return g.op("Not", compared(g, "Equal", self, other))


@aten("logical_not")
def logical_not(g, self):
    return g.op("Not", *g.to(rushlight.bool, self))
