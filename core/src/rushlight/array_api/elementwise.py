"""Functions of the elements at the same position."""

from __future__ import annotations

import rushlight
from rushlight import dtypes
from rushlight.array_api.data_types import promoted
from rushlight.dtypes import COMPLEX, FLOAT
from rushlight.tensor.tensor import Tensor


def _unary(function, text):
    def call(x, /):
        return function(x)

    return _like(function, call, text)


def _binary(function, text):
    def call(x1, x2, /):
        return function(*promoted(x1, x2))

    return _like(function, call, text)


def _like(function, call, text):
    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = text
    return call


def _whole_numbers(function, text):
    """A rounding function: integers are what they are."""

    def call(x, /):
        if x.dtype.category < FLOAT:
            return x.clone()
        if x.dtype.category == COMPLEX:
            return rushlight.complex(function(x.real), function(x.imag))
        return function(x)

    return _like(function, call, text)


abs = _unary(rushlight.abs, "Absolute values.")
acos = _unary(rushlight.acos, "Inverse cosine.")
acosh = _unary(rushlight.acosh, "Inverse hyperbolic cosine.")
asin = _unary(rushlight.asin, "Inverse sine.")
asinh = _unary(rushlight.asinh, "Inverse hyperbolic sine.")
atan = _unary(rushlight.atan, "Inverse tangent.")
atanh = _unary(rushlight.atanh, "Inverse hyperbolic tangent.")
cos = _unary(rushlight.cos, "Cosine.")
cosh = _unary(rushlight.cosh, "Hyperbolic cosine.")
exp = _unary(rushlight.exp, "The exponential.")
expm1 = _unary(rushlight.expm1, "``exp(x) - 1``, exact near zero.")
isfinite = _unary(rushlight.isfinite, "Neither infinite nor NaN.")
isinf = _unary(rushlight.isinf, "Infinite.")
isnan = _unary(rushlight.isnan, "NaN.")
log = _unary(rushlight.log, "Natural logarithm.")
log1p = _unary(rushlight.log1p, "``log(1 + x)``, exact near zero.")
log2 = _unary(rushlight.log2, "Logarithm to the base 2.")
log10 = _unary(rushlight.log10, "Logarithm to the base 10.")
logical_not = _unary(rushlight.logical_not, "True where zero.")
positive = _unary(rushlight.positive, "``+x``.")
reciprocal = _unary(rushlight.reciprocal, "``1 / x``.")
signbit = _unary(rushlight.signbit, "Whether the sign is negative, that of zeros and NaNs too.")
sin = _unary(rushlight.sin, "Sine.")
sinh = _unary(rushlight.sinh, "Hyperbolic sine.")
sqrt = _unary(rushlight.sqrt, "Square root.")
square = _unary(rushlight.square, "``x * x``.")
tan = _unary(rushlight.tan, "Tangent.")
tanh = _unary(rushlight.tanh, "Hyperbolic tangent.")

ceil = _whole_numbers(rushlight.ceil, "The next integer above.")
floor = _whole_numbers(rushlight.floor, "The next integer below.")
round = _whole_numbers(rushlight.round, "The nearest integer, halves to the even one.")
trunc = _whole_numbers(rushlight.trunc, "The next integer towards zero.")

