"""Hyperbolic functions and their inverses, through exp, expm1 and log1p."""

from __future__ import annotations

from rushlight.compiler.functions.algebra import (
    BIAS,
    LN2,
    MANTISSA,
    NAN,
    ROUND,
    clamp,
    copysign,
    fabs,
    floats,
    fma,
    horner,
    ldexp,
    sqrt,
)
from rushlight.compiler.functions.exponentials import (
    EXP,
    exp_core,
    expm1_core,
    integer,
    log1p,
    to_exponent,
)
from rushlight.compiler.vocabulary import where

# sinh(x) = x + x**3 P(x**2) below 1; minimax, relative error 3e-10 and 3e-19.
SINH = {
    "f32": (0.166666672, 0.00833331048, 0.000198428912, 2.78226662e-6),
    "f64": (
        0.16666666666666669,
        0.0083333333333329117,
        0.00019841269841593411,
        2.7557319106756325e-6,
        2.5052130998839042e-8,
        1.6056659155159831e-10,
        7.7766005854561509e-13,
    ),
}
# Beyond these a*a + 1 is a*a to the last bit of the result.
LARGE = {"f32": 8192.0, "f64": 268435456.0}


def less_and_more(a):
    """exp(-2a) - 1 and exp(-2a) + 1 of a float32 in [0, 10], each rounded once: their quotient is
    within 2 units in the last place. The error of one step of reduction counts for little there."""
    shifted = fma(a, -2 / LN2, ROUND["f32"])
    r = fma(shifted - ROUND["f32"], LN2 / 2, a)  # of exp(-2r)
    series = horner(r, [c * (-2.0) ** (k + 2) for k, c in enumerate(EXP["f32"])])
    q = fma(series, r * r, r * -2.0)
    h = floats(to_exponent(shifted) + (BIAS["f32"] << MANTISSA["f32"]))
    return fma(h, q, h - 1.0), fma(h, q, h + 1.0)


def tanh(x):
    """Hyperbolic tangent, by exp(-2a)."""
    a = fabs(x)
    if x.dtype == "f64":
        t = expm1_core(clamp(a * -2.0, -50.0, 0.0))
        near = a < 0.55  # -t / (t + 2), or 1 minus its complement: one division either way
        part = where(near, -t, (t + 1.0) * 2.0) / (t + 2.0)
        return copysign(where(a < 2.0**-28, a, where(near, part, 1.0 - part)), x)
    less, more = less_and_more(where(a > 10.0, 10.0, a))  # nan stays
    return copysign(less / more, x)


def half_exp(a):
    """exp(a) / 2 for a >= 0, which is finite up to where sinh and cosh are."""
    mantissa, shifted = exp_core(clamp(a, 0.0, {"f32": 90.0, "f64": 711.0}[a.dtype]))
    return ldexp(mantissa, integer(shifted) - 1)


def sinh(x):
    """Hyperbolic sine."""
    a, s = fabs(x), x * x
    h = half_exp(a)
    near = fma(horner(s, SINH[x.dtype]), s * x, x)
    return where(a >= 1.0, copysign(h - 0.25 / h, x), near)


def cosh(x):
    """Hyperbolic cosine."""
    h = half_exp(fabs(x))
    return h + 0.25 / h


def asinh(x):
    """log(a + sqrt(a*a + 1)) as log1p of what is left after taking 1 away."""
    a = fabs(x)
    large = a > LARGE[x.dtype]
    s = a * a
    y = log1p(where(large, a - 1.0, a + s / (1.0 + sqrt(s + 1.0))))
    return copysign(where(large, y + LN2, y), x)


def acosh(x):
    """log(x + sqrt(x*x - 1)) as log1p of what is above 1, whose own rounding is put back; nan
    below 1."""
    large = x > LARGE[x.dtype]
    t = x - 1.0
    square = fma(t, t, t * 2.0)
    root = sqrt(square)
    above = t + root
    lack = fma((root - above) + t, root * 2.0, fma(-root, root, square))  # times 2 root
    lack = lack / (root * 2.0 * (above + 1.0))
    y = log1p(where(large, t, above))
    y = where(large, y + LN2, where(t > 0.0, y + lack, y))
    return where(x < 1.0, NAN, y)


def atanh(x):
    """log((1 + a) / (1 - a)) / 2; the infinities at -1 and 1, nan outside."""
    a = fabs(x)
    t = a + a
    near = a < 0.5
    ratio = where(near, t * a, t) / (1.0 - a)
    return copysign(0.5 * log1p(where(near, t + ratio, ratio)), x)
