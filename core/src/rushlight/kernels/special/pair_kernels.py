"""Compiled loops behind :mod:`rushlight.kernels.special.pairs`. Import at first need.

An item is an element. The formulas stand at the ops' definitions on arrays, with their sources.
"""

from __future__ import annotations

import math

from rushlight.machine.language.functions import (
    Chosen,
    External,
    Parameter,
    absolute,
    array,
    bitcast,
    f64,
    floor,
    function,
    i64,
    infinity,
    maximum,
    quiet_nan,
    range_kernel,
    square_root,
)

which = Parameter("which")  # the function: its number among FUNCTIONS
# Argument words: results, first and second operands, the bits of a limit.
OUT, FIRST, SECOND, LIMIT = range(1, 5)

_ONE = (f64,)
exp, log, log1p = (
    External("exp", f64, _ONE),
    External("log", f64, _ONE),
    External("log1p", f64, _ONE),
)
expm1, erfc = External("expm1", f64, _ONE), External("erfc", f64, _ONE)
lgamma = External("lgamma", f64, _ONE)
cos, sin, acos = External("cos", f64, _ONE), External("sin", f64, _ONE), External("acos", f64, _ONE)
TINY, HUGE, MOST_TERMS = 1e-300, 1e300, 100_000
PI, EULER = math.pi, 0.5772156649015329
# Coefficients of Stirling's series for log gamma, and of Temme's expansion at the middle.
S1, S2, S3, S4, S5, S6 = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
T1, T2, T3, T4, T5, T6, T7 = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -1 / 540, -1 / 288)


# --------------------------------------------------------------------------------- incomplete gamma
@function(fused=False)
def prefactor(a, x):
    """``x**a exp(-x) / gamma(a + 1)``."""
    if a < 20:
        return exp(a * log(x) - x - lgamma(a + 1))
    ratio = (x - a) / a
    inverse = 1 / a
    square = inverse * inverse
    correction = S3 + square * (S4 + square * (S5 + square * S6))
    correction = inverse * (S1 + square * (S2 + square * correction))
    exponent = a * (log1p(maximum(ratio, f64(-1))) - ratio)
    return exp(exponent - correction) / square_root(2 * PI * a)


@function(fused=False)
def lower_series(a, x, precision):
    """``P(a, x) / prefactor`` as a power series."""
    term, total, n = f64(1), f64(1), a
    for _ in range(MOST_TERMS):
        n += 1
        term = term * (x / n)
        total += term
        if not absolute(term) > absolute(total) * precision * 0.25:
            break
    return total


@function(fused=False)
def away_from_zero(x):
    """A divisor."""
    return f64(TINY) if absolute(x) < TINY else x


@function(fused=False)
def upper_fraction(a, x, precision):
    """``Q(a, x) gamma(a) / (x**a exp(-x))`` as a continued fraction."""
    b = x + 1 - a
    c, d = f64(HUGE), 1 / (f64(TINY) if b == 0 else b)
    found = d
    for i in range(1, MOST_TERMS):
        an = -f64(i) * (f64(i) - a)
        b += 2
        d = 1 / away_from_zero(an * d + b)
        c = away_from_zero(b + an / c)
        step = d * c
        found = found * step
        if not absolute(step - 1) > 3 * precision:
            break
    return found


@function(fused=False)
def upper_small(a, x):
    """Q for ``x <= 1.1``."""
    scaled = a * log(x)
    near_one = a * (a * PI * PI / 12 - EULER) if a < 1e-5 else lgamma(1 + a)
    total, term = f64(0), f64(1)
    for i in range(1, 40):
        n = f64(i)
        term = term * (-x / n)
        total += term / (a + n)
    return -expm1(scaled - near_one) - exp(scaled - near_one) * a * total


