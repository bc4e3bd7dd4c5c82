"""Error functions and the gamma family."""

from __future__ import annotations

import math

from rushlight.compiler.algebra import (
    INF,
    LN2,
    NAN,
    ROUND,
    bits,
    copysign,
    fabs,
    floats,
    fma,
    horner,
    libm,
    sqrt,
    whole,
)
from rushlight.compiler.exponentials import log, to_exponent
from rushlight.compiler.graph import cast, constant
from rushlight.compiler.trigonometry import cos, sin
from rushlight.compiler.vocabulary import where

# N. Juffa's erff (public posts): 1 - exp(-polynomial) beyond 475/512, odd polynomial below; < 1 ulp
# each. Here the tail is taken to base 2: the power is below 0.19 and subtracted from 1, so a short
# polynomial without a split ln 2 will do.
ERF_TAIL = (
    1.28717512e-1,
    6.34846687e-1,
    1.06777877e-1,
    -2.42546219e-2,
    3.88396438e-3,
    -3.83197126e-4,
    1.72853470e-5,
)
ERF_BASE2 = tuple(-(c + (j == 0)) / LN2 for j, c in enumerate(ERF_TAIL))
EXP2_SHORT = (6.93147e-01, 2.4022242e-01, 5.5507008e-02, 9.671497e-03, 1.3274068e-03)
ERF_HEAD = (
    1.28379166e-1,
    -3.76125336e-1,
    1.12819925e-1,
    -2.67681349e-2,
    4.99119423e-3,
    -5.96761703e-4,
)


def erf(x):
    """Error function: below 1.5 units in the last place in float32."""
    if x.dtype == "f64":
        return libm("erf", x)
    a, s = fabs(x), x * x
    t = where(a > 4.25, 4.25, a)
    exponent = t * horner(t, ERF_BASE2)
    shifted = exponent + ROUND["f32"]
    r = exponent - (shifted - ROUND["f32"])
    power = floats(bits(fma(horner(r, EXP2_SHORT), r, 1.0)) + to_exponent(shifted))
    near = fma(horner(s, ERF_HEAD), x, x)
    return where(a > 0.927734375, copysign(1.0 - power, x), near)


# M. Giles, "Approximating the erfinv function" (2010): one polynomial in w = -log(1 - x*x) for the
# middle, one in sqrt(w) for the tails; single precision.
ERFINV_MIDDLE = (
    1.50140941,
    0.246640727,
    -0.00417768164,
    -0.00125372503,
    0.000218580870,
    -4.39150654e-06,
    -3.52338770e-06,
    3.43273939e-07,
    2.81022636e-08,
)
ERFINV_TAIL = (
    2.83297682,
    1.00167406,
    0.00943887047,
    -0.0076224613,
    0.00573950773,
    -0.00367342844,
    0.00134934322,
    0.000100950558,
    -0.000200214257,
)
# M. Wichura, algorithm AS 241 (PPND16): rational approximations of the normal quantile.
QUANTILE = (
    (
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
    (
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
    (
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ),
    (
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)


def erfinv(x):
    """Inverse error function; the infinities at -1 and 1, nan outside."""
    a = fabs(x)
    if x.dtype == "f32":
        w = -log((1.0 - x) * (1.0 + x))
        far = w >= 5.0
        t = where(far, sqrt(w) - 3.0, w - 2.5)
        y = where(far, horner(t, ERFINV_TAIL), horner(t, ERFINV_MIDDLE)) * x
    else:
        r = fma(x, x * -0.25, 0.180625)
        middle = 0.5 * x * horner(r, QUANTILE[0]) / horner(r, QUANTILE[1])
        s = sqrt(-log(0.5 * (1.0 - a)))
        near = s <= 5.0
        t = where(near, s - 1.6, s - 5.0)
        numerator = where(near, horner(t, QUANTILE[2]), horner(t, QUANTILE[4]))
        denominator = where(near, horner(t, QUANTILE[3]), horner(t, QUANTILE[5]))
        tail = copysign(numerator / denominator, x)
        y = where(a <= 0.85, middle, tail) * math.sqrt(0.5)
    edge = where(a == 1.0, copysign(constant(INF, x.dtype), x), NAN)
    return where(x == 0.0, x, where(a < 1.0, y, edge))


# Bernoulli numbers over 2k: the asymptotic series of digamma in 1/x**2.
DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def digamma(x):
    """Reflection below 1/2, the recurrence taken as one rational step, then the series; in float64.

    ``psi(x) = psi(x + 8) - sum 1/(x + k)``; the eight fractions are added in pairs with one
    division for each four.
    """
    wide = cast(x, "f64")
    reflected = wide < 0.5
    z = where(reflected, 1.0 - wide, wide)
    small = z < 10.0
    total = constant(0.0, "f64")
    for k in range(0, 10, 2):  # 1/a + 1/b = (a + b) / (a b)
        a, b = z + float(k), z + float(k + 1)
        total = total + (a + b) / (a * b)
    y = where(small, z + 10.0, z)
    inverse = 1.0 / y
    square = inverse * inverse
    series = log(y) - 0.5 * inverse - square * horner(square, DIGAMMA)
    value = where(small, series - total, series)
    fraction = (wide - whole("round", wide)) * math.pi
    value = where(reflected, value - math.pi * cos(fraction) / sin(fraction), value)
    pole = where(wide == 0.0, copysign(constant(-INF, "f64"), -wide), NAN)
    is_pole = (wide <= 0.0) & (whole("floor", wide) == wide)
    return cast(where(wide == INF, INF, where(is_pole, pole, value)), x.dtype)