add = _binary(rushlight.add, "``x1 + x2``.")
atan2 = _binary(rushlight.atan2, "The angle of the point (x2, x1).")
bitwise_and = _binary(rushlight.bitwise_and, "Bits set in both.")
bitwise_left_shift = _binary(rushlight.bitwise_left_shift, "Bits moved up.")
bitwise_or = _binary(rushlight.bitwise_or, "Bits set in either.")
bitwise_right_shift = _binary(rushlight.bitwise_right_shift, "Bits moved down, the sign kept.")
bitwise_xor = _binary(rushlight.bitwise_xor, "Bits set in one only.")
copysign = _binary(rushlight.copysign, "The size of `x1` with the sign of `x2`.")
floor_divide = _binary(rushlight.floor_divide, "``x1 // x2``.")
hypot = _binary(rushlight.hypot, "The root of the sum of squares, without overflow.")
logaddexp = _binary(rushlight.logaddexp, "``log(exp(x1) + exp(x2))``, without overflow.")
logical_and = _binary(rushlight.logical_and, "Both true.")
logical_or = _binary(rushlight.logical_or, "Either true.")
logical_xor = _binary(rushlight.logical_xor, "One true.")
maximum = _binary(rushlight.maximum, "The larger; NaN if either is.")
minimum = _binary(rushlight.minimum, "The smaller; NaN if either is.")
nextafter = _binary(rushlight.nextafter, "The number next to `x1` in the direction of `x2`.")
pow = _binary(rushlight.pow, "``x1 ** x2``.")


def bitwise_invert(x, /):
    """Every bit turned over."""
    return rushlight.bitwise_not(x)


def negative(x, /):
    """``-x``."""
    return rushlight.neg(x)


def divide(x1, x2, /):
    """``x1 / x2``."""
    return rushlight.div(*promoted(x1, x2))


def equal(x1, x2, /):
    """``x1 == x2``."""
    return rushlight.eq(*promoted(x1, x2))


def greater(x1, x2, /):
    """``x1 > x2``."""
    return rushlight.gt(*promoted(x1, x2))


def greater_equal(x1, x2, /):
    """``x1 >= x2``."""
    return rushlight.ge(*promoted(x1, x2))


def less(x1, x2, /):
    """``x1 < x2``."""
    return rushlight.lt(*promoted(x1, x2))


def less_equal(x1, x2, /):
    """``x1 <= x2``."""
    return rushlight.le(*promoted(x1, x2))


def multiply(x1, x2, /):
    """``x1 * x2``."""
    return rushlight.mul(*promoted(x1, x2))


def not_equal(x1, x2, /):
    """``x1 != x2``."""
    return rushlight.ne(*promoted(x1, x2))


def subtract(x1, x2, /):
    """``x1 - x2``."""
    return rushlight.sub(*promoted(x1, x2))


def remainder(x1, x2, /):
    """``x1 % x2``, with the sign of `x2`, also where it is zero."""
    x1, x2 = promoted(x1, x2)
    found = rushlight.remainder(x1, x2)
    return found if found.dtype.category < FLOAT else found.copysign(x2)


def conj(x, /):
    """Complex conjugates; real arrays are what they are."""
    return rushlight.conj(x).resolve_conj() if x.dtype.category == COMPLEX else x


def real(x, /):
    """Real parts."""
    return rushlight.real(x)


def imag(x, /):
    """Imaginary parts; zeros of a real array."""
    return rushlight.imag(x) if x.dtype.category == COMPLEX else rushlight.zeros_like(x)


def sign(x, /):
    """-1, 0 or 1; ``x / abs(x)`` of complex numbers; NaN of NaN."""
    if x.dtype.category == COMPLEX:
        return rushlight.sgn(x)
    out = rushlight.sign(x)
    return rushlight.where(rushlight.isnan(x), x, out) if x.dtype.category == FLOAT else out


def clip(x, /, min=None, max=None):
    """`x` within [min, max], either of which may be missing, a number or an array."""
    dtype = x.dtype
    for bound, function in ((min, rushlight.maximum), (max, rushlight.minimum)):
        if bound is None:
            continue
        if not isinstance(bound, Tensor):
            bound = rushlight.full((), _within(bound, dtype), dtype=dtype, device=x.device)
        x = function(x, bound.to(dtype))
    return x if min is not None or max is not None else x.clone()


def _within(bound, dtype):
    """A number as near to `bound` as the integer dtype holds."""
    if dtype.category >= FLOAT:
        return bound
    limits = dtypes.iinfo(dtype)
    return sorted((limits.min, bound, limits.max))[1]
