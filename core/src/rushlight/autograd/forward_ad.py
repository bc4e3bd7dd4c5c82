"""Forward-mode derivatives: tensors that carry a tangent through what is computed from them.

>>> import rushlight
>>> import rushlight.autograd.forward_ad as fwAD
>>> x = rushlight.tensor([1.0, 2.0])
>>> with fwAD.dual_level():
...     dual = fwAD.make_dual(x, rushlight.tensor([1.0, 0.0]))
...     fwAD.unpack_dual(dual**2).tangent
tensor([2., 0.])
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from rushlight.autograd.later import later
from rushlight.autograd.mode import _Decorator
from rushlight.dtypes import FLOAT
from rushlight.tensor.tensor import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """What :func:`unpack_dual` gives; the tangent is None for an ordinary tensor."""

    primal: Tensor
    tangent: Tensor | None


class _Current(threading.local):
    level: Any = None  # the thread's dual level


_current = _Current()


def _forward():
    return later("forward_mode")


def enter_dual_level() -> int:
    """Start a level: duals can be made until :func:`exit_dual_level`. Gives its number, 0."""
    if _current.level is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: use rushlight.func.jvp inside "
            "of a level"
        )
    _current.level = _forward().DualLevel(True).__enter__()
    return 0


def exit_dual_level(*, level=None) -> None:
    """End the level; tangents made in it are gone."""
    if _current.level is None:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created, or "
            "there is none"
        )
    if level not in (None, 0):
        raise RuntimeError(f"exit_dual_level: the level is 0, got {level}")
    found, _current.level = _current.level, None
    found.__exit__(None, None, None)


class dual_level(_Decorator):  # noqa: N801 - PyTorch's public name
    """A context in which :func:`make_dual` works; the tangents are gone at its end."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()


def make_dual(tensor, tangent, *, level=None):
    """`tensor` as a dual tensor with a tangent of its shape and dtype."""
    if _current.level is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for what, value in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(f"make_dual: {what} must be a Tensor, not {type(value).__name__}")
        if value._dtype.category < FLOAT:
            raise ValueError(
                f"Expected {what} to be floating point or complex, but got: {value._dtype}"
            )
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(
            f"Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )
    for what, value in (("based on", tensor), ("with a tangent that is", tangent)):
        if getattr(value, "_level", None) is _current.level:
            raise RuntimeError(
                f"make_dual: making a dual tensor {what} a tensor that already has a forward "
                "gradient at the same level 0 is not supported."
            )
    return _forward().dual(tensor.view_as(tensor), tangent, _current.level)


def unpack_dual(tensor, *, level=None) -> UnpackedDualTensor:
    """The primal and the tangent of a tensor; a tensor that is no dual has the tangent None."""
    level = getattr(tensor, "_level", None)
    if level is None or level is not _current.level:
        if isinstance(tensor, _forward().Dual) and not level.alive:
            tensor = tensor._inner  # its level has ended, and the tangent with it
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(tensor._inner, tensor._tangent)
