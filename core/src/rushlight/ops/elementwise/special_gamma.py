"""Incomplete gamma functions, the Hurwitz zeta function, polygamma, multivariate log gamma."""

from __future__ import annotations

import functools
import math

from rushlight import dtypes
from rushlight.compiler import compile_kernel, xp
from rushlight.errors import argument_error
from rushlight.kernels.special.pairs import compiled_pair
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.domains import above_one
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.rules import number_dtype, real_floating, result_type
from rushlight.ops._table.shape_rules import paired
from rushlight.ops.creation.tensors import arange, scalar_tensor
from rushlight.ops.elementwise.exponential import exp, lgamma, log, polygamma
from rushlight.ops.elementwise.floating_point import broadcast_pair
from rushlight.tensor.tensor import Tensor, add_methods

_EPSILON = np.finfo(np.float64).eps


def pair_of_tensors(name, names, first, second):
    """Two operands, either a number, as tensors: a number becomes 0-d in the promoted dtype."""
    values = (first, second)
    tensors = [v for v in values if isinstance(v, Tensor)]
    numbers = [v for v in values if not isinstance(v, Tensor)]
    for word, value in zip(names, values, strict=True):
        if not isinstance(value, Tensor) and number_dtype(value) is None:
            raise argument_error(name, word, "Tensor or Number", value)
    if not tensors:
        raise argument_error(name, names[0], "Tensor", first)
    dtype = result_type(tensors, numbers)
    device = tensors[0]._device
    return [
        v if isinstance(v, Tensor) else scalar_tensor(v, dtype=dtype, device=device) for v in values
    ]


def in_double(name, function, limits=None):
    """A body on two arrays: broadcast, computed in float64, returned in the operands' dtype.

    `limits`: a third argument of the function, by the bytes of an operand (4 or fewer, 8).
    """
    run = broadcast_pair(np.broadcast_arrays, name)

    def body(first, second):
        a, b = run(first, second)
        limit = () if limits is None else (limits[max(first.dtype.itemsize, 4)],)
        with np.errstate(all="ignore"):
            found = function(a.astype(np.float64), b.astype(np.float64), *limit)
        return np.asarray(found, first.dtype)

    return body


def _pairs(make):
    return [
        ((make(3, 4).detach(), make(3, 4)), {}),
        ((make(3, 1).detach(), make(4)), {}),
        ((make().detach(), make(2)), {}),
        ((make(0, 3).detach(), make(3)), {}),
    ]


# --------------------------------------------------------------------------------- incomplete gamma
_MOST_TERMS, _TINY = 100_000, 1e-300
# What a last term may be of the sum, by the bytes of a result.
_PRECISION = {4: 2.0**-30, 8: _EPSILON}
# Coefficients of Stirling's series for log gamma in 1/a.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


@functools.cache
def _kernel(word):
    """A function of the vocabulary as a kernel of one array of float64."""
    return compile_kernel(
        lambda x: getattr(xp, word)(x), {"x": "f64"}, {"x": "f64"}, {}, {}, ("f64",)
    )


def _each(function, x):
    """A function of :mod:`math` of every element."""
    if type(x) is np.ndarray:
        return _kernel(function.__name__)(x)
    return np.frompyfunc(function, 1, 1)(x).astype(np.float64)  # has a kernel on GPUs


def _log_gamma(a):
    return _each(math.lgamma, a)


def _prefactor(a, x):
    """``x**a exp(-x) / gamma(a + 1)``: from 20 up by Stirling's series around x = a, where the
    plain formula would cancel."""
    plain = np.exp(a * np.log(x) - x - _log_gamma(a + 1))
    big = np.maximum(a, 20.0)
    ratio = (x - big) / big
    exponent = big * (np.log1p(np.maximum(ratio, -1)) - ratio)
    correction = sum(c / big ** (2 * k + 1) for k, c in enumerate(_STIRLING))
    stable = np.exp(exponent - correction) / np.sqrt(2 * math.pi * big)
    return np.where(a < 20, plain, stable)


