"""The normal distribution's functions, entropy, and products with logarithms."""

from __future__ import annotations

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


@elementwise(domain=probability, **PLAIN)
def special_ndtri(input):
    """The inverse of :func:`rushlight.special.ndtr`.

    The centre by the inverse error function; the tails by Newton's method on the logarithm, from
    formula 26.2.23 of Abramowitz and Stegun.
    """
    p = wide(input)
    inside = (p > 0) & (p < 1)
    small = xp.where(inside, xp.minimum(p, 1 - p), 0.5)
    centre = xp.erfinv(2 * xp.where(inside, p, 0.5) - 1) * math.sqrt(2)
    tail = xp.minimum(small, 0.1)
    target = xp.log(tail)
    t = xp.sqrt(-2 * target)
    numerator = 2.515517 + t * (0.802853 + t * 0.010328)
    x = numerator / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t
    for _ in range(3):
        slope = (2 / _ROOT_2PI) / _scaled_erfc(-x * _ROOT_HALF)
        x = x - (_log_ndtr(x) - target) / slope
    found = xp.where(small < 0.1, xp.where(p < 0.5, x, -x), centre)
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
