"""``sym_int``, ``sym_max`` and the like: PyTorch's functions for sizes of traced programs.

Sizes are Python's numbers here, always, so these are Python's own operations on them.
"""

from __future__ import annotations

import math


class _Unknown:
    """A number that is known only when a captured program runs: none is ever made here, so that
    ``isinstance`` is False for every size."""

    def __init__(self, node):
        raise NotImplementedError(
            f"rushlight.{type(self).__name__}(): sizes are Python's numbers here, in captured "
            "programs too; use the number itself"
        )


class SymInt(_Unknown):
    """An int that a program of PyTorch's capture computes; `isinstance` is False for every size."""


class SymFloat(_Unknown):
    """A float that a program of PyTorch's capture computes; no number is an instance."""


class SymBool(_Unknown):
    """A bool that a program of PyTorch's capture computes; no value is an instance."""


def sym_int(a) -> int:
    """A number cut towards zero."""
    return math.trunc(a)


def sym_float(a) -> float:
    """A number as a float."""
    drawn = getattr(a, "as_float", None)  # of a number that a captured program reads
    return float(a) if drawn is None else drawn()


def sym_not(a) -> bool:
    """The opposite of a truth value."""
    return not a


def sym_max(a, b):
    """The larger of two numbers; a float where either is one."""
    step = _step_of(a, b)
    return _chosen(max, a, b) if step is None else step(sym_max, a, b)


def sym_min(a, b):
    """The smaller of two numbers; a float where either is one."""
    step = _step_of(a, b)
    return _chosen(min, a, b) if step is None else step(sym_min, a, b)


def _step_of(*numbers):
    """What records a call on floats that a captured program reads; None where there are none."""
    steps = (getattr(number, "step", None) for number in numbers)
    return next(filter(None, steps), None)


def _chosen(function, a, b):
    """One of two numbers; whole ones that a captured program reads are told of it."""
    found = function(a, b)
    if isinstance(a, float) or isinstance(b, float):
        return float(found)
    for number in (a, b):
        note = getattr(number, "chosen", None)
        if note is not None:
            note(a, b)
            break
    return found


def sym_sum(args):
    """The sum of several numbers."""
    return sum(args)


def sym_sqrt(a) -> float:
    """The square root."""
    step = _step_of(a)
    return math.sqrt(a) if step is None else step(sym_sqrt, a)


def sym_ite(b, t, f):
    """`t` if `b` is true, else `f`; both must be of one type."""
    if not isinstance(b, bool) or type(t) is not type(f):
        raise AssertionError(
            f"sym_ite: expected a bool and two values of one type, got {type(b).__name__}, "
            f"{type(t).__name__} and {type(f).__name__}"
        )
    return t if b else f
