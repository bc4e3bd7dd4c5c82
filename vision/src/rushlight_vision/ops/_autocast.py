"""Operators whose positions need float32, under autocast too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

import rushlight as rl

P = ParamSpec("P")


def _wide(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_wide(each) for each in value]
    if isinstance(value, rl.Tensor) and value.is_floating_point() and value.dtype != rl.float64:
        return value.float()
    return value


def in_float32_under_autocast(function: Callable[P, rl.Tensor]) -> Callable[P, rl.Tensor]:
    """Under autocast, compute in float32; the result has the dtype of the first argument."""

    @functools.wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> rl.Tensor:
        first = args[0] if args else options.get("input")
        if not isinstance(first, rl.Tensor) or not rl.is_autocast_enabled(first.device.type):
            return function(*args, **options)
        with rl.autocast(first.device.type, enabled=False):
            wide = {name: _wide(value) for name, value in options.items()}
            return function(*map(_wide, args), **wide).to(first.dtype)

    return called
