"""Kullback-Leibler divergences: ``KL(p || q) = E_p[log p - log q]`` by pairs of classes."""

from __future__ import annotations

import functools
import math
import warnings
from typing import TYPE_CHECKING

from rushlight import full_like

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rushlight.distributions.distribution import Distribution
    from rushlight.tensor.tensor import Tensor

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict = {}
_KL_MEMOIZE: dict = {}


def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[..., Any]:
    """A decorator that registers ``function(p, q)`` for two classes and their subclasses.

    Of several that fit, the one of the nearest classes is taken, p before q.

    >>> from rushlight.distributions import Laplace, Uniform
    >>> @rushlight.distributions.register_kl(Laplace, Uniform)
    ... def kl_laplace_uniform(p, q):
    ...     return float("inf") * p.loc
    """
    for name, found in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(found, type):  # any class, as in PyTorch
            raise TypeError(f"register_kl: {name} must be a class, got {found!r}")

    def decorator(function):
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


def _distance(pair, given):
    """How far up the registered classes are from the given ones."""
    return tuple(g.__mro__.index(c) for c, g in zip(pair, given, strict=True))


def _dispatch_kl(type_p, type_q):
    """The function of the nearest registered pair, or NotImplemented."""
    given = type_p, type_q
    fitting = [
        pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])
    ]
    if not fitting:
        return NotImplemented
    by_p = min(fitting, key=lambda pair: _distance(pair, given))
    by_q = min(fitting, key=lambda pair: _distance(pair, given)[::-1])
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"kl_divergence({type_p.__name__}, {type_q.__name__}) is ambiguous; please "
            f"register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """``KL(p || q)``, of the batch shape; NotImplementedError for pairs without a formula.

    >>> from rushlight.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
    tensor(0.5000)
    """
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _dispatch_kl(*key)
    function = _KL_MEMOIZE[key]
    if function is NotImplemented:
        raise NotImplementedError(
            f"no KL(p || q) is implemented for p of type {key[0].__name__} and q of type "
            f"{key[1].__name__}. Instead: register_kl one, or average p.log_prob(x) - "
            "q.log_prob(x) over samples x of p"
        )
    return function(p, q)


def infinite(p, q, like):
    """Infinity in the shape of a parameter: q is 0 where p is not."""
    return full_like(like, math.inf)


def register_infinite(type_p, parameter, *types_q):
    """Register pairs whose divergence is infinite whatever the parameters, with the parameter of
    p that has its shape."""

    @functools.wraps(infinite)
    def kl(p, q):
        return infinite(p, q, getattr(p, parameter))

    for type_q in types_q:
        register_kl(type_p, type_q)(kl)
