"""Trigonometric functions and their inverses.

Arguments are reduced with three parts of pi/2; what one float does not hold of the reduced argument
is kept beside it in float32, where larger arguments are reduced in float64 behind a branch. The
float64 polynomials of sin and cos are fdlibm's, the others minimax fits (Remez in 50 digits,
coefficients rounded one after the other).
"""

from __future__ import annotations

import math

from rushlight.compiler.functions.algebra import (
    INF,
    ROUND,
    bits,
    copysign,
    fabs,
    floats,
    fma,
    horner,
    repair,
    shift,
    sqrt,
    whole,
)
from rushlight.compiler.graph import cast
from rushlight.compiler.vocabulary import where

SIN = {
    "f32": (-1.6666655e-01, 8.33219e-03, -1.9518449e-04),
    "f64": (
        -1.66666666666666324348e-01,
        8.33333333332248946124e-03,
        -1.98412698298579493134e-04,
        2.75573137070700676789e-06,
        -2.50507602534068634195e-08,
        1.58969099521155010221e-10,
    ),
}
COS = {
    "f32": (4.1666646e-02, -1.3887311e-03, 2.4432564e-05),
    "f64": (
        4.16666666666666019037e-02,
        -1.38888888888741095749e-03,
        2.48015872894767294178e-05,
        -2.75573143513906633035e-07,
        2.08757232129817482790e-09,
        -1.13596475577881948265e-11,
    ),
}
TAN_F32 = (
    0.333333492,
    0.133326724,
    0.0540594459,
    0.0212827697,
    0.0108377039,
    8.38595588e-5,
    0.00438036816,
)
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
HALF_PI_F32 = (1.57079637050628662109375, -4.37113882867379e-08, -1.7151245100059263e-15)
# Arguments that the reductions serve; float32 first in float32, then in float64.
NARROW, WIDE = 2.0**17, {"f32": 2.0**40, "f64": 2.0**20}


def quadrant(x):
    """x = n pi/2 + r, the latter in float64 even for float32."""
    wide = cast(x, "f64")
    shifted = fma(wide, 2 / math.pi, ROUND["f64"])
    n = shifted - ROUND["f64"]
    r = wide
    for part in HALF_PI[: 2 if x.dtype == "f32" else 3]:
        r = fma(n, -part, r)
    count = bits(shifted)
    return r, cast(count, "i32") if x.dtype == "f32" else count


def narrow_quadrant(x):
    """x = n pi/2 + r + rest in float32. The first step is exact; its result is a multiple of the
    last place of the product that is added then, so that what the sum lacks is exact too."""
    first, second, third = HALF_PI_F32
    shifted = fma(x, 2 / math.pi, ROUND["f32"])
    n = shifted - ROUND["f32"]
    whole_part = fma(n, -first, x)
    r = whole_part + n * -second
    return r, fma(n, -third, fma(n, -second, whole_part - r)), bits(shifted)


def sine_and_cosine(r, rest=None):
    """Both on [-pi/4, pi/4], of `r` and a `rest` far smaller."""
    s = r * r
    sine, cosine = horner(s, SIN[r.dtype]), horner(s, COS[r.dtype])
    if rest is None:
        return fma(sine, s * r, r), fma(cosine, s * s, fma(s, -0.5, 1.0))
    return fma(sine, s * r, rest) + r, fma(cosine, s * s, r * -rest) + fma(s, -0.5, 1.0)


def beyond(x, limit):
    """Arguments that a reduction does not serve, nan and the infinities among them."""
    return ~(fabs(x) < limit)


def turned(n, sine, cosine):
    """The sine or the cosine of a quadrant with its sign."""
    y = where((n & 1) != 0, cosine, sine)
    return floats(bits(y) ^ shift(n & 2, 30 if y.dtype == "f32" else 62))


def wide_sine(x, turn, name):
    """sin(x + turn pi/2) by float64; arguments beyond its range go to the C library."""
    r, n = quadrant(x)
    y = turned(n + turn if turn else n, *sine_and_cosine(cast(r, x.dtype)))
    return repair(y, beyond(x, WIDE[x.dtype]), name, x)


def sine_like(x, turn, name):
    """sin(x + turn pi/2)."""
    if x.dtype == "f64":
        return wide_sine(x, turn, name)
    r, rest, n = narrow_quadrant(x)
    y = turned(n + turn if turn else n, *sine_and_cosine(r, rest))
    return repair(y, beyond(x, NARROW), "wide_" + name, x)


def sin(x):
    """Sine, below 1.6 units in the last place."""
    y = sine_like(x, 0, "sinf" if x.dtype == "f32" else "sin")
    return where(x == 0.0, x, y)  # -0.0


def cos(x):
    """Cosine, below 1.6 units in the last place."""
    return sine_like(x, 1, "cosf" if x.dtype == "f32" else "cos")


def reciprocal(b, rest):
    """1 / (b + rest) for a rest below b's last place, as if rounded once. Not for infinities."""
    inverse = 1.0 / b
    left = fma(-inverse, rest, fma(-inverse, b, 1.0))
    return fma(left, inverse, inverse)


def tan_of(odd, r, rest):
    """The tangent of a float32 on [-pi/4, pi/4], or minus its reciprocal."""
    s = r * r
    further = fma(horner(s, TAN_F32), s * r, rest)
    near = further + r
    return where(odd, -reciprocal(near, (r - near) + further), near)


