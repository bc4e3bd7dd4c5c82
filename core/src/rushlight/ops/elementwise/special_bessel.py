"""Bessel functions of the first and second kind, modified and scaled ones, Airy's function.

Near zero a Chebyshev series, far from it one of the amplitude beside the leading asymptotic term
(DLMF 10.17, 10.40, 9.7); everything is computed in float64.
"""

from __future__ import annotations

import math

from rushlight.compiler import xp
from rushlight.ops._table.domains import positive, real
from rushlight.ops._table.op import composite, elementwise
from rushlight.ops._table.rules import real_floating
from rushlight.ops.elementwise import chebyshev_tables as tables
from rushlight.ops.elementwise.arithmetic import sign
from rushlight.ops.elementwise.chebyshev_tables import series
from rushlight.ops.elementwise.comparison import where
from rushlight.tensor.tensor import Tensor

_ROOT_HALF = math.sqrt(0.5)
_LOOSE = 2e-5  # the oracle's own error in float64; SciPy is the closer one, in the tests

PLAIN = {
    "rule": real_floating,
    "method": False,
    "inplace": False,
    "oracle": "_C._special",
    "sweep": (0, 2),
}


def wide(input):
    """A body's argument in float64."""
    return xp.cast(input, "f64")


# ----------------------------------------------------------------------------- the oscillating ones
def _oscillation(x, order):
    """``(cosine, sine, P, Q, scale)`` of ``x > 8``: J = scale (P cosine - Q sine)."""
    inverse = 8.0 / x
    square = 2 * inverse * inverse - 1
    cosine, sine = xp.cos(x), xp.sin(x)
    if order == 0:
        cosine, sine = (cosine + sine) * _ROOT_HALF, (sine - cosine) * _ROOT_HALF
        amplitude, other = series(square, tables.P0), series(square, tables.Q0)
    else:
        cosine, sine = (sine - cosine) * _ROOT_HALF, -(cosine + sine) * _ROOT_HALF
        amplitude, other = series(square, tables.P1), series(square, tables.Q1)
    return cosine, sine, amplitude, other * inverse, xp.sqrt(2 / (math.pi * x))


def _first_kind(x, order):
    """J of ``x >= 0``."""
    near = xp.minimum(x, 8.0)
    square = near * near / 32 - 1
    inside = series(square, tables.J0) if order == 0 else near * series(square, tables.J1)
    cosine, sine, amplitude, other, scale = _oscillation(xp.maximum(x, 8.0), order)
    outside = scale * (amplitude * cosine - other * sine)
    return xp.where(x <= 8, inside, outside)


def _second_kind(input, order):
    """Y; minus infinity at 0, nan below."""
    x = wide(input)
    near = xp.maximum(xp.minimum(x, 8.0), 1e-300)
    square, logarithm = near * near / 32 - 1, xp.log(near)
    if order == 0:
        inside = series(square, tables.Y0) + 2 / math.pi * logarithm * series(square, tables.J0)
    else:
        product = logarithm * near * series(square, tables.J1)
        inside = near * series(square, tables.Y1) + 2 / math.pi * (product - 1 / near)
    cosine, sine, amplitude, other, scale = _oscillation(xp.maximum(x, 8.0), order)
    outside = scale * (amplitude * sine + other * cosine)
    found = xp.where(x <= 8, inside, outside)
    return xp.where(x > 0, found, xp.where(x == 0, -math.inf, math.nan))


@elementwise(domain=(-20.0, 20.0), rtol=_LOOSE, **PLAIN)
def special_bessel_j0(input):
    """The Bessel function of the first kind of order 0."""
    x = xp.abs(wide(input))
    return xp.where(xp.isnan(x), x, _first_kind(x, 0))


@elementwise(domain=(-20.0, 20.0), rtol=_LOOSE, **PLAIN)
def special_bessel_j1(input):
    """The Bessel function of the first kind of order 1."""
    x = wide(input)
    found = _first_kind(xp.abs(x), 1)
    return xp.where(xp.isnan(x), x, xp.where(x < 0, -found, found))


@elementwise(domain=(0.1, 20.0), rtol=_LOOSE, **PLAIN)
def special_bessel_y0(input):
    """The Bessel function of the second kind of order 0."""
    return _second_kind(input, 0)


@elementwise(domain=(0.1, 20.0), rtol=_LOOSE, **PLAIN)
def special_bessel_y1(input):
    """The Bessel function of the second kind of order 1."""
    return _second_kind(input, 1)


@elementwise(schemas=("special_spherical_bessel_j0(Tensor x) -> Tensor",), domain=real, **PLAIN)
def special_spherical_bessel_j0(input):
    """The spherical Bessel function of order 0, ``sin(x) / x``."""
    x = wide(input)
    safe = xp.where(x == 0, 1.0, x)
    found = xp.where(x == 0, 1.0, xp.sin(safe) / safe)
    return xp.where(xp.isinf(x), 0.0, found)


# -------------------------------------------------------------------------------- the modified ones
def _scaled_i(x, order):
    """``exp(-x) I(x)`` of ``x >= 0``."""
    near, far = xp.minimum(x, 8.0), xp.maximum(x, 8.0)
    if order == 0:
        inside, tail = series(near / 4 - 1, tables.I0), tables.I0_FAR
    else:
        inside, tail = near * series(near / 4 - 1, tables.I1), tables.I1_FAR
    found = xp.where(x <= 8, inside, series(16 / far - 1, tail) / xp.sqrt(far))
    return xp.where(xp.isnan(x), x, found)