def _lower_series(a, x, precision):
    """``P(a, x) / prefactor`` as a power series (DLMF 8.11.4)."""
    return _series_from(np.ones_like(a), np.ones_like(a), a, x, precision, _MOST_TERMS)


def _series_from(term, total, n, x, precision, terms):
    """The series from a term on. Once a quarter has converged, the others go on by themselves."""
    for count in range(terms, 0, -1):
        n = n + 1
        term = term * (x / n)
        total = total + term
        going = np.abs(term) > np.abs(total) * precision / 4
        left = int(going.sum())
        if not left:
            break
        if left < 0.75 * going.size:
            rest = (part[going] for part in (term, total, n, x))
            total[going] = _series_from(*rest, precision, count - 1)
            break
    return total


def _upper_fraction(a, x, precision):
    """``Q(a, x) gamma(a) / (x**a exp(-x))`` as a continued fraction (DLMF 8.9.2) by Lentz."""
    b = x + 1 - a
    d = 1 / np.where(b == 0, _TINY, b)
    return _fraction_from(1, precision, d, a, b, np.full_like(a, 1 / _TINY), d)


def _fraction_from(first, precision, found, a, b, c, d):
    """The fraction from a step on; as :func:`_series_from`."""
    for i in range(first, _MOST_TERMS):
        an = -i * (i - a)
        b = b + 2
        d = an * d + b
        d = 1 / np.where(np.abs(d) < _TINY, _TINY, d)
        c = b + an / c
        c = np.where(np.abs(c) < _TINY, _TINY, c)
        step = d * c
        found = found * step
        going = np.abs(step - 1) > 3 * precision  # rounding keeps some at two units for ever
        left = int(going.sum())
        if not left:
            break
        if left < 0.75 * going.size:
            rest = (part[going] for part in (found, a, b, c, d))
            found[going] = _fraction_from(i + 1, precision, *rest)
            break
    return found


def _upper_small(a, x):
    """Q for ``x <= 1.1``, without subtracting P from 1 (DLMF 8.7.3)."""
    scaled = a * np.log(x)
    near_one = np.where(a < 1e-5, a * (a * math.pi**2 / 12 - np.euler_gamma), _log_gamma(1 + a))
    total, power = np.zeros_like(a), np.ones_like(a)
    for n in range(1, 40):
        power = power * (-x / n)
        total = total + power / (a + n)
    return -np.expm1(scaled - near_one) - np.exp(scaled - near_one) * a * total


def _uniform(a, x):
    """P and Q of large arguments near each other, by Temme's expansion in the error function
    (DLMF 8.12.3, two terms)."""
    apart = (x - a) / a
    eta = np.sign(apart) * np.sqrt(2 * np.maximum(apart - np.log1p(apart), 0))
    tight = np.abs(eta) < 1e-2
    away, wide = np.where(tight, 1.0, apart), np.where(tight, 1.0, eta)
    first = -1 / 3 + eta * (1 / 12 + eta * (-2 / 135 + eta * (1 / 864 + eta / 2835)))
    first = np.where(tight, first, 1 / away - 1 / wide)
    second = 1 / wide**3 - 1 / away**3 - 1 / away**2 - 1 / (12 * away)
    second = np.where(tight, -1 / 540 - eta / 288, second)
    rest = np.exp(-0.5 * a * eta * eta) / np.sqrt(2 * math.pi * a) * (first + second / a)
    root = eta * np.sqrt(0.5 * a)
    lower = 0.5 * _each(math.erfc, -root) - rest
    return lower, 0.5 * _each(math.erfc, root) + rest


