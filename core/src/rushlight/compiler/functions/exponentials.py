"""exp, log and their relatives: written once, emitted for any vector width and float dtype.

Coefficients come from a weighted least-squares exchange (Lawson) fit in extended precision, rounded
one after the other; the float64 logarithm uses fdlibm's.
"""

from __future__ import annotations

import math
import struct

from rushlight.compiler.functions.algebra import (
    BIAS,
    INF,
    LN2,
    MANTISSA,
    NAN,
    ROUND,
    ROUND_BITS,
    bits,
    clamp,
    fabs,
    floats,
    fma,
    horner,
    repair,
    scale,
    shift,
)
from rushlight.compiler.graph import cast, constant
from rushlight.compiler.vocabulary import where

EXP = {
    "f32": (4.9999994e-01, 1.6666521e-01, 4.1668255e-02, 8.368672e-03, 1.382171e-03),
    "f64": tuple(1 / math.factorial(k) for k in range(2, 14)),
}
EXPM1 = {
    "f32": (1.6666666e-01, 4.166648e-02, 8.333569e-03, 1.3933348e-03, 1.9740747e-04),
    "f64": tuple(1 / math.factorial(k) for k in range(3, 15)),
}
LN2_PARTS = {
    "f32": (0.693145751953125, 1.428606765330187e-06),
    "f64": (0.6931471803691238, 1.9082149292705877e-10),
}


def reduce_exp(x):
    """x = n ln 2 + r, |r| <= ln 2 / 2; n sits in the low bits of `shifted` = n + ROUND."""
    high, low = LN2_PARTS[x.dtype]
    shifted = fma(x, 1 / LN2, ROUND[x.dtype])
    n = shifted - ROUND[x.dtype]
    return fma(n, -low, fma(n, -high, x)), shifted


def reduce_exp_of(x, further):
    """x + further = n ln 2 + r + rest, where `further` and `rest` are below the last place of `x`
    and of `r`."""
    high, low = LN2_PARTS[x.dtype]
    shifted = fma(x, 1 / LN2, ROUND[x.dtype])
    n = shifted - ROUND[x.dtype]
    first, second = fma(n, -high, x), fma(n, -low, further)  # the first is exact
    r = first + second
    return r, (first - r) + second, shifted


def integer(shifted):
    """The n in ``n + ROUND``."""
    return bits(shifted) - ROUND_BITS[shifted.dtype]


def to_exponent(shifted):
    """n moved to where exponents live; the shift throws the rounding constant away."""
    return shift(bits(shifted), MANTISSA[shifted.dtype])


def exp_core(x):
    """Mantissa and shifted exponent of exp."""
    r, shifted = reduce_exp(x)
    return fma(horner(r, EXP[x.dtype]), r * r, r) + 1.0, shifted


def exp_moderate(x):
    """exp for |x| < 80: adding the exponent turns a nan into anything; callers discard it."""
    p, shifted = exp_core(x)
    return floats(bits(p) + to_exponent(shifted))


def exp(x):
    """At most 1.01 units in the last place (all float32)."""
    limits = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}[x.dtype]
    p, shifted = exp_core(clamp(x, *limits))
    return scale(p, shifted)


def exp2(x):
    """2 to the power of `x`."""
    x = clamp(x, *{"f32": (-151.0, 129.0), "f64": (-1076.0, 1025.0)}[x.dtype])
    shifted = x + ROUND[x.dtype]
    r = (x - (shifted - ROUND[x.dtype])) * LN2
    return scale(fma(horner(r, EXP[x.dtype]), r * r, r) + 1.0, shifted)


def expm1_core(x):
    """exp(x) - 1 = 2 ((h q + h) - 1/2), h = 2**(n-1), q = exp(r) - 1: h never overflows."""
    r, shifted = reduce_exp(x)
    q = fma(fma(horner(r, EXPM1[x.dtype]), r, 0.5), r * r, r)
    h = floats(to_exponent(shifted) + ((BIAS[x.dtype] - 1) << MANTISSA[x.dtype]))
    return fma(h, q, h - 0.5) * 2.0


def expm1(x):
    """exp(x) - 1, accurate near zero; keeps denormals and the sign of zero."""
    limits = {"f32": (-30.0, 89.0), "f64": (-50.0, 710.0)}[x.dtype]
    tiny = {"f32": 2.0**-24, "f64": 2.0**-54}[x.dtype]
    return where(fabs(x) < tiny, x, expm1_core(clamp(x, *limits)))


# -------------------------------------------------------------------------------------- logarithms
LOG_F32 = (
    3.3333215e-01,
    -2.49998e-01,
    2.0010445e-01,
    -1.6680378e-01,
    1.400534e-01,
    -1.218568e-01,
    1.3986708e-01,
    -1.288584e-01,
)
LOG1P_F32 = (
    3.333345e-01,
    -2.50001e-01,
    1.9990808e-01,
    -1.6647051e-01,
    1.4478613e-01,
    -1.3163984e-01,
    1.04678206e-01,
    -4.509956e-02,
)
FDLIBM_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


def log_series(f, coefficients=LOG_F32):
    """log(1 + f) on the reduced interval, without a division in float32."""
    if f.dtype == "f32":
        return fma(fma(horner(f, coefficients), f, -0.5), f * f, f)
    s = f / (f + 2.0)
    z, half = s * s, f * f * 0.5
    return f - (half - s * fma(z, horner(z, FDLIBM_LOG), half))


