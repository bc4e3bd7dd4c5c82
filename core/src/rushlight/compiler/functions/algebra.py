"""Building blocks of the polynomial approximations, as graph rewrites.

No float-to-integer conversion of a value that may be NaN: integers come from the low mantissa bits
after adding 1.5 * 2**mantissa, which no LLVM rule can call poison.
"""

from __future__ import annotations

import math

from rushlight.compiler.graph import constant, node, promote
from rushlight.compiler.vocabulary import where

LN2 = math.log(2)
INF = float("inf")
NAN = float("nan")
# Per dtype: mantissa bits, exponent bias, the rounding constant as a number and as bits.
MANTISSA, BIAS = {"f32": 23, "f64": 52}, {"f32": 127, "f64": 1023}
ROUND = {"f32": 1.5 * 2.0**23, "f64": 1.5 * 2.0**52}
ROUND_BITS = {"f32": 0x4B400000, "f64": 0x4338000000000000}


def fma(a, b, c):
    """``a * b + c`` rounded once."""
    (a, b, c), dtype, weak = promote((a, b, c))
    return node("fma", (a, b, c), dtype, weak)


def bits(x):
    """The bits of a float as a signed integer of its width."""
    return node("bitcast", (x,), {"f32": "i32", "f64": "i64"}[x.dtype], x.weak)


def floats(i):
    """The float with these bits."""
    return node("bitcast", (i,), {"i32": "f32", "i64": "f64"}[i.dtype], i.weak)


def horner(x, coefficients):
    """``c0 + x * (c1 + x * (...))``, lowest first."""
    total = constant(coefficients[-1], x.dtype)
    for c in reversed(coefficients[:-1]):
        total = fma(total, x, c)
    return total


def fabs(x):
    """Absolute value of a float."""
    return node("abs", (x,), x.dtype, x.weak)


def copysign(x, sign):
    """`x` with the sign bit of `sign`."""
    return node("copysign", (x, sign), x.dtype, x.weak)


def whole(name, x):
    """``floor``, ``ceil``, ``trunc`` or ``round`` of a float."""
    return node(name, (x,), x.dtype, x.weak)


def sqrt(x):
    """Square root of a float."""
    return node("sqrt", (x,), x.dtype, x.weak)


def shift(x, count):
    """Bits of an integer moved left by a literal count below its width."""
    return node("shl", (x, constant(count, x.dtype)), x.dtype, x.weak)


def ldexp(x, n):
    """``x * 2**n`` for an integer `n`, right also where the result is denormal."""
    return node("ldexp", (x, n), x.dtype, x.weak)


def scale(x, shifted):
    """``x * 2**n`` for the whole number n in ``shifted = n + ROUND``."""
    n = shifted - ROUND[x.dtype]
    return node("scale", (x, n, shifted), x.dtype, x.weak)


def libm(name, *args):
    """The C library's function, lane by lane: correct and slow; where there is no polynomial."""
    return node("libm", args, args[0].dtype, args[0].weak, name)


def repair(value, mask, name, *args):
    """``where(mask, libm(...), value)`` behind a branch: for arguments almost nobody passes."""
    return node("repair", (value, mask, *args), value.dtype, value.weak, name)


def clamp(x, low, high):
    """`x` held between literals; NaN passes through, since both comparisons are false."""
    x = where(x > high, high, x)
    return where(x < low, low, x)
