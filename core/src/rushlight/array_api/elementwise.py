"""Functions of the elements at the same place."""

from __future__ import annotations

import rushlight
from rushlight import dtypes
from rushlight.array_api.data_types import promoted
from rushlight.dtypes import COMPLEX, FLOAT
from rushlight.tensor.tensor import Tensor


def _unary(name, text, source=None):
    function = getattr(rushlight, source or name)

    def call(x, /):
        return function(x)

    return _named(call, name, text)


def _binary(name, text, source=None):
    function = getattr(rushlight, source or name)

    def call(x1, x2, /):
        return function(*promoted(x1, x2))

    return _named(call, name, text)


def _named(call, name, text):
    call.__name__ = call.__qualname__ = name
    call.__doc__ = text
    return call


def _whole_numbers(name, text):
    """A rounding function: integers are what they are."""
    function = getattr(rushlight, name)

    def call(x, /):
        if x.dtype.category < FLOAT:
            return x.clone()
        if x.dtype.category == COMPLEX:
            return rushlight.complex(function(x.real), function(x.imag))
        return function(x)

    return _named(call, name, text)


abs = _unary("abs", "Absolute values.")
acos = _unary("acos", "Inverse cosine.")
acosh = _unary("acosh", "Inverse hyperbolic cosine.")
asin = _unary("asin", "Inverse sine.")
asinh = _unary("asinh", "Inverse hyperbolic sine.")
atan = _unary("atan", "Inverse tangent.")
atanh = _unary("atanh", "Inverse hyperbolic tangent.")
bitwise_invert = _unary("bitwise_invert", "Every bit turned over.", "bitwise_not")
cos = _unary("cos", "Cosine.")
cosh = _unary("cosh", "Hyperbolic cosine.")
exp = _unary("exp", "The exponential.")
expm1 = _unary("expm1", "``exp(x) - 1``, exact near zero.")
isfinite = _unary("isfinite", "Neither infinite nor NaN.")
isinf = _unary("isinf", "Infinite.")
isnan = _unary("isnan", "NaN.")
log = _unary("log", "Natural logarithm.")
log1p = _unary("log1p", "``log(1 + x)``, exact near zero.")
log2 = _unary("log2", "Logarithm to the base 2.")
log10 = _unary("log10", "Logarithm to the base 10.")
logical_not = _unary("logical_not", "True where zero.")
negative = _unary("negative", "``-x``.")
positive = _unary("positive", "``+x``.")
reciprocal = _unary("reciprocal", "``1 / x``.")
signbit = _unary("signbit", "Whether the sign is negative, that of zeros and NaNs too.")
sin = _unary("sin", "Sine.")
sinh = _unary("sinh", "Hyperbolic sine.")
sqrt = _unary("sqrt", "Square root.")
square = _unary("square", "``x * x``.")
tan = _unary("tan", "Tangent.")
tanh = _unary("tanh", "Hyperbolic tangent.")

ceil = _whole_numbers("ceil", "The next integer above.")
floor = _whole_numbers("floor", "The next integer below.")
round = _whole_numbers("round", "The nearest integer, halves to the even one.")
trunc = _whole_numbers("trunc", "The next integer towards zero.")

add = _binary("add", "``x1 + x2``.")
atan2 = _binary("atan2", "The angle of the point (x2, x1).")
bitwise_and = _binary("bitwise_and", "Bits set in both.")
bitwise_left_shift = _binary("bitwise_left_shift", "Bits moved up.")
bitwise_or = _binary("bitwise_or", "Bits set in either.")
bitwise_right_shift = _binary("bitwise_right_shift", "Bits moved down, the sign kept.")
bitwise_xor = _binary("bitwise_xor", "Bits set in one only.")
copysign = _binary("copysign", "The size of `x1` with the sign of `x2`.")
divide = _binary("divide", "``x1 / x2``.")
equal = _binary("equal", "``x1 == x2``.", "eq")
floor_divide = _binary("floor_divide", "``x1 // x2``.")
greater = _binary("greater", "``x1 > x2``.")
greater_equal = _binary("greater_equal", "``x1 >= x2``.")
hypot = _binary("hypot", "The root of the sum of squares, without overflow.")
less = _binary("less", "``x1 < x2``.")
less_equal = _binary("less_equal", "``x1 <= x2``.")
logaddexp = _binary("logaddexp", "``log(exp(x1) + exp(x2))``, without overflow.")
logical_and = _binary("logical_and", "Both true.")
logical_or = _binary("logical_or", "Either true.")
logical_xor = _binary("logical_xor", "One true.")
maximum = _binary("maximum", "The larger; NaN if either is.")
minimum = _binary("minimum", "The smaller; NaN if either is.")
multiply = _binary("multiply", "``x1 * x2``.")
nextafter = _binary("nextafter", "The number next to `x1` in the direction of `x2`.")
not_equal = _binary("not_equal", "``x1 != x2``.")
pow = _binary("pow", "``x1 ** x2``.")
subtract = _binary("subtract", "``x1 - x2``.")


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
