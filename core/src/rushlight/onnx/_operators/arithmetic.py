"""Sums and products of several tensors."""

from __future__ import annotations

import functools

import rushlight as rl
from rushlight.onnx._operators.registry import operator

_UNSIGNED = (rl.uint16, rl.uint32, rl.uint64)


def _joined(function, *values):
    """A function of several tensors; of unsigned ones, which have no arithmetic, as int64."""
    kind = values[0].dtype
    if kind in _UNSIGNED:
        return functools.reduce(function, (v.to(rl.int64) for v in values)).to(kind)
    return functools.reduce(function, values)


@operator()
def Add(a, b):
    return _joined(rl.add, a, b)


@operator()
def Sub(a, b):
    return _joined(rl.sub, a, b)


@operator()
def Mul(a, b):
    return _joined(rl.mul, a, b)


@operator()
def Div(a, b):
    if a.dtype.is_floating_point:
        return a / b
    return _joined(functools.partial(rl.div, rounding_mode="trunc"), a, b)


@operator()
def Pow(a, b):
    if not a.dtype.is_floating_point and b.dtype.is_floating_point:
        return rl.pow(a.to(rl.float64), b).to(a.dtype)
    return rl.pow(a, b.to(a.dtype))


@operator()
def Mod(a, b, fmod=0):
    return _joined(rl.fmod if fmod else rl.remainder, a, b)


@operator("Sum")
def sum_(*values):
    return functools.reduce(rl.add, values)


@operator("Mean")
def mean(*values):
    return functools.reduce(rl.add, values) / len(values)


@operator("Max")
def max_(*values):
    return _joined(rl.maximum, *values)


@operator("Min")
def min_(*values):
    return _joined(rl.minimum, *values)


@operator()
def MatMul(a, b):
    return rl.matmul(a, b)


@operator()
def Gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    product = (a.t() if transA else a) @ (b.t() if transB else b)
    if alpha != 1:
        product = (product * alpha).to(a.dtype)
    if c is None:
        return product
    return product + (c if beta == 1 else (c * beta).to(a.dtype))


@operator()
def Einsum(*values, equation):
    return rl.einsum(equation, *values)


@operator()
def Det(x):
    return rl.linalg.det(x)


@operator()
def BitShift(a, b, direction):
    if a.dtype in (rl.uint16, rl.uint32, rl.uint64):
        wide = BitShift(a.to(rl.int64), b.to(rl.int64), direction)
        return wide.to(a.dtype)
    return a << b if direction == "LEFT" else a >> b
