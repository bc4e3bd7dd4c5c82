"""The normal distribution's functions, entropy, and products with logarithms."""

from __future__ import annotations

import functools
import math

from rushlight.compiler import xp
from rushlight.ops._table.domains import positive, probability, real
from rushlight.ops._table.op import elementwise
from rushlight.ops._table.rules import real_floating
from rushlight.ops.elementwise import chebyshev_tables as tables
from rushlight.ops.elementwise.chebyshev_tables import series
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.elementwise.exponential import exp, log, log1p
from rushlight.ops.elementwise.special_bessel import PLAIN, wide

_ROOT_HALF, _ROOT_2PI = math.sqrt(0.5), math.sqrt(2 * math.pi)


def _scaled_erfc(x):
    """``exp(x * x) * erfc(x)``, by one Chebyshev series for ``x >= 0`` (Shepherd and Laframboise,
    1981) and reflection."""
    size = xp.abs(x)
    t = xp.where(size == math.inf, 1.0, (size - 3.75) / (xp.minimum(size, 1e300) + 3.75))
    right = series(t, tables.ERFCX) / (1 + 2 * size)
    return xp.where(x < 0, 2 * xp.exp(x * x) - right, right)


@elementwise(domain=real, **PLAIN)
def special_erfcx(input):
    """``exp(input ** 2) * erfc(input)``, which does not underflow."""
    return _scaled_erfc(wide(input))


special_erfcx.gradient(
    input=lambda grad, input, out: grad * (2 * input * out - 2 / math.sqrt(math.pi))
)


@elementwise(domain=positive, **PLAIN)
def special_entr(input):
    """``-input * log(input)``; 0 at 0, minus infinity below."""
    value = xp.where(input == 0, 0.0, -input * xp.log(xp.where(input > 0, input, 1.0)))
    return xp.where(xp.isnan(input), input, xp.where(input < 0, -math.inf, value))


special_entr.gradient(input=lambda grad, input: grad * (-1 - log(input)))


@elementwise(domain=real, **PLAIN)
def special_ndtr(input):
    """The normal distribution function: the area left of `input`."""
    return 0.5 * xp.erfc(-wide(input) * _ROOT_HALF)


special_ndtr.gradient(input=lambda grad, input: grad * exp(-0.5 * input * input) / _ROOT_2PI)


def _log_ndtr(x):
    """The logarithm of the normal distribution function, without underflow on the left."""
    left = xp.minimum(x, 0.0)
    tail = xp.log(_scaled_erfc(-left * _ROOT_HALF) * 0.5) - left * left * 0.5
    return xp.where(x < -1, tail, xp.log1p(-0.5 * xp.erfc(xp.maximum(x, -1.0) * _ROOT_HALF)))


@elementwise(domain=real, **PLAIN)
def special_log_ndtr(input):
    """The logarithm of the normal distribution function."""
    x = wide(input)
    return xp.where(xp.isnan(x), x, _log_ndtr(x))


special_log_ndtr.gradient(
    input=lambda grad, input: grad * (2 / _ROOT_2PI) / special_erfcx(input * -_ROOT_HALF)
)


# Ratios of polynomials for quantiles, lowest power first: within 0.425 of one half, further out,
# and below exp(-25).
_CENTRE = (
    (
        *(3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427),
        *(13731.693765509461125, 45921.953931549871457, 67265.770927008700853),
        *(33430.575583588128105, 2509.0809287301226727),
    ),
    (
        *(1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077),
        *(21213.794301586595867, 39307.895800092710610, 28729.085735721942674),
        5226.4952788528545610,
    ),
)
_TAIL = (
    (
        *(1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550),
        *(3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770),
        *(0.0227238449892691845833, 7.74545014278341407640e-4),
    ),
    (
        *(1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550),
        *(0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4),
        1.05075007164441684324e-9,
    ),
)
_FAR = (
    (
        *(6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580),
        *(0.296560571828504891230, 0.0265321895265761230930, 1.24266094738807843860e-3),
        *(2.71155556874348757815e-5, 2.01033439929228813265e-7),
    ),
    (
        *(1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525),
        *(7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7),
        2.04426310338993978564e-15,
    ),
)


def _ratio(x, polynomials):
    above, below = (
        functools.reduce(lambda found, c: found * x + c, reversed(each)) for each in polynomials
    )
    return above / below


@elementwise(domain=probability, **PLAIN)
def special_ndtri(input):
    """The inverse of :func:`rushlight.special.ndtr`.

    By ratios of polynomials, to 16 digits (Wichura, Algorithm AS 241, Applied Statistics 37, 1988).
    """
    p = wide(input)
    inside = (p > 0) & (p < 1)
    shifted = xp.where(inside, p - 0.5, 0.0)
    centre = shifted * _ratio(0.180625 - shifted * shifted, _CENTRE)
    r = xp.sqrt(-xp.log(xp.where(inside, xp.minimum(p, 1 - p), 0.5)))
    tail = xp.where(r <= 5, _ratio(r - 1.6, _TAIL), _ratio(r - 5, _FAR))
    found = xp.where(xp.abs(shifted) <= 0.425, centre, xp.where(shifted < 0, -tail, tail))
    edge = xp.where(p == 0, -math.inf, xp.where(p == 1, math.inf, math.nan))
    return xp.where(inside, found, edge)


special_ndtri.gradient(input=lambda grad, out: grad * _ROOT_2PI * exp(0.5 * out * out))


@elementwise(
    rule=real_floating,
    method=False,
    inplace=False,
    oracle="_C._special",
    domain=positive,
    numbers=True,
)
def special_xlog1py(input, other):
    """``input * log1p(other)``, which is 0 where `input` is 0."""
    return xp.where(xp.isnan(other), math.nan, xp.where(input == 0, 0.0, input * xp.log1p(other)))


special_xlog1py.gradient(
    input=lambda grad, input, other: grad * where((input == 0) & (other <= -1), 0.0, log1p(other)),
    other=lambda grad, input, other: grad * input / (other + 1),
)
