"""Exception types, and the few places where error messages are built."""

from __future__ import annotations

__all__ = [
    "OutOfMemoryError",
    "argument_error",
    "not_implemented_for",
    "shape_text",
]


class OutOfMemoryError(RuntimeError):
    """A device has no room for the requested allocation."""


def shape_text(shape) -> str:
    """A shape as PyTorch prints it in messages: ``[2, 3]``."""
    return "[" + ", ".join(str(int(n)) for n in shape) + "]"


def type_name(value) -> str:
    """The short type name used in argument errors."""
    return type(value).__name__


def argument_error(op: str, name: str, expected: str, given) -> TypeError:
    """``op(): argument 'name' must be <expected>, not <type of given>``."""
    return TypeError(f"{op}(): argument '{name}' must be {expected}, not {type_name(given)}")


def not_implemented_for(op: str, dtype) -> NotImplementedError:
    """The error for an op that has no kernel for a dtype."""
    return NotImplementedError(f"{op}: not implemented for dtype {dtype}")