def _regularized(a, x, precision):
    """``(P, Q)``, each computed where it is the smaller one."""
    lower, upper = np.full(a.shape, np.nan), np.full(a.shape, np.nan)
    allowed = ~((a < 0) | (x < 0))
    edges = (
        ((a == 0) & (x > 0), 1.0),
        ((a != 0) & allowed & (x == 0), 0.0),
        ((a == np.inf) & allowed & (x != np.inf), 0.0),
        ((x == np.inf) & allowed & (a != 0) & (a != np.inf), 1.0),
    )
    for mask, value in edges:
        lower[mask], upper[mask] = value, 1 - value
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    large = inside & (a > 1e5) & (np.abs(x - a) < 0.3 * a)
    below = inside & (x <= a + 1) & ~large
    above = inside & ~below & ~large
    lower[large], upper[large] = _uniform(a[large], x[large])
    p, q = a[below], x[below]
    lower[below] = _prefactor(p, q) * _lower_series(p, q, precision)
    upper[below] = np.where(q <= 1.1, _upper_small(p, q), 1 - lower[below])
    p, q = a[above], x[above]
    upper[above] = _prefactor(p, q) * p * _upper_fraction(p, q, precision)
    lower[above] = 1 - upper[above]
    return lower, upper


_PAIR = {"rule": real_floating, "samples": _pairs, "domain": (0.2, 6.0), "meta": paired}


def _one_of_both(name, part):
    """The body of P or of Q."""

    def reference(a, x, precision):
        return _regularized(a, x, precision)[part]

    return in_double(name, compiled_pair(name, reference), _PRECISION)


_lower, _upper = _one_of_both("igamma", 0), _one_of_both("igammac", 1)


def _slope(grad, input, other):
    return grad * exp((input - 1) * log(other) - other - lgamma(input))


@op(limited=False, batching="elements", inplace=True, sweep=(0, 2), differentiable=True, **_PAIR)
def igamma(input: Tensor, other: Tensor):
    """The regularized lower incomplete gamma function P(input, other)."""
    return _lower(input, other)


@op(limited=False, batching="elements", inplace=True, sweep=(0, 2), **_PAIR)
def igammac(input: Tensor, other: Tensor):
    """The regularized upper incomplete gamma function Q(input, other)."""
    return _upper(input, other)


igamma.gradient(other=_slope)
igammac.gradient(other=lambda grad, input, other: -_slope(grad, input, other))


# ------------------------------------------------------------------------------------- Hurwitz zeta
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
    854513 / 138,
    -236364091 / 2730,
)