LOG_PIVOT = {"f32": 0x3F2AAAAB, "f64": 0x3FE6A09E667F3BCD}


def split_exponent(x, pivot):
    """x = m 2**e with m in [pivot, 2 pivot); e shifted into place (integer) and as a float."""
    mask = -1 << MANTISSA[x.dtype]
    e = (bits(x) - pivot) & mask
    return e, cast(e, x.dtype) * 2.0 ** -MANTISSA[x.dtype]


def reduce_log(x):
    """f and e with x = (1 + f) 2**e, denormals scaled first."""
    tiny = x < {"f32": 2.0**-126, "f64": 2.0**-1022}[x.dtype]
    scaled = where(tiny, x * 2.0 ** MANTISSA[x.dtype], x)
    e, count = split_exponent(scaled, LOG_PIVOT[x.dtype])
    count = where(tiny, count - float(MANTISSA[x.dtype]), count)
    return floats(bits(scaled) - e) - 1.0, count


def log_specials(x, y):
    """log(0) = -inf, log(negative) = nan; inf and nan give themselves."""
    special = where(x == 0.0, -INF, where(x < 0.0, NAN, x))
    return where((x > 0.0) & (x < INF), y, special)


def log_of_parts(f, e):
    """log((1 + f) 2**e)."""
    high, low = LN2_PARTS[f.dtype]
    return fma(e, high, fma(e, low, log_series(f)))


def any_log(x):
    """Natural logarithm of denormal numbers and of what has none, too."""
    return log_specials(x, log_of_parts(*reduce_log(x)))


def log(x):
    """Natural logarithm, below 1.1 units in the last place; in float32 all but normal numbers go
    another way behind a branch."""
    if x.dtype == "f64":
        return any_log(x)
    e, count = split_exponent(x, LOG_PIVOT["f32"])
    y = log_of_parts(floats(bits(x) - e) - 1.0, count)
    return repair(y, ~((x >= 2.0**-126) & (x < INF)), "any_logf", x)


# What `repair` does, vector by vector.
REPAIRS = {"any_logf": any_log}


def log_in_base(x, scale, exponent_high, exponent_low):
    """(log(1 + f) + e ln 2) * scale, split so that only the last addition rounds noticeably."""
    f, e = reduce_log(x)
    rest = fma(horner(f, LOG_F32), f, -0.5) * (f * f)
    high = struct.unpack("f", struct.pack("f", scale))[0]
    y = fma(f, high, fma(f, scale - high, fma(rest, high, e * exponent_low)))
    return log_specials(x, fma(e, exponent_high, y))


def log_in_base_f64(x, scale, scale_low, exponent_high, exponent_low):
    """The same in float64: log(1 + f) kept as high + low, one rounding at the end."""
    f, e = reduce_log(x)
    s = f / (f + 2.0)
    z, half = s * s, f * f * 0.5
    high = f - half
    low = ((f - high) - half) + s * fma(z, horner(z, FDLIBM_LOG), half)
    product = high * scale
    rest = fma(high, scale, -product) + fma(low, scale, fma(high, scale_low, e * exponent_low))
    whole = e * exponent_high
    total = whole + product
    rest = rest + ((whole - total) + product)  # |whole| >= |product| or whole is 0
    return log_specials(x, total + rest)


LOG2_E = (1.4426950408889634, 2.0355273740931033e-17)
LOG10_E = (0.4342944819032518, 1.098319650216765e-17)
LOG10_2 = (0.30102999560767785, 5.630334806675098e-11)  # 33 bits: a count times it is exact


def log2(x):
    """Logarithm to base 2."""
    if x.dtype == "f64":
        return log_in_base_f64(x, *LOG2_E, 1.0, 0.0)
    return log_in_base(x, LOG2_E[0], 1.0, 0.0)


def log10(x):
    """Logarithm to base 10."""
    if x.dtype == "f64":
        return log_in_base_f64(x, *LOG10_E, *LOG10_2)
    return log_in_base(x, LOG10_E[0], 0.30078125, math.log10(2) - 0.30078125)


def log1p(x):
    """log(1 + x) = log(1 + m) + e ln 2 with m = x 2**-e + (2**-e - 1): nothing is lost."""
    pivot = {"f32": 0x3F400000, "f64": 0x3FE6A09E667F3BCD}[x.dtype]
    four = {"f32": 0x40800000, "f64": 0x4010000000000000}[x.dtype]
    e, count = split_exponent(x + 1.0, pivot)
    quarter = floats(constant(four, e.dtype) - e)  # 4 * 2**-e: no denormal
    m = fma(x, quarter * 0.25, fma(quarter, 0.25, -1.0))
    high, low = LN2_PARTS[x.dtype]
    y = fma(count, high, fma(count, low, log_series(m, LOG1P_F32)))
    special = where(x == -1.0, -INF, where(x < -1.0, NAN, x))
    y = where((x > -1.0) & (x < INF), y, special)
    tiny = {"f32": 2.0**-24, "f64": 2.0**-54}[x.dtype]
    return where(fabs(x) < tiny, x, y)
