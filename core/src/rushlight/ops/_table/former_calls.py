"""Calls in the order of arguments of PyTorch's early days, where a factor stands before its tensor.

A declaration lists them as `former=("input alpha other", ...)`; PyTorch takes them still, with a
warning.
"""

from __future__ import annotations

import warnings

from rushlight.tensor.tensor import Tensor

FACTORS = frozenset({"alpha", "beta", "value"})


def orders_of_scaled_sum(factors):
    """The former orders of ``beta * input + alpha * product``, for the names of the product's
    factors."""
    return (
        f"beta input alpha {factors}",
        f"beta input {factors}",
        f"input beta alpha {factors}",
        f"input beta {factors}",
    )


def spelled_today(op, args, kwargs):
    """The arguments of a call as the op declares them."""
    if len(args) < 2 or FACTORS.isdisjoint(op.names):
        return args, kwargs
    for order in op.options["former"]:
        names = order.split()
        if _fits(op, names, args, kwargs):
            given = dict(zip(names, args, strict=False))
            factors = ", ".join(f"{n}={n}" for n in names if n in FACTORS)
            rest = ", ".join(n for n in op.names if n in names and n not in FACTORS)
            warnings.warn(
                f"{op.name}({', '.join(names)}) is deprecated: write {op.name}({rest}, {factors})",
                UserWarning,
                stacklevel=4,
            )
            positional = op.names[: op.positional]
            keywords = {n: v for n, v in given.items() if n not in positional}
            held = {n: v for n, v in (given | kwargs).items() if n in positional}
            rest = {n: v for n, v in kwargs.items() if n not in positional}
            return tuple(held[n] for n in positional if n in held), {**keywords, **rest}
    return args, kwargs


def _fits(op, names, args, kwargs):
    """Whether a call is one in this order: factors are numbers, the others what is declared."""
    last = max(i for i, name in enumerate(names) if name in FACTORS)
    if not last < len(args) <= len(names) or not kwargs.keys() >= set(names[len(args) :]):
        return False
    for name, value in zip(names, args, strict=False):
        tensor = isinstance(value, Tensor)
        if tensor if name in FACTORS else not tensor and op.index[name] in op.strict:
            return False
    if names[-1] != "other":
        return True
    other = args[2] if len(args) > 2 else kwargs["other"]
    return isinstance(other, Tensor)
