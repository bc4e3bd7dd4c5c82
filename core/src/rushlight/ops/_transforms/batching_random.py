"""Random functions inside of `vmap`: refused, drawn for each example, or drawn once for all."""

from __future__ import annotations

from rushlight.ops._transforms.batching import aligned, batched, is_batched
from rushlight.ops._transforms.wrappers import below, replace, wrappers_in
from rushlight.ops.creation.tensors import empty, zeros
from rushlight.tensor.dispatch import stack
from rushlight.tensor.tensor import Tensor

_ELEMENTWISE = ("bernoulli", "_binomial_samples", "normal", "_poisson_samples")
_SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an "
    "issue with functorch"
)


def _innermost():
    return next((x for x in reversed(stack.levels) if x.kind == "vmap"), None)


def _check(level):
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the "
            "'same' or 'different' randomness flags on vmap or perform the randomness operation "
            "out of vmap"
        )


def per_example(tensor):
    """A parameter of a draw by an op: mapped, where each example of the innermost `vmap` draws for
    itself."""
    level = _innermost()
    if level is None:
        return tensor
    _check(level)
    inner, mapped = tensor, False
    while getattr(inner, "_level", None) is not None:
        mapped = mapped or inner._level is level
        inner = inner._inner
    if level.randomness == "same":
        if mapped:
            raise RuntimeError(_SAME)
        return tensor
    if mapped:
        return tensor
    with below(level):
        nothing = batched(zeros(level.size, dtype=tensor._dtype, device=tensor.device), level)
    return tensor + nothing  # so that levels above this one see an op


def model(tensor):
    """What a random tensor like this one is made like: one for each example of the innermost
    `vmap` where draws differ."""
    level = _innermost()
    if level is None or level.randomness != "different":
        return tensor
    return per_example(tensor.detach())


def draw(function, args, kwargs):
    """A random function's result, as the innermost `vmap` wants it."""
    level = _innermost()
    tensors = wrappers_in((*args, *kwargs.values()))
    if level is None:
        return _plain(function, args, kwargs)
    _check(level)
    mapped = any(t._level is level for t in tensors)
    if level.randomness == "same":
        if mapped:
            raise RuntimeError(_SAME)
        with below(level):
            return draw(function, args, kwargs)
    return _for_each(level, function, args, kwargs, mapped)


def _plain(function, args, kwargs):
    """Outside of `vmap` tangents and history do not matter: draws depend on values alone."""
    found = wrappers_in((*args, *kwargs.values()))
    while found:
        args = replace(tuple(args), _value)
        kwargs = {k: replace(v, _value) for k, v in kwargs.items()}
        found = wrappers_in((*args, *kwargs.values()))
    return function(*args, **kwargs)


def _value(tensor):
    return tensor._inner if getattr(tensor, "_level", None) is not None else tensor


def _for_each(level, function, args, kwargs, mapped):
    name = function.__name__
    with below(level):
        if not mapped and name in ("rand", "randn"):
            size = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
            size = kwargs.pop("size", size)
            return batched(draw(function, (level.size, *size), kwargs), level)
        if name in _ELEMENTWISE and _has_tensors(args, kwargs):
            ndim = max(v.dim() for v in (*args, *kwargs.values()) if isinstance(v, Tensor))
            whole = replace(tuple(args), lambda t: _front(t, level, ndim))
            named = {k: replace(v, lambda t: _front(t, level, ndim)) for k, v in kwargs.items()}
            return batched(draw(function, whole, named), level)
        rows = []
        for number in range(level.size):
            one = replace(tuple(args), lambda t, n=number: _example(t, level, n))
            named = {
                k: replace(v, lambda t, n=number: _example(t, level, n)) for k, v in kwargs.items()
            }
            rows.append(draw(function, one, named))
        from rushlight.ops.shape.joining import stack as stack_tensors

        return batched(stack_tensors(rows), level)


def _has_tensors(args, kwargs):
    return any(isinstance(v, Tensor) for v in (*args, *kwargs.values()))


def _front(tensor, level, ndim):
    inner = aligned(tensor, level, ndim)
    if inner is tensor:
        inner = tensor.expand((level.size, *(1,) * (ndim - tensor.dim()), *tensor.shape))
    return inner


def _example(tensor, level, number):
    return tensor._inner[number] if is_batched(tensor, level) else tensor


def check_fill():
    """Filling a tensor that all examples share with random numbers, in place."""
    level = _innermost()
    if level is None:
        return
    _check(level)
    if level.randomness == "different":
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
            "appear like same randomness. If this is necessary for your usage, please file an "
            "issue with functorch"
        )


def fill_batched(level, function, target, sample):
    """Fill all examples, each with its own numbers or all with the same."""
    _check(level)
    inner = target._inner
    with below(level):
        if level.randomness == "different":
            _fill(function, inner, sample)
        else:
            inner.copy_(_fill(function, inner[0].detach().clone(), sample))
    return target


def _fill(function, inner, sample):
    return function(inner, sample)


def kept(shape, chance, dtype, device):
    """What dropout keeps: 1 with a chance, else 0."""
    level = _innermost()
    if level is not None and level.randomness == "different":
        with below(level):
            return batched(kept((level.size, *shape), chance, dtype, device), level)
    return empty(shape, dtype=dtype, device=device).bernoulli_(chance)
