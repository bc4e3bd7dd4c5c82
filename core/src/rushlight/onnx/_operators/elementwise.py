"""Operations on each element."""

from __future__ import annotations

import math

import rushlight as rl
import rushlight.nn.functional as F  # noqa: N812 - the usual name
from rushlight.onnx._operators.registry import number, operator

_SAME = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Neg Reciprocal Sigmoid "
    "Sign Sin Sinh Sqrt Tan Tanh Relu Round"
).split()


def _declare():
    for name in _SAME:
        operator(name)(getattr(rl, name.lower()))


_declare()


@operator()
def Celu(x, alpha=1.0):
    return F.celu(x, alpha)


@operator()
def Clip(x, low=None, high=None, min=None, max=None):
    low = min if low is None else low
    high = max if high is None else high
    if low is not None:
        x = rl.maximum(x, rl.as_tensor(low, dtype=x.dtype))
    return x if high is None else rl.minimum(x, rl.as_tensor(high, dtype=x.dtype))


@operator()
def Elu(x, alpha=1.0):
    return F.elu(x, alpha)


@operator()
def Gelu(x, approximate="none"):
    return F.gelu(x, approximate=approximate)


@operator()
def HardSigmoid(x, alpha=0.2, beta=0.5):
    return (x * alpha + beta).clamp(0, 1)


@operator()
def HardSwish(x):
    return F.hardswish(x)


@operator()
def LeakyRelu(x, alpha=0.01):
    return F.leaky_relu(x, alpha)


@operator()
def Mish(x):
    return F.mish(x)


@operator()
def PRelu(x, slope):
    return rl.where(x < 0, x * slope, x)


@operator()
def Selu(x, alpha=1.6732632423543772, gamma=1.0507009873554805):
    return gamma * rl.where(x > 0, x, alpha * (x.exp() - 1))


@operator()
def Shrink(x, bias=0.0, lambd=0.5):
    low = rl.where(x < -lambd, (x + bias).to(x.dtype), rl.zeros_like(x))
    return rl.where(x > lambd, (x - bias).to(x.dtype), low)


@operator()
def Softplus(x):
    return F.softplus(x, threshold=math.inf)


@operator()
def Softsign(x):
    return F.softsign(x)


@operator()
def Swish(x, alpha=1.0):
    return x * rl.sigmoid(alpha * x)


@operator()
def ThresholdedRelu(x, alpha=1.0):
    return rl.where(x > alpha, x, rl.zeros_like(x))


@operator()
def IsNaN(x):
    return x.isnan()


@operator()
def IsInf(x, detect_negative=1, detect_positive=1):
    found = rl.zeros_like(x, dtype=rl.bool)
    if detect_negative:
        found = found | x.isneginf()
    return found | x.isposinf() if detect_positive else found


def _along(function, x, axis, opset):
    """Softmax and its kin: before opset 13 over all dimensions from `axis` on."""
    if opset >= 13:
        return function(x, -1 if axis is None else axis)
    axis = 1 if axis is None else axis
    flat = x.flatten(axis % max(1, x.ndim)) if x.ndim else x
    return function(flat, -1).reshape(x.shape)


@operator()
def Softmax(x, axis=None, opset=13):
    return _along(rl.softmax, x, axis, opset)


@operator()
def LogSoftmax(x, axis=None, opset=13):
    return _along(rl.log_softmax, x, axis, opset)


@operator()
def Hardmax(x, axis=None, opset=13):
    def first(values, dim):
        return F.one_hot(values.argmax(dim), values.shape[dim]).movedim(-1, dim).to(values.dtype)

    return _along(first, x, axis, opset)


@operator()
def Cast(x, to, saturate=1, round_mode="up"):
    from rushlight.onnx._operators.dtypes import dtype_of

    return x.to(dtype_of(to))


@operator()
def BitCast(x, to):
    from rushlight.onnx._operators.dtypes import dtype_of

    return x.view(dtype_of(to))


@operator()
def SwiGLU(a, b, alpha=1.0):
    return Swish(a, alpha) * b


@operator()
def CastLike(x, like, saturate=1, round_mode="up"):
    return x.to(like.dtype)


@operator(static=(1,))
def CumSum(x, axis, exclusive=0, reverse=0):
    dim = int(number(axis))
    x = x.flip(dim) if reverse else x
    found = x.cumsum(dim, dtype=x.dtype)
    if exclusive:
        found = found - x
    return found.flip(dim) if reverse else found


@operator(static=(1,))
def CumProd(x, axis, exclusive=0, reverse=0):
    dim = int(number(axis))
    x = x.flip(dim) if reverse else x
    found = x.cumprod(dim, dtype=x.dtype)
    if exclusive:
        ones = rl.ones_like(x.narrow(dim, 0, 1))
        found = rl.cat([ones, found.narrow(dim, 0, x.shape[dim] - 1)], dim)
    return found.flip(dim) if reverse else found


@operator()
def Identity(x):
    return x
