"""Regions of autocast in captured programs: what is cast becomes steps of the graph.

The region is entered while the program is followed, so that its interpreter sees the calls and
casts tensors before they are written down. Graphs run without it.
"""

from __future__ import annotations

import warnings

from rushlight.amp.mode import (
    autocast,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
)
from rushlight.capture.kinds import is_value


def _region(interpreter, args, kwargs):
    """``autocast(...)`` of the program; one that warns is none, as it warns at every call."""
    if not all(map(is_value, (*args, *kwargs.values()))):
        interpreter.refuse("it calls autocast() with an object")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = autocast(*args, **kwargs)
        except UserWarning as error:
            interpreter.refuse(f"autocast() warns: {error}")
    interpreter.made[id(found)] = found
    return found


def _answer(function):
    """A question about the modes, on which graphs depend."""
    return lambda interpreter, args, kwargs: function(*args, **kwargs)


def is_region(interpreter, manager):
    """Whether the manager of a ``with`` statement is a region that the program made."""
    return isinstance(manager, autocast) and id(manager) in interpreter.made


CALLS = {
    autocast: _region,
    get_autocast_cpu_dtype: _answer(get_autocast_cpu_dtype),
    get_autocast_dtype: _answer(get_autocast_dtype),
    is_autocast_cpu_enabled: _answer(is_autocast_cpu_enabled),
    is_autocast_enabled: _answer(is_autocast_enabled),
}
