"""Words that are themselves written in the vocabulary: one text for every executor."""

from __future__ import annotations

from rushlight.compiler.graph import as_expr, cast
from rushlight.compiler.storage import COMPLEX, is_inexact
from rushlight.compiler.vocabulary import word, xp

LARGEST = {
    "f16": 65504.0,
    "bf16": 3.3895313892515355e38,
    "f32": 3.4028234663852886e38,
    "f64": 1.7976931348623157e308,
}


@word
def square(x):
    """``x * x``."""
    return x * x


@word
def reciprocal(x):
    """``1 / x``."""
    return 1 / x


@word
def rsqrt(x):
    """``1 / sqrt(x)``."""
    return 1 / xp.sqrt(x)


@word
def sigmoid(x):
    """``1 / (1 + exp(-x))``; never overflows, keeps the far left tail that the formula flushes, and
    takes away less than a third there, which loses less than dividing."""
    if x.dtype in COMPLEX:
        return 1 / (1 + xp.exp(-x))
    z = xp.exp(-xp.abs(x))
    y = xp.where(x >= 0, 1, z) / (1 + z)
    return xp.where(x < -1, z - z * y, y)


@word
def logaddexp(x, y):
    """``log(exp(x) + exp(y))`` without overflow."""
    high, low = xp.maximum(x, y), xp.minimum(x, y)
    further = xp.log1p(xp.exp(low - high))
    return xp.where(high == low, high + 0.6931471805599453, high + further)  # inf - inf is nan


@word
def fmax(x, y):
    """The larger operand; a nan loses."""
    return xp.where(xp.isnan(x), y, xp.where(x >= y, x, xp.where(xp.isnan(y), x, y)))


@word
def fmin(x, y):
    """The smaller operand; a nan loses."""
    return xp.where(xp.isnan(x), y, xp.where(x <= y, x, xp.where(xp.isnan(y), x, y)))


@word
def clip(x, low=None, high=None):
    """`x` held between `low` and `high`; nan stays nan; `high` wins when they cross."""
    x = x if low is None else xp.maximum(x, low)
    return x if high is None else xp.minimum(x, high)


@word
def frac(x):
    """The part after the decimal point, with the sign of `x`."""
    return x - xp.trunc(x)


@word
def isposinf(x):
    """True at plus infinity."""
    return x == xp.inf if is_inexact(as_expr(x).dtype) else cast(False, "bool")


@word
def isneginf(x):
    """True at minus infinity."""
    return x == -xp.inf if is_inexact(as_expr(x).dtype) else cast(False, "bool")


@word
def nan_to_num(x, nan=0.0, posinf=None, neginf=None, storage=None):
    """`x` with nan and the infinities replaced; None means the largest finite number, that of
    `storage` where half-width values are computed in float32."""
    if not is_inexact(x.dtype):
        return x
    largest = LARGEST[storage or x.dtype]
    high = largest if posinf is None else posinf
    low = -largest if neginf is None else neginf
    y = xp.where(x == xp.inf, high, xp.where(x == -xp.inf, low, x))
    return xp.where(xp.isnan(x), nan, y)


@word
def xlogy(x, y):
    """``x * log(y)``, 0 where `x` is 0 unless `y` is nan."""
    return xp.where(xp.isnan(y), xp.nan, xp.where(x == 0, 0, x * xp.log(y)))


@word
def sinc(x):
    """``sin(pi x) / (pi x)``, 1 at 0."""
    y = xp.pi * x
    return xp.where(x == 0, 1, xp.sin(y) / y)


@word
def heaviside(x, values):
    """0 below zero, 1 above, `values` at zero; nan gives 0."""
    return xp.where(x == 0, values, cast(x > 0, as_expr(x).dtype))