@function(fused=False)
def uniform(a, x, upper):
    """P or Q of large arguments near each other."""
    apart = (x - a) / a
    eta = square_root(2 * maximum(apart - log1p(apart), f64(0)))
    eta = -eta if apart < 0 else eta
    first = T1 + eta * (T2 + eta * (T3 + eta * (T4 + eta * T5)))
    second = T6 + T7 * eta
    if not absolute(eta) < 1e-2:
        first = 1 / apart - 1 / eta
        second = 1 / (eta * eta * eta) - 1 / (apart * apart * apart)
        second = second - 1 / (apart * apart) - 1 / (12 * apart)
    rest = exp(-0.5 * a * eta * eta) / square_root(2 * PI * a) * (first + second / a)
    root = eta * square_root(0.5 * a)
    return 0.5 * erfc(root) + rest if upper == 1 else 0.5 * erfc(-root) - rest


@function(fused=False)
def inside(a, x, precision, upper):
    """P or Q of finite positive arguments; the smaller one is computed."""
    if a > 1e5 and absolute(x - a) < 0.3 * a:
        return uniform(a, x, upper)
    if x <= a + 1:
        if upper == 1 and x <= 1.1:
            return upper_small(a, x)
        p = prefactor(a, x) * lower_series(a, x, precision)
        return 1 - p if upper == 1 else p
    q = prefactor(a, x) * a * upper_fraction(a, x, precision)
    return q if upper == 1 else 1 - q


@function(fused=False)
def incomplete(a, x, precision, upper):
    """The regularized incomplete gamma functions, their edges included."""
    most = infinity(f64)
    if a > 0 and x > 0 and a < most and x < most:
        return inside(a, x, precision, upper)
    lower = quiet_nan(f64)
    if not (a < 0 or x < 0):
        if x == most and a != 0 and a != most:
            lower = f64(1)
        elif (a == most and x != most) or (a != 0 and x == 0):
            lower = f64(0)
        elif a == 0 and x > 0:
            lower = f64(1)
    return 1 - lower if upper == 1 else lower


@function(fused=False)
def lower(a, x, precision):
    """P(a, x)."""
    return incomplete(a, x, precision, 0)


@function(fused=False)
def upper(a, x, precision):
    """Q(a, x)."""
    return incomplete(a, x, precision, 1)


# --------------------------------------------------------------------------- orthogonal polynomials
CHEBYSHEV, HERMITE_H, HERMITE_HE, LAGUERRE, LEGENDRE = range(5)


@function(fused=False)
def next_degree(family, k, x, here, before):
    """The polynomial of degree k + 1 from those of k and k - 1."""
    if family == CHEBYSHEV:
        return 2 * x * here - before
    if family == HERMITE_H:
        return 2 * x * here - 2 * k * before
    if family == HERMITE_HE:
        return x * here - k * before
    if family == LAGUERRE:
        return ((2 * k + 1 - x) * here - k * before) / (k + 1)
    return ((2 * k + 1) * x * here - k * before) / (k + 1)


@function(fused=False)
def climbed(family, x, n, one):
    """The polynomial of degree n, where that of degree 1 is `one`; 0 below 0, and for degrees
    beyond 64-bit integers."""
    if not absolute(n) < 9223372036854775808.0 or n < 0:
        return f64(0)
    if n == 0:
        return f64(1)
    before, here, degree = f64(1), one, f64(1)
    while degree < n and here == here:
        following = next_degree(family, degree, x, here, before)
        before = here
        here = following
        degree += 1
    return here


@function(fused=False)
def whole(n):
    """A number without its fraction."""
    return -floor(-n) if n < 0 else floor(n)


@function(fused=False)
def is_even(n):
    """Whether a whole number is."""
    half = n * 0.5
    return half - floor(half) == 0  # which infinity is not


@function(fused=False)
def first_kind(x, degree, limit):
    """Chebyshev's T."""
    n = whole(degree)
    if absolute(x) < 1 and n > 6:
        return cos(n * acos(x))
    if absolute(x) == 1 and n >= 0:
        return f64(1) if x > 0 or is_even(n) else f64(-1)
    return climbed(CHEBYSHEV, x, n, x)


