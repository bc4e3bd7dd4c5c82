"""Choices by values of tensors (``if x.sum() > 0:``), which drafts make as the example does.

A run of the module on the example's values writes them down; captures make the same ones, and
programs assert that these hold.
"""

from __future__ import annotations

import copy
from contextvars import ContextVar

from rushlight.fx.locations import at_user_line
from rushlight.library.operators import lookup
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

ASSUMED: ContextVar[tuple | None] = ContextVar("assumed", default=None)  # by drafts, in their order


class Observed:
    """Writes down the choices of a run on values."""

    def __init__(self):
        self.made: list[tuple[bool, str]] = []  # what was chosen, and where in words

    def taken(self, recorder, tensor):
        """The choice by a tensor of one element."""
        found = bool(tensor._inner)
        line = at_user_line(f"bool() of '{recorder.name(tensor)}'")
        self.made.append((found, line))
        return found


class Repeated:
    """Makes choices again, in their order, and has the program assert them."""

    def __init__(self, choices):
        self.rest = iter(choices)

    def taken(self, recorder, tensor):
        """The next choice; None where the example made no more."""
        found = next(self.rest, None)
        if found is None:
            return None
        value, line = found
        holds = tensor != 0 if value else tensor == 0
        message = f"draft_export() assumes {value} for {line}"
        check = lookup("aten")._assert_async.msg
        recorder.node("call_function", check, (holds, message), {})
        return value


def observed(module, args, kwargs) -> tuple[tuple[bool, str], ...]:
    """The choices that a module makes for the example."""
    from rushlight.export.tracing import Tracing

    tracing = Tracing(copy.deepcopy(module), fake=False)
    tracing.recorder.choices = found = Observed()
    tracing.run(*pytree.tree_map_only(Tensor, Tensor.clone, (args, kwargs or {})))
    return tuple(found.made)