def _euler_maclaurin(s, q):
    """``sum (q + k)**-s`` (DLMF 25.11.5): terms until q exceeds 10 + s or they no longer count,
    then the corrections."""
    total = np.zeros_like(s)

    for _ in range(1_000_000):
        power = q**-s
        done = (q > 0) & (np.abs(power) <= np.abs(total) * 1e-18)
        short = (q < 10 + s) & ~done
        if not short.any():
            break
        total = np.where(short, total + power, total)
        q = np.where(short, q + 1, q)
    whole, total = total, total + power * q / (s - 1) + 0.5 * power
    factor, term = s.copy(), power / q
    for k, b in enumerate(_BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * factor * term
        factor = factor * (s + 2 * k - 1) * (s + 2 * k)
        term = term / (q * q)
    return np.where(done, whole, total)


def _left_of_zero(s, q):
    """For ``q < 0`` the terms up to zero, which are finitely many, are a difference of two series
    from there to the left; s is a whole number."""
    size = -q
    part = size - np.floor(size)
    sign = np.where(s % 2 == 0, 1.0, -1.0)
    to_zero = _euler_maclaurin(s, part) - _euler_maclaurin(s, size + 1)
    return _euler_maclaurin(s, 1 - part) + sign * to_zero


def _zeta(s, q):
    inside = (s > 1) & ((q > 0) | (np.floor(q) != q) & (np.floor(s) == s)) & np.isfinite(q)
    inside &= np.isfinite(s)
    found = np.full(s.shape, np.nan)
    positive, negative = inside & (q > 0), inside & (q < 0)
    found[positive] = _euler_maclaurin(s[positive], q[positive])
    found[negative] = _left_of_zero(s[negative], q[negative])
    found[(s == 1) | ~(s < 1) & (q <= 0) & (np.floor(q) == q)] = np.inf
    found[(s == np.inf) & (q < 1)] = np.inf
    found[(s == np.inf) & (q == 1)] = 1.0
    return found


_zeta_body = in_double("zeta", _zeta)


@op(
    batching="elements",
    method=False,
    rule=real_floating,
    samples=lambda make: [((make(3, 4).detach(), make(3, 4)), {})],
    domain=(1.5, 5.0),
    meta=paired,
)
def _zeta_pair(input: Tensor, other: Tensor):
    """The Hurwitz zeta function of two tensors."""
    return _zeta_body(input, other)


_zeta_pair.gradient(other=lambda grad, input, other: -grad * input * special_zeta(input + 1, other))


@composite(
    schemas=(
        "special_zeta(Tensor self, Tensor other) -> Tensor",
        "special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
        "special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
    ),
    method=False,
    oracle="_C._special",
    samples=lambda make: [(2.0, make(3, 4)), (make(3, 4).detach(), make(4))],
    domain=above_one,
)
def special_zeta(input, other):
    """The Hurwitz zeta function ``sum (other + k) ** -input`` over k from 0; either may be a
    number."""
    return _zeta_pair(*pair_of_tensors("special_zeta", ("self", "other"), input, other))


# ---------------------------------------------------------------------------------------- polygamma
@op(
    batching="elements",
    rule=real_floating,
    method=False,
    samples=lambda make: [((make(3, 4), 2), {}), ((make(2), 3), {})],
    domain=(0.3, 4.0),
    meta=lambda input, n: (input.shape, dtype_of(input)),
)
def _derivative_of_digamma(input: Tensor, n):
    """The n-th derivative of digamma, ``(-1)**(n + 1) n! zeta(n + 1, input)``."""
    x = input.astype(np.float64)
    with np.errstate(all="ignore"):
        found = (-1.0) ** (n + 1) * math.factorial(n) * _zeta(np.full(x.shape, n + 1.0), x)
    return np.asarray(found, input.dtype)


derivative_of_digamma = _derivative_of_digamma
derivative_of_digamma.gradient(
    input=lambda grad, input, n: grad * derivative_of_digamma(input, n + 1)
)


def _polygamma_inplace(self, n):
    """In-place version of :func:`rushlight.polygamma`."""
    return self.copy_(polygamma(n, self))


def _polygamma_of(self, n):
    """The n-th derivative of digamma; see :func:`rushlight.polygamma`."""
    return polygamma(n, self)


add_methods(polygamma=_polygamma_of)
add_methods(polygamma_=_polygamma_inplace)


# Defined above (p - 1) / 2.
@composite(samples=[(1,), (3,)], domain=(2.5, 5.0))
def mvlgamma(input: Tensor, p):
    """The logarithm of the multivariate gamma function of dimension `p`."""
    if input._dtype is dtypes.bool_:
        raise RuntimeError("mvlgamma: the input tensor may not be a boolean tensor")
    if input._dtype.category < dtypes.FLOAT:
        input = input.to(dtypes.default.float)
    if input._dtype.is_complex:
        raise RuntimeError(f'"mvlgamma" not implemented for dtype {input._dtype}')
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got {p}")
    shifts = arange(p, dtype=input._dtype, device=input._device) * -0.5
    total = lgamma(input.unsqueeze(-1) + shifts).sum(-1)
    return total + p * (p - 1) / 4 * math.log(math.pi)


def _mvlgamma_inplace(self, p):
    """In-place version of :func:`rushlight.mvlgamma`."""
    if self._dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"mvlgamma_: result type {dtypes.default.float} can't be cast to the desired output "
            f"type {self._dtype}"
        )
    return self.copy_(mvlgamma(self, p))


add_methods(mvlgamma_=_mvlgamma_inplace)
