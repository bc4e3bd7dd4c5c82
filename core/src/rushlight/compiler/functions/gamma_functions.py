"""The gamma family: shifted upwards by a product, then the asymptotic series; in float64."""

from __future__ import annotations

import math

from rushlight.compiler.functions.algebra import INF, NAN, copysign, fabs, fma, horner, libm, whole
from rushlight.compiler.functions.exponentials import log
from rushlight.compiler.functions.trigonometry import sine_and_cosine_of_pi
from rushlight.compiler.graph import cast, constant
from rushlight.compiler.vocabulary import where

# Bernoulli numbers: of psi' and psi in 1/x**2, and of log gamma in 1/x.
TRIGAMMA = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def digamma(x):
    """psi(x) = psi(x + 10) - sum 1/(x + k), the sum as one fraction; reflection below 1/2.

    Pairs of terms share their numerator: 1/(x + k) + 1/(x + 9 - k) = (2 x + 9) / (q + k (9 - k))
    with q = x (x + 9); product and derivative of these factors give the sum with one division.
    """
    wide = cast(x, "f64")
    reflected = wide < 0.5
    z = where(reflected, 1.0 - wide, wide)
    small = z < 10.0
    q = z * (z + 9.0)
    product, derivative = q, constant(1.0, "f64")
    for k in range(1, 5):
        factor = q + float(k * (9 - k))
        derivative = fma(derivative, factor, product)
        product = product * factor
    total = where(small, fma(z, 2.0, 9.0) * derivative / product, 0.0)
    y = where(small, z + 10.0, z)
    inverse = 1.0 / y
    square = inverse * inverse
    value = log(y) - 0.5 * inverse - square * horner(square, DIGAMMA) - total
    sine, cosine = sine_and_cosine_of_pi(wide)
    value = where(reflected, value - math.pi * cosine / sine, value)
    pole = where(wide == 0.0, copysign(constant(-INF, "f64"), -wide), NAN)
    is_pole = (wide <= 0.0) & (whole("floor", wide) == wide)
    return cast(where(wide == INF, INF, where(is_pole, pole, value)), x.dtype)


def trigamma(x):
    """psi'(x) = psi'(x + 10) + sum 1/(x + k)**2; reflection below 1/2 (DLMF 5.15.6).

    Pairs of terms share their division: with p = (x + k) (x + 9 - k) and s = 2 x + 9 the sum of
    their squares' inverses is (s**2 - 2 p) / p**2.
    """
    wide = cast(x, "f64")
    reflected = wide < 0.5
    z = where(reflected, 1.0 - wide, wide)
    small = z < 10.0
    q, square = z * (z + 9.0), fma(z, 2.0, 9.0) * fma(z, 2.0, 9.0)
    total = constant(0.0, "f64")
    for k in range(5):
        product = q + float(k * (9 - k))
        total = total + fma(product, -2.0, square) / (product * product)
    y = where(small, z + 10.0, z)
    inverse = 1.0 / y
    second = inverse * inverse
    series = fma(second * horner(second, TRIGAMMA), inverse, fma(second, 0.5, inverse))
    value = where(small, series + total, series)
    sine, _ = sine_and_cosine_of_pi(wide)
    turned = math.pi / sine
    return cast(where(reflected, turned * turned - value, value), x.dtype)


def lgamma(x):
    """log |gamma(x)|: Stirling's series at x + 8, less the log of the product skipped.

    In float64 this serves float32 also at the zeros of the function; float64 itself takes the C
    library's, which has a polynomial for each of them.
    """
    if x.dtype == "f64":
        return libm("lgamma", x)
    wide = cast(x, "f64")
    reflected = wide < 0.5
    z = where(reflected, 1.0 - wide, wide)
    small = z < 8.0
    q = z * (z + 7.0)
    product = where(small, q * (q + 6.0) * ((q + 10.0) * (q + 12.0)), 1.0)
    y = where(small, z + 8.0, z)
    inverse = 1.0 / y
    series = inverse * horner(inverse * inverse, STIRLING)
    stirling = fma(y - 0.5, log(y), 0.9189385332046728 - y) + series
    sine, _ = sine_and_cosine_of_pi(wide)
    rest = log(where(reflected, product * math.pi / fabs(sine), product))
    value = where(reflected, rest - stirling, stirling - rest)
    return cast(where(fabs(wide) == INF, INF, value), "f32")
