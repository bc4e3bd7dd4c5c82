"""Error functions and their inverse.

Polynomials are minimax fits in 50 digits where no source is named.
"""

from __future__ import annotations

import math

from rushlight.compiler.functions.algebra import (
    INF,
    LN2,
    NAN,
    ROUND,
    bits,
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
    exp_moderate,
    integer,
    log,
    reduce_exp_of,
    to_exponent,
)
from rushlight.compiler.graph import constant
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


ERF_HEAD_F64 = (
    0.12837916709551256,
    -0.3761263890318334,
    0.11283791670936483,
    -0.026866170641841727,
    0.005223977595388796,
    -0.0008548325400604304,
    0.00012055277341032574,
    -1.4924392199771838e-05,
    1.6443078299823418e-06,
    -1.617444931762717e-07,
    1.3569433809794353e-08,
    -7.507963399370944e-10,
)
# -log(erfc(3 + t)), weighted by erfc / erf.
ERF_TAIL_F64 = (
    10.720363041980786,
    6.303753689007126,
    0.9573942188496379,
    0.007411891897562404,
    -0.0013533106820200226,
    0.00024569092517592585,
    -4.3083069482178834e-05,
    7.116692735848189e-06,
    -1.0654056573956036e-06,
    1.390748979682446e-07,
    -1.2465997921614377e-08,
    -3.631091393001501e-09,
    -1.2271322421814615e-09,
    -3.195560233263625e-10,
    4.680360967922927e-10,
    2.4358478143174024e-10,
    6.530976209044533e-11,
    6.407476247193195e-12,
)


def erf(x):
    """Error function: an odd polynomial near zero, 1 - exp(-polynomial) in the tail."""
    a, s = fabs(x), x * x
    if x.dtype == "f64":
        t = clamp(a, 0.0, 5.95) - 3.0
        tail = exp_moderate(-horner(t, ERF_TAIL_F64))
        near = fma(horner(s, ERF_HEAD_F64), x, x)
        return where(a > 0.95, copysign(1.0 - tail, x), near)
    t = where(a > 4.25, 4.25, a)
    exponent = t * horner(t, ERF_BASE2)
    shifted = exponent + ROUND["f32"]
    r = exponent - (shifted - ROUND["f32"])
    power = floats(bits(fma(horner(r, EXP2_SHORT), r, 1.0)) + to_exponent(shifted))
    near = fma(horner(s, ERF_HEAD), x, x)
    return where(a > 0.927734375, copysign(1.0 - power, x), near)


# (1 + 2 a) exp(a*a) erfc(a) in q = (a - c) / (a + c), after N. Juffa: c = 2 and 4.
ERFC = {
    "f32": (
        1.27697837,
        -0.0927640423,
        -0.166030899,
        0.16405654,
        -0.0542074926,
        -0.008066101,
        0.00863745529,
        0.00132456329,
        -0.00123182242,
        -0.000405345345,
    ),
    "f64": (
        1.2329951186255526,
        -0.1396211168405629,
        0.015379652102605203,
        0.06809705425473365,
        -0.10103906603552852,
        0.09373283499707585,
        -0.066330365828506,
        0.03716751555426576,
        -0.01619773388107126,
        0.005031969869362197,
        -0.0007577744126563899,
        -0.00019925636027034004,
        0.00015062613573421112,
        -2.439940477701543e-05,
        -1.1233332952122572e-05,
        5.707850147786809e-06,
        3.119528758084077e-07,
        -8.192643333829175e-07,
        5.705435497180642e-08,
        1.0157830555622359e-07,
        -8.792346420539503e-09,
        -8.645885202095556e-09,
    ),
}


def erfc_ratio(q, a):
    """exp(a*a) erfc(a), and what its rounding took away."""
    first, *others = ERFC[a.dtype]
    further = horner(q, others)
    above, below = fma(q, further, first), fma(a, 2.0, 1.0)
    inverse = 1.0 / below
    ratio = above * inverse
    lack = fma(q, further, first - above) - ratio * (fma(a, 2.0, -below) + 1.0)
    return ratio, (fma(-ratio, below, above) + lack) * inverse


def erfc(x):
    """1 - erf(x) without cancellation: exp(-a*a) with the square's rounding error put back."""
    center, last = {"f32": (2.0, 10.1), "f64": (4.0, 27.3)}[x.dtype]
    a = clamp(fabs(x), 0.0, last)
    ratio, lack = erfc_ratio((a - center) / (a + center), a)
    square = a * a
    r, rest, shifted = reduce_exp_of(-square, fma(a, -a, square))
    further = fma(horner(r, EXP[x.dtype]), r * r, rest)  # exp(r) - 1 - r
    y = ldexp(ratio + fma(ratio, r, fma(ratio, further, fma(lack, r, lack))), integer(shifted))
    y = where(x < 0.0, 2.0 - y, where(fabs(x) > last, 0.0, y))
    if x.dtype == "f64":
        return y
    near = fma(horner(x * x, ERF_HEAD), x, x)  # nothing cancels while erf(x) is below a half
    return where((x > -0.9) & (x < 0.47), 1.0 - near, y)


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
