"""Truth values, comparisons, bits, choices."""

from __future__ import annotations

import rushlight as rl
from rushlight.onnx._operators.registry import operator


def _comparable(*values):
    """Values that can be ordered: unsigned ones as int64."""
    odd = (rl.uint16, rl.uint32, rl.uint64)
    return [v.to(rl.int64) if v.dtype in odd else v for v in values]


@operator("And")
def and_(a, b):
    return rl.logical_and(a, b)


@operator("Or")
def or_(a, b):
    return rl.logical_or(a, b)


@operator("Xor")
def xor(a, b):
    return rl.logical_xor(a, b)


@operator("Not")
def not_(x):
    return rl.logical_not(x)


@operator()
def Equal(a, b):
    a, b = _comparable(a, b)
    return a == b


@operator()
def Greater(a, b):
    a, b = _comparable(a, b)
    return a > b


@operator()
def GreaterOrEqual(a, b):
    a, b = _comparable(a, b)
    return a >= b


@operator()
def Less(a, b):
    a, b = _comparable(a, b)
    return a < b


@operator()
def LessOrEqual(a, b):
    a, b = _comparable(a, b)
    return a <= b


def _bits(function, *values):
    kind = values[0].dtype
    if kind in (rl.uint16, rl.uint32, rl.uint64):
        return function(*(v.to(rl.int64) for v in values)).to(kind)
    return function(*values)


@operator()
def BitwiseAnd(a, b):
    return _bits(rl.bitwise_and, a, b)


@operator()
def BitwiseOr(a, b):
    return _bits(rl.bitwise_or, a, b)


@operator()
def BitwiseXor(a, b):
    return _bits(rl.bitwise_xor, a, b)


@operator()
def BitwiseNot(x):
    return _bits(rl.bitwise_not, x)


@operator()
def Where(condition, a, b):
    return rl.where(condition, a, b)
