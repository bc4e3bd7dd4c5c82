"""Errors of programs that ask for values while they are captured."""

from __future__ import annotations

from rushlight.refusals import rest_of


class GuardOnDataDependentSymNode(RuntimeError):  # noqa: N818 - PyTorch's name
    """What a program does depends on the elements of a tensor."""


__getattr__ = rest_of(__name__)
__all__ = ["GuardOnDataDependentSymNode"]
