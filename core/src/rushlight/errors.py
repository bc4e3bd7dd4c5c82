"""Where error messages are built."""

from __future__ import annotations

__all__ = ["HostMemoryError", "OutOfMemoryError", "argument_error", "shape_text", "type_name"]


def shape_text(shape) -> str:
    """A shape as PyTorch prints it in messages: ``[2, 3]``."""
    return "[" + ", ".join(str(int(n)) for n in shape) + "]"


def type_name(value) -> str:
    """The short type name used in argument errors."""
    return type(value).__name__


def argument_error(op: str, name: str, expected: str, given) -> TypeError:
    """``op(): argument 'name' must be <expected>, not <type of given>``; without `op` where it is
    empty."""
    start = f"{op}(): " if op else ""
    return TypeError(f"{start}argument '{name}' must be {expected}, not {type_name(given)}")


class OutOfMemoryError(RuntimeError):
    """A device has no memory left for a tensor; on the CPU that is a HostMemoryError."""


class HostMemoryError(RuntimeError, MemoryError):
    """The system has no memory left for a tensor: PyTorch's RuntimeError, and Python's."""
