"""What property tests of whole families share: one computation by Rushlight, and by PyTorch in
float64, with the gradients of all arguments."""

from __future__ import annotations

import numpy as np
from drawn import EPSILON, Layout, allowed, close, exact, layouts, name_of, on_threads, tensors
from hypothesis import strategies as st

import rushlight

LOW = ("bfloat16", "float16")


def images(dims):
    """Layouts of (N, C, ...): plain, channels last, any."""
    last = Layout((0, *range(2, dims), 1), 1, 0)
    return st.one_of(st.just(Layout(tuple(range(dims)), 1, 0)), st.just(last), layouts(dims))


def sprinkled(tensor, seed, count=2):
    """The tensor with a few of its elements infinite or NaN."""
    rng = np.random.default_rng(seed)
    with rushlight.no_grad():
        for _ in range(count if tensor.numel() else 0):
            place = tuple(int(rng.integers(n)) for n in tensor.shape)
            tensor[place] = float(rng.choice([np.inf, -np.inf, np.nan]))
    return tensor


def with_gradients(lib, compute, arguments, up=None):
    """The result, and the gradients of the arguments that want one."""
    result = compute(lib, *arguments)
    wanted = [a for a in arguments if getattr(a, "requires_grad", False)]
    if not wanted or up is None:
        return (result,)
    return (result, *lib.autograd.grad(result, wanted, up))


def true_values(compute, arguments, up=None, bounded_by="all"):
    """The same by PyTorch in float64, and what bounds rounding errors: the same of absolute values
    of "all" arguments, or of the gradient that comes to the result alone ("up")."""
    import torch

    def run(change, change_up):
        made = [exact(a) if isinstance(a, rushlight.Tensor) else a for a in arguments]
        made = [change(a) if isinstance(a, torch.Tensor) else a for a in made]
        return with_gradients(torch, compute, made, None if up is None else change_up(exact(up)))

    def absolute(a):
        return a.detach().abs().requires_grad_(a.requires_grad)

    def same(a):
        return a.detach().requires_grad_(a.requires_grad)

    truth = run(same, same)
    return truth, [v.abs() for v in run(absolute if bounded_by == "all" else same, absolute)]


def gradient_for(data, compute, arguments):
    """Draw a gradient that comes to the result."""
    with rushlight.no_grad():
        result = compute(rushlight, *arguments)
    return data.draw(tensors(tuple(result.shape), name_of(result)))


def judged(
    data, compute, arguments, terms, by_element=True, bounded_by="all", up=None, roundings=0
):
    """Compare ``compute(library, *arguments)`` and its gradients with the truth.

    ``terms``: of the sums that the result, and each gradient, consists of. What bounds their
    rounding errors is the same of absolute values: where ``compute`` is linear in every argument
    those of "all", else those of the gradient ("up"). Without ``by_element`` the largest such
    bound is that of all elements.
    """
    up = gradient_for(data, compute, arguments) if up is None else up
    found = on_threads(lambda: with_gradients(rushlight, compute, arguments, up))
    truth, scale = true_values(compute, arguments, up, bounded_by)
    terms = terms if isinstance(terms, (tuple, list)) else (terms,) * len(found)
    roundings = roundings if isinstance(roundings, tuple) else (roundings,) * len(found)
    pairs = zip(found, truth, scale, terms, roundings, strict=True)
    for got, want, bound, count, rounded in pairs:
        near(got, want, bound, allowed(count), by_element, rounded)
    return found


def bounded(data, compute, arguments, scales, units, up=None):
    """Compare ``compute(library, *arguments)`` and its gradients with the truth, for functions that
    are not linear. ``scales(up, sums)``: what rounding errors of the result, and of each gradient,
    are so many units of; ``sums`` are what the absolute values of ``up`` give."""
    up = gradient_for(data, compute, arguments) if up is None else up
    found = on_threads(lambda: with_gradients(rushlight, compute, arguments, up))
    truth, sums = true_values(compute, arguments, up, "up")
    for got, want, scale in zip(found, truth, scales(exact(up), sums), strict=True):
        near(got, want, want.detach().abs() * 0 + scale, units)
    return found


def size_of(tensor):
    """The largest absolute value of PyTorch's tensor that is finite."""
    values = tensor.detach().abs()
    values = values[values.isfinite()]
    return float(values.max()) if values.numel() else 0.0


def exact_values(data, compute, arguments, odd=False):
    """Compare values that are only moved, in PyTorch's same dtype; gradients are sums of a few."""
    import torch

    if odd:
        sprinkled(arguments[0], data.draw(st.integers(0, 1000)))
    up = gradient_for(data, compute, arguments)
    found = on_threads(lambda: with_gradients(rushlight, compute, arguments, up))
    dtype = getattr(torch, name_of(up))
    given = [exact(a).detach().to(dtype).requires_grad_(a.requires_grad) for a in arguments]
    value, *_ = with_gradients(torch, compute, given)
    top = exact(up)
    gradients = torch.autograd.grad(value, given, top.to(dtype))
    scale = torch.autograd.grad(compute(torch, *given), given, top.abs().to(dtype))
    assert np.array_equal(exact(found[0]).detach(), value.detach().double(), equal_nan=True)
    for got, want, bound in zip(found[1:], gradients, scale, strict=True):
        near(got, want.double(), bound.double(), 4 if name_of(got) not in LOW else 2**14)


def near(got, want, bound, units, by_element=True, roundings=0):
    """:func:`close` for sums: in float32 or float64, or computed in float32 and rounded once.

    ``roundings``: how often parts of a sum are rounded to 16 bits before.
    """
    bound, name = bound.detach(), name_of(got)
    if not by_element and bound.numel():
        finite = bound[bound.isfinite()]
        bound = bound * 0 + (finite.max() if finite.numel() else 0)
    if name in LOW:
        part = roundings + units * EPSILON["float32"] / EPSILON[name]
        close(got, want, want.detach().abs() + bound * part, 1.01)
        return
    close(got, want, bound, units)
