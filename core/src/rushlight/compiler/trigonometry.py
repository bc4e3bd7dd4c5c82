"""sin and cos: three-part reduction in float64, fdlibm's polynomials in float64."""

from __future__ import annotations

import math

from rushlight.compiler.algebra import (
    ROUND,
    bits,
    fabs,
    floats,
    fma,
    horner,
    repair,
    shift,
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
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)


def quadrant(x):
    """x = n pi/2 + r, in float64 even for float32: exact enough up to 2**40 (f32), 2**20 (f64)."""
    wide = cast(x, "f64")
    shifted = fma(wide, 2 / math.pi, ROUND["f64"])
    n = shifted - ROUND["f64"]
    r = wide
    for part in HALF_PI[: 2 if x.dtype == "f32" else 3]:
        r = fma(n, -part, r)
    count = bits(shifted)
    return cast(r, x.dtype), cast(count, "i32") if x.dtype == "f32" else count


def sine_like(x, turn, name):
    """sin(x + turn pi/2); arguments beyond the reduction's range go to the C library."""
    r, n = quadrant(x)
    n = n + turn if turn else n
    s = r * r
    sine = fma(horner(s, SIN[x.dtype]), s * r, r)
    cosine = fma(horner(s, COS[x.dtype]), s * s, fma(s, -0.5, 1.0))
    y = where((n & 1) != 0, cosine, sine)
    y = floats(bits(y) ^ shift(n & 2, 30 if x.dtype == "f32" else 62))
    limit = 2.0**40 if x.dtype == "f32" else 2.0**20
    return repair(y, ~(fabs(x) < limit), name, x)


def sin(x):
    """Sine, below 1.6 units in the last place."""
    y = sine_like(x, 0, "sinf" if x.dtype == "f32" else "sin")
    return where(x == 0.0, x, y)  # -0.0


def cos(x):
    """Cosine, below 1.6 units in the last place."""
    return sine_like(x, 1, "cosf" if x.dtype == "f32" else "cos")
