"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

import math

from rushlight.compiler import xp
from rushlight.ops._table.domains import above_one, nonzero, real, unit
from rushlight.ops._table.op import elementwise
from rushlight.ops._table.rules import floating, real_floating
from rushlight.ops.elementwise.arithmetic import rsqrt
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.shape.complex_views import conj_of
from rushlight.tensor.tensor import Tensor


@elementwise(rule=floating, domain=real, aten="default out Scalar", sparse="elements", foreach="")
def sin(input):
    """The sine of an angle in radians."""
    return xp.sin(input)


@elementwise(rule=floating, domain=real, aten="default out Scalar", foreach="")
def cos(input):
    """The cosine of an angle in radians."""
    return xp.cos(input)


sin.gradient(input=lambda grad, input: grad * conj_of(cos(input)))
cos.gradient(input=lambda grad, input: -grad * conj_of(sin(input)))


@elementwise(
    rule=floating,
    domain=unit,
    autocast_on_gpu="float32",
    aten="default out Scalar",
    sparse="elements",
    foreach="",
)
def tan(input):
    """The tangent of an angle in radians."""
    return xp.tan(input)


tan.gradient(input=lambda grad, out: grad * conj_of(1 + out * out))


@elementwise(
    rule=floating,
    domain=unit,
    aliases=("arcsin",),
    autocast_on_gpu="float32",
    aten="default out Scalar",
    sparse="elements",
    foreach="",
)
def asin(input):
    """The inverse sine, in radians."""
    return xp.asin(input)


asin.gradient(input=lambda grad, input: grad * conj_of(rsqrt(1 - input * input)))


@elementwise(
    rule=floating,
    domain=unit,
    aliases=("arccos",),
    autocast_on_gpu="float32",
    aten="default out Scalar",
    foreach="",
)
def acos(input):
    """The inverse cosine, in radians."""
    return xp.acos(input)


acos.gradient(input=lambda grad, input: -grad * conj_of(rsqrt(1 - input * input)))


@elementwise(
    rule=floating,
    domain=real,
    aliases=("arctan",),
    aten="default out Scalar",
    sparse="elements",
    foreach="",
)
def atan(input):
    """The inverse tangent, in radians."""
    return xp.atan(input)


atan.gradient(input=lambda grad, input: grad / conj_of(input * input + 1))


@elementwise(rule=real_floating, domain=nonzero, aliases=("arctan2",))
def atan2(input, other: Tensor):
    """The angle of the point (other, input), in radians."""
    return xp.atan2(input, other)


atan2.gradient(
    input=lambda grad, input, other: grad * (other / (input * input + other * other)),
    other=lambda grad, input, other: grad * (-input / (input * input + other * other)),
)


@elementwise(
    rule=floating,
    domain=real,
    autocast_on_gpu="float32",
    aten="default out Scalar",
    sparse="elements",
    foreach="",
)
def sinh(input):
    """The hyperbolic sine."""
    return xp.sinh(input)


@elementwise(
    rule=floating, domain=real, autocast_on_gpu="float32", aten="default out Scalar", foreach=""
)
def cosh(input):
    """The hyperbolic cosine."""
    return xp.cosh(input)


sinh.gradient(input=lambda grad, input: grad * conj_of(cosh(input)))
cosh.gradient(input=lambda grad, input: grad * conj_of(sinh(input)))


@elementwise(rule=floating, domain=real, aten="default out Scalar", sparse="elements", foreach="")
def tanh(input):
    """The hyperbolic tangent."""
    return xp.tanh(input)


tanh.gradient(input=lambda grad, out: grad * conj_of(1 - out * out))


@elementwise(
    rule=floating, domain=real, aliases=("arcsinh",), aten="default out Scalar", sparse="elements"
)
def asinh(input):
    """The inverse hyperbolic sine."""
    return xp.asinh(input)


asinh.gradient(input=lambda grad, input: grad * conj_of(rsqrt(input * input + 1)))


@elementwise(rule=floating, domain=above_one, aliases=("arccosh",), aten="default out Scalar")
def acosh(input):
    """The inverse hyperbolic cosine."""
    return xp.acosh(input)


acosh.gradient(input=lambda grad, input: grad * conj_of(rsqrt(input * input - 1)))


@elementwise(
    rule=floating, domain=unit, aliases=("arctanh",), aten="default out Scalar", sparse="elements"
)
def atanh(input):
    """The inverse hyperbolic tangent."""
    return xp.atanh(input)


atanh.gradient(input=lambda grad, input: grad / conj_of(1 - input * input))


@elementwise(rule=real_floating, domain=nonzero, limited=False)
def hypot(input, other: Tensor):
    """``sqrt(input ** 2 + other ** 2)`` without overflow."""
    return xp.hypot(input, other)


hypot.gradient(
    input=lambda grad, input, out: grad * (input / out),
    other=lambda grad, other, out: grad * (other / out),
)


@elementwise(rule=real_floating, domain=real, sparse="elements", sparse_slope=math.pi / 180)
def deg2rad(input):
    """Degrees as radians, ``input * pi / 180``.

    >>> rushlight.deg2rad(rushlight.tensor([180.0]))
    tensor([3.1416])
    """
    return input * (math.pi / 180)


deg2rad.gradient(input=lambda grad: grad * (math.pi / 180))


@elementwise(rule=real_floating, domain=real, sparse="elements", sparse_slope=180 / math.pi)
def rad2deg(input):
    """An angle in radians, in degrees."""
    return input * (180 / math.pi)


rad2deg.gradient(input=lambda grad: grad * (180 / math.pi))


@elementwise(rule=floating, domain=nonzero)
def sinc(input):
    """``sin(pi * input) / (pi * input)``, 1 at 0."""
    return xp.sinc(input)


def _sinc_gradient(grad, input):
    safe = where(input == 0, 1.0, input)
    angle = math.pi * safe
    slope = (angle * cos(angle) - sin(angle)) / (angle * safe)
    return grad * where(input == 0, 0.0, conj_of(slope))


sinc.gradient(input=_sinc_gradient)
