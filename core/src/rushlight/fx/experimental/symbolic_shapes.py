"""Errors of programs that ask for values while they are captured."""

from __future__ import annotations

from rushlight.refusals import rest_of


class GuardOnDataDependentSymNode(RuntimeError):  # noqa: N818 - PyTorch's name
    """What a program does depends on the elements of a tensor."""


class ConstraintViolationError(RuntimeError):
    """A size that was said to differ from call to call cannot."""


__getattr__ = rest_of(__name__)
__all__ = ["ConstraintViolationError", "GuardOnDataDependentSymNode"]
