"""Calls that have a stand-in inside of a sequence alone, as sizes have: ``full((n, n), 0.0)``.

Functions look for who overrides them among their arguments, not inside of those. While a program is
traced this mode looks there, so that calls outside of traces pay nothing.
"""

from __future__ import annotations

from rushlight.fx.proxy import Proxy
from rushlight.overrides import TorchFunctionMode


class SequencesOfProxies(TorchFunctionMode):
    """Inside of ``with``, such calls are written down, too."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """The node of a call with a stand-in in a sequence; others run."""
        kwargs = kwargs or {}
        if _has_inside(args) or _has_inside(kwargs.values()):
            return Proxy.__torch_function__(func, types, args, kwargs)
        return func(*args, **kwargs)


def _has_inside(values) -> bool:
    """Whether a sequence among values holds a stand-in, itself or in another one."""
    return any(
        isinstance(value, list | tuple)
        and (any(isinstance(item, Proxy) for item in value) or _has_inside(value))
        for value in values
    )