def _scaled_k(x, order):
    """``exp(x) K(x)``; infinity at 0, nan below."""
    near, far = xp.maximum(xp.minimum(x, 2.0), 1e-300), xp.maximum(x, 2.0)
    square, logarithm = near * near / 2 - 1, xp.log(near / 2)
    grown = xp.exp(near)
    if order == 0:
        inside = series(square, tables.K0) - logarithm * _scaled_i(near, 0) * grown
        tail = tables.K0_FAR
    else:
        inside = series(square, tables.K1) / near + logarithm * _scaled_i(near, 1) * grown
        tail = tables.K1_FAR
    found = xp.where(x <= 2, inside * grown, series(4 / far - 1, tail) / xp.sqrt(far))
    return xp.where(x > 0, found, xp.where(x == 0, math.inf, math.nan))


@elementwise(rule=real_floating, domain=real, sweep=(0, 2))
def i0(input):
    """The modified Bessel function of the first kind of order 0."""
    x = xp.abs(wide(input))
    return _scaled_i(x, 0) * xp.exp(x)


@elementwise(domain=real, **PLAIN)
def special_i0e(input):
    """``exp(-|input|)`` times :func:`rushlight.special.i0`."""
    return _scaled_i(xp.abs(wide(input)), 0)


@elementwise(domain=real, **PLAIN)
def special_i1(input):
    """The modified Bessel function of the first kind of order 1."""
    x = wide(input)
    found = _scaled_i(xp.abs(x), 1) * xp.exp(xp.abs(x))
    return xp.where(x < 0, -found, found)


@elementwise(domain=real, **PLAIN)
def special_i1e(input):
    """``exp(-|input|)`` times :func:`rushlight.special.i1`."""
    x = wide(input)
    found = _scaled_i(xp.abs(x), 1)
    return xp.where(x < 0, -found, found)


def _over(value, input):
    """``value / input``, 1/2 at 0: the limit of I1(x) / x."""
    return where(input == 0, 0.5, value / where(input == 0, 1.0, input))


i0.gradient(input=lambda grad, input: grad * special_i1(input))
special_i0e.gradient(input=lambda grad, input, out: grad * (special_i1e(input) - sign(input) * out))
special_i1.gradient(input=lambda grad, input, out: grad * (i0(input) - _over(out, input)))
special_i1e.gradient(
    input=lambda grad, input, out: (
        grad * (special_i0e(input) - sign(input) * out - _over(out, input))
    )
)


# Differentiable here, not in PyTorch.
@composite(differs=("gradient",), method=False, oracle="_C._special", samples="unary")
def special_modified_bessel_i0(input: Tensor):
    """The modified Bessel function of the first kind of order 0."""
    return i0(input)


# Differentiable here, not in PyTorch.
@composite(differs=("gradient",), method=False, oracle="_C._special", samples="unary")
def special_modified_bessel_i1(input: Tensor):
    """The modified Bessel function of the first kind of order 1."""
    return special_i1(input)


@elementwise(domain=positive, **PLAIN)
def special_modified_bessel_k0(input):
    """The modified Bessel function of the second kind of order 0."""
    x = wide(input)
    return _scaled_k(x, 0) * xp.exp(-x)


@elementwise(domain=positive, **PLAIN)
def special_modified_bessel_k1(input):
    """The modified Bessel function of the second kind of order 1."""
    x = wide(input)
    return _scaled_k(x, 1) * xp.exp(-x)


@elementwise(
    schemas=("special_scaled_modified_bessel_k0(Tensor x) -> Tensor",), domain=positive, **PLAIN
)
def special_scaled_modified_bessel_k0(input):
    """``exp(input)`` times the modified Bessel function of the second kind of order 0."""
    return _scaled_k(wide(input), 0)


@elementwise(
    schemas=("special_scaled_modified_bessel_k1(Tensor x) -> Tensor",), domain=positive, **PLAIN
)
def special_scaled_modified_bessel_k1(input):
    """``exp(input)`` times the modified Bessel function of the second kind of order 1."""
    return _scaled_k(wide(input), 1)


# ---------------------------------------------------------------------------------- Airy's function
@elementwise(schemas=("special_airy_ai(Tensor x) -> Tensor",), domain=real, rtol=_LOOSE, **PLAIN)
def special_airy_ai(input):
    """Airy's function Ai."""
    x = wide(input)
    middle = series((xp.minimum(xp.maximum(x, -4.0), 2.0) + 1) / 3, tables.AI)
    far = xp.maximum(xp.abs(x), 2.0)
    quarter = xp.sqrt(xp.sqrt(far))
    s = 2 / 3 * far * xp.sqrt(far)
    right = series(2 * (_S2 / s) - 1, tables.AI_RIGHT) * xp.exp(-s) / (2 * _ROOT_PI * quarter)
    inverse = xp.minimum(16 / 3 / s, 1.0)
    square = 2 * inverse * inverse - 1
    wave = xp.sin(s + math.pi / 4) * series(square, tables.AI_SINE)
    wave = wave - xp.cos(s + math.pi / 4) * inverse * series(square, tables.AI_COSINE)
    left = wave / (_ROOT_PI * quarter)
    found = xp.where(x > 2, right, xp.where(x < -4, left, middle))
    return xp.where(xp.isinf(x) | xp.isnan(x), math.nan, found)


_ROOT_PI = math.sqrt(math.pi)
_S2 = 2 / 3 * 2**1.5