def wide_tan(x):
    """The tangent of a float32, reduced in float64."""
    wide, n = quadrant(x)
    r = cast(wide, "f32")
    rest = cast(wide - cast(r, "f64"), "f32")
    return repair(tan_of((n & 1) != 0, r, rest), beyond(x, WIDE["f32"]), "tanf", x)


def tan(x):
    """Tangent: of the reduced argument, or minus its reciprocal; one division."""
    if x.dtype == "f32":
        r, rest, n = narrow_quadrant(x)
        y = repair(tan_of((n & 1) != 0, r, rest), beyond(x, NARROW), "wide_tanf", x)
    else:
        r, n = quadrant(x)
        odd = (n & 1) != 0
        sine, cosine = sine_and_cosine(r)
        y = where(odd, -cosine, sine) / where(odd, sine, cosine)
        y = repair(y, beyond(x, WIDE["f64"]), "tan", x)
    return where(x == 0.0, x, y)


# What `repair` does with arguments beyond NARROW, vector by vector.
REPAIRS = {
    "wide_sinf": lambda x: wide_sine(x, 0, "sinf"),
    "wide_cosf": lambda x: wide_sine(x, 1, "cosf"),
    "wide_tanf": wide_tan,
}


def sine_and_cosine_of_pi(x):
    """sin(pi x) and cos(pi x) of a float64, up to a common sign: exact zeros at whole numbers."""
    f = x - whole("round", x)
    a = fabs(f)
    far = a > 0.25
    sine, cosine = sine_and_cosine(where(far, 0.5 - a, a) * math.pi)
    return copysign(where(far, cosine, sine), f), where(far, sine, cosine)


# ---------------------------------------------------------------------------------------- inverses
ASIN = {
    "f32": (0.166667521, 0.0749530643, 0.0454697721, 0.0241807718, 0.0421664305),
    "f64": (
        0.16666666666665403,
        0.075000000003385178,
        0.044642856827012946,
        0.030381959194085137,
        0.022371756618848247,
        0.017359727192236517,
        0.013885006407182054,
        0.01217076084766386,
        0.006521093501899851,
        0.019547563925551157,
        -0.016255226612806109,
        0.031933950258512658,
    ),
}
ATAN = {
    "f32": (-0.333333164, 0.199985251, -0.142442971, 0.105982661, -0.0608734079),
    "f64": (
        -0.3333333333333319,
        0.19999999999952184,
        -0.14285714280054126,
        0.11111110776302642,
        -0.09090897551069638,
        0.07692056524700847,
        -0.06663061935118109,
        0.05847581566210962,
        -0.050379118680593096,
        0.038029010109036296,
        -0.01786809631826525,
    ),
}
# pi/2 in two parts of the dtype.
QUARTER_TURN = {
    "f32": (1.57079637050628662109375, -4.37113900018624283e-8),
    "f64": (1.5707963267948966, 6.123233995736766e-17),
}


def half_angle(x):
    """asin of `a` up to 1/2, else of sqrt((1 - a) / 2): where that is, its sine, and itself."""
    a = fabs(x)
    far = a > 0.5
    z = where(far, (1.0 - a) * 0.5, a * a)
    s = where(far, sqrt(z), a)
    return far, s, s * z * horner(z, ASIN[x.dtype])


def asin(x):
    """Arc sine; nan outside [-1, 1]."""
    high, low = QUARTER_TURN[x.dtype]
    far, s, rest = half_angle(x)
    complement = high - fma(s, 2.0, fma(rest, 2.0, -low))
    return copysign(where(far, complement, s + rest), x)


def acos(x):
    """Arc cosine; nan outside [-1, 1]."""
    high, low = QUARTER_TURN[x.dtype]
    far, s, rest = half_angle(x)
    y = (s + rest) * 2.0
    left = fma(s, -2.0, 2.0 * high) - fma(rest, 2.0, -2.0 * low)
    near = high - (copysign(s, x) - (low - copysign(rest, x)))
    return where(far, where(x < 0.0, left, y), near)


def arc(small, large):
    """atan(small / large) for 0 <= small <= large, by one division."""
    high, low = (part * 0.5 for part in QUARTER_TURN[small.dtype])
    far = small > large * 0.41421356
    t = where(far, small - large, small) / where(far, small + large, large)
    s = t * t
    rest = fma(horner(s, ATAN[small.dtype]), s * t, where(far, low, 0.0))
    return where(far, high, 0.0) + (t + rest)


def _quarter_turn_less(y):
    high, low = QUARTER_TURN[y.dtype]
    return high - (y - low)


def atan(x):
    """Arc tangent."""
    a = fabs(x)
    steep = a > 1.0
    y = arc(where(steep, 1.0, a), where(steep, a, 1.0))
    return copysign(where(steep, _quarter_turn_less(y), y), x)


def atan2(y, x):
    """Angle of the point (x, y), with the C library's values for zeros and infinities."""
    a, b = fabs(y), fabs(x)
    steep = a > b
    small, large = where(steep, b, a), where(steep, a, b)
    both_infinite = (a == INF) & (b == INF)
    scale = where(large > {"f32": 1e37, "f64": 1e307}[x.dtype], 0.0625, 1.0)
    small, large = small * scale, where(large == 0.0, 1.0, large * scale)
    angle = arc(where(both_infinite, 1.0, small), where(both_infinite, 1.0, large))
    angle = where(steep, _quarter_turn_less(angle), angle)
    high, low = QUARTER_TURN[x.dtype]
    angle = where(bits(x) < 0, 2.0 * high - (angle - 2.0 * low), angle)
    return copysign(angle, y)
