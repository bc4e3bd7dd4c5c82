"""Orthogonal polynomials by their three-term recurrences (DLMF 18.9), near large degrees of
Chebyshev's by their trigonometric forms (DLMF 18.5)."""

from __future__ import annotations

import math

from rushlight.kernels.special.pairs import compiled_pair
from rushlight.machine import np
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.rules import real_floating
from rushlight.ops._table.shape_rules import paired
from rushlight.ops.elementwise.special_gamma import in_double, pair_of_tensors

# Above this degree an even moderate argument overflows a double; PyTorch gives nan there.
_HERMITE_LIMIT = {4: 128, 8: 512}


def _climb(x, n, one, step):
    """Values of degree n: 1, then ``one(x)``, then ``step(k, x, p_k, p_(k-1))``; 0 below 0, and for
    degrees beyond 64-bit integers, as in PyTorch."""
    n = np.where(np.abs(n) < 2.0**63, n, -1.0)
    here = one(x)
    found = np.where(n < 0, 0.0, np.where(n == 0, 1.0, np.where(n == 1, here, np.nan)))
    return _climb_on(found, x, n, np.ones_like(x), here, step, 1)


def _climb_on(found, x, n, before, here, step, k):
    """The climb from degree k on. What is not a number stays so; once half of the elements are
    through, the others go on by themselves."""
    while True:
        going = (n > k) & (here == here)
        left = int(going.sum())
        if not left:
            return found
        if left < 0.5 * going.size:
            rest = (part[going] for part in (found, x, n, before, here))
            found[going] = _climb_on(*rest, step, k)
            return found
        stop = min(k + 32, int(n.max()))
        for degree in range(k, stop):
            before, here = here, step(degree, x, here, before)
            found = np.where(n == degree + 1, here, found)
        k = stop


def _chebyshev_step(k, x, here, before):
    return 2 * x * here - before


def _chebyshev(kind):
    """One of Chebyshev's four kinds: degree 1, values at 1 and -1, trigonometric form."""
    one, edge, waves, least = _KINDS[kind]

    def value(x, n):
        n = np.trunc(n)
        angle = np.arccos(np.clip(x, -1, 1))
        high = (n > least) & (np.abs(x) < 1)
        corner = (np.abs(x) == 1) & (n >= 0)
        plain = _climb(x, np.where(high | corner, 0, n), one, _chebyshev_step)
        even = np.remainder(n, 2) == 0
        return np.where(high, waves(angle, n), np.where(corner, edge(x, n, even), plain))

    return value


def _signed(x, even, value):
    return np.where((x > 0) | even, value, -value)


_KINDS = {
    "t": (lambda x: x, lambda x, n, even: _signed(x, even, 1.0), lambda a, n: np.cos(n * a), 6),
    "u": (
        lambda x: 2 * x,
        lambda x, n, even: _signed(x, even, n + 1),
        lambda a, n: np.sin((n + 1) * a) / np.sin(a),
        8,
    ),
    "v": (
        lambda x: 2 * x - 1,
        lambda x, n, even: np.where(x > 0, 1.0, np.where(even, 2 * n + 1, -(2 * n + 1))),
        lambda a, n: np.cos((n + 0.5) * a) / np.cos(a / 2),
        8,
    ),
    "w": (
        lambda x: 2 * x + 1,
        lambda x, n, even: np.where(x > 0, 2 * n + 1, np.where(even, 1.0, -1.0)),
        lambda a, n: np.sin((n + 0.5) * a) / np.sin(a / 2),
        8,
    ),
}


def _shifted(kind):
    value = _chebyshev(kind)
    return lambda x, n: value(2 * x - 1, n)


def _hermite(one, step):
    return lambda x, n: _climb(x, np.trunc(n), one, step)


def _laguerre(x, n):
    return _climb(
        x, np.trunc(n), lambda x: 1 - x, lambda k, x, p, b: ((2 * k + 1 - x) * p - k * b) / (k + 1)
    )