@function(fused=False)
def second_kind(x, degree, limit):
    """Chebyshev's U."""
    n = whole(degree)
    if absolute(x) < 1 and n > 8:
        angle = acos(x)
        return sin((n + 1) * angle) / sin(angle)
    if absolute(x) == 1 and n >= 0:
        return n + 1 if x > 0 or is_even(n) else -(n + 1)
    return climbed(CHEBYSHEV, x, n, 2 * x)


@function(fused=False)
def third_kind(x, degree, limit):
    """Chebyshev's V."""
    n = whole(degree)
    if absolute(x) < 1 and n > 8:
        angle = acos(x)
        return cos((n + 0.5) * angle) / cos(angle * 0.5)
    if absolute(x) == 1 and n >= 0:
        if x > 0:
            return f64(1)
        return 2 * n + 1 if is_even(n) else -(2 * n + 1)
    return climbed(CHEBYSHEV, x, n, 2 * x - 1)


@function(fused=False)
def fourth_kind(x, degree, limit):
    """Chebyshev's W."""
    n = whole(degree)
    if absolute(x) < 1 and n > 8:
        angle = acos(x)
        return sin((n + 0.5) * angle) / sin(angle * 0.5)
    if absolute(x) == 1 and n >= 0:
        if x > 0:
            return 2 * n + 1
        return f64(1) if is_even(n) else f64(-1)
    return climbed(CHEBYSHEV, x, n, 2 * x + 1)


@function(fused=False)
def shifted_first_kind(x, degree, limit):
    """T at ``2 x - 1``."""
    return first_kind(2 * x - 1, degree, limit)


@function(fused=False)
def shifted_second_kind(x, degree, limit):
    """U at ``2 x - 1``."""
    return second_kind(2 * x - 1, degree, limit)


@function(fused=False)
def shifted_third_kind(x, degree, limit):
    """V at ``2 x - 1``."""
    return third_kind(2 * x - 1, degree, limit)


@function(fused=False)
def shifted_fourth_kind(x, degree, limit):
    """W at ``2 x - 1``."""
    return fourth_kind(2 * x - 1, degree, limit)


@function(fused=False)
def physicists(x, degree, limit):
    """Hermite's H; not a number for degrees above the limit."""
    n = whole(degree)
    if n > limit and n < 9223372036854775808.0:
        return quiet_nan(f64)
    return climbed(HERMITE_H, x, n, 2 * x)


@function(fused=False)
def probabilists(x, degree, limit):
    """Hermite's He; not a number for degrees above the limit."""
    n = whole(degree)
    if n > limit and n < 9223372036854775808.0:
        return quiet_nan(f64)
    return climbed(HERMITE_HE, x, n, x)


@function(fused=False)
def laguerre(x, degree, limit):
    """Laguerre's L."""
    return climbed(LAGUERRE, x, whole(degree), 1 - x)


@function(fused=False)
def legendre(x, degree, limit):
    """Legendre's P."""
    return climbed(LEGENDRE, x, whole(degree), x)


FUNCTIONS = {
    "igamma": lower,
    "igammac": upper,
    "chebyshev_polynomial_t": first_kind,
    "chebyshev_polynomial_u": second_kind,
    "chebyshev_polynomial_v": third_kind,
    "chebyshev_polynomial_w": fourth_kind,
    "shifted_chebyshev_polynomial_t": shifted_first_kind,
    "shifted_chebyshev_polynomial_u": shifted_second_kind,
    "shifted_chebyshev_polynomial_v": shifted_third_kind,
    "shifted_chebyshev_polynomial_w": shifted_fourth_kind,
    "hermite_polynomial_h": physicists,
    "hermite_polynomial_he": probabilists,
    "laguerre_polynomial_l": laguerre,
    "legendre_polynomial_p": legendre,
}
chosen = Chosen(which, dict(enumerate(FUNCTIONS.values())))


@range_kernel(fused=False)
def pairs(args, lo, hi, tid):
    """The chosen function of pairs of elements."""
    g = array(i64, args)
    out, first, second = array(f64, g[OUT]), array(f64, g[FIRST]), array(f64, g[SECOND])
    limit = bitcast(f64, g[LIMIT])
    for i in range(lo, hi):
        out[i] = chosen(first[i], second[i], limit)
