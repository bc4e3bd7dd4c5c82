"""Operators as archives of earlier versions mean them."""

from __future__ import annotations

import rushlight
from rushlight.jit import tensors, tree
from rushlight.jit.kinds import TENSOR


def _inside(value):
    """Whether a number or a tensor is a whole one."""
    if isinstance(value, rushlight.Tensor):
        return not value.is_floating_point() and not value.is_complex()
    return not isinstance(value, float | complex)


def _div(self, other):
    """Whole numbers are divided as in C."""
    if _inside(self) and _inside(other):
        return rushlight.div(self, other, rounding_mode="trunc")
    return rushlight.div(self, other)


def _div_(self, other):
    return self.copy_(_div(self, other))


def _full(size, fill_value, **options):
    """Whole numbers fill floating-point tensors."""
    if options.get("dtype") is None and isinstance(fill_value, int):
        options["dtype"] = rushlight.get_default_dtype()
    return rushlight.full(size, fill_value, **options)


# name -> (the first version with today's meaning, what was meant before)
_BEFORE = {"div": (4, _div), "div_": (4, _div_), "full": (5, _full)}


def former(name, version, args, kwargs, at):
    """The call of an op that meant something else in a version; None where it did not."""
    since, function = _BEFORE.get(name, (0, None))
    if version >= since or "rounding_mode" in kwargs:
        return None
    if name != "full" and TENSOR not in [a.type for a in args]:
        return None
    return tree.Call(tensors.Aten(name, function), args, kwargs, type=TENSOR, at=at)