def _legendre(x, n):
    return _climb(
        x, np.trunc(n), lambda x: x, lambda k, x, p, b: ((2 * k + 1) * x * p - k * b) / (k + 1)
    )


_physicists = _hermite(lambda x: 2 * x, lambda k, x, p, b: 2 * x * p - 2 * k * b)
_probabilists = _hermite(lambda x: x, lambda k, x, p, b: x * p - k * b)


def _limited(function):
    """Hermite's polynomials: nan where the degree is beyond PyTorch's limit for the dtype."""

    def value(x, n, limit):
        beyond = (n > limit) & (n < 2.0**63)  # further on the degree counts as negative there
        return np.where(beyond, math.nan, function(x, np.where(beyond, 0, n)))

    return value


def _samples(make):
    return [((make(3, 4), make.integers(0, 12, (3, 4)).to(make.dtype)), {})]


def _declare(name, function, doc, limited=False):
    """The public op of one polynomial in two tensors or a tensor and a number."""
    body = in_double(name, compiled_pair(name, function), _HERMITE_LIMIT if limited else None)

    def pair(input, n):
        return body(input, n)

    pair.__annotations__ = {"input": "Tensor", "n": "Tensor"}
    pair.__name__, pair.__doc__, pair.__module__ = "_" + name, doc, __name__
    run = op(
        method=False, rule=real_floating, samples=_samples, meta=paired, domain=(-2.0, 2.0),
        batching="elements",
    )  # fmt: skip
    of_tensors = run(pair)

    def public(input, n):
        return of_tensors(*pair_of_tensors(public.__name__, ("input", "n"), input, n))

    public.__name__, public.__module__ = "special_" + name, __name__
    public.__doc__ = doc + ".\n\n`n` is cut to a whole number, negative degrees give 0."
    samples = [(3,), (0,)]
    return composite(
        method=False, oracle="_C._special", samples=samples, differentiable=False,
        schemas=(
            f"special_{name}(Tensor x, Tensor n) -> Tensor",
            f"special_{name}.x_scalar(Scalar x, Tensor n) -> Tensor",
            f"special_{name}.n_scalar(Tensor x, Scalar n) -> Tensor",
        ),
    )(public)  # fmt: skip


_first = "Chebyshev's polynomial of the {} kind of degree `n` at `input`"
_moved = "Chebyshev's polynomial of the {} kind of degree `n` at ``2 * input - 1``"
_kind = {"t": "first", "u": "second", "v": "third", "w": "fourth"}
(
    special_chebyshev_polynomial_t,
    special_chebyshev_polynomial_u,
    special_chebyshev_polynomial_v,
    special_chebyshev_polynomial_w,
) = (
    _declare(f"chebyshev_polynomial_{kind}", _chebyshev(kind), _first.format(_kind[kind]))
    for kind in _kind
)
(
    special_shifted_chebyshev_polynomial_t,
    special_shifted_chebyshev_polynomial_u,
    special_shifted_chebyshev_polynomial_v,
    special_shifted_chebyshev_polynomial_w,
) = (
    _declare(f"shifted_chebyshev_polynomial_{kind}", _shifted(kind), _moved.format(_kind[kind]))
    for kind in _kind
)
special_hermite_polynomial_h = _declare(
    "hermite_polynomial_h",
    _limited(_physicists),
    "The physicists' Hermite polynomial of degree `n` at `input`",
    True,
)
special_hermite_polynomial_he = _declare(
    "hermite_polynomial_he",
    _limited(_probabilists),
    "The probabilists' Hermite polynomial of degree `n` at `input`",
    True,
)
special_laguerre_polynomial_l = _declare(
    "laguerre_polynomial_l", _laguerre, "Laguerre's polynomial of degree `n` at `input`"
)
special_legendre_polynomial_p = _declare(
    "legendre_polynomial_p", _legendre, "Legendre's polynomial of degree `n` at `input`"
)
