"""Fabric's checkpoints: a dictionary of modules, optimizers and plain values in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import rushlight as rl
from lightning_lite.fabric.wrappers import _unwrap_objects


def dump(state: dict[str, Any], filter: Any) -> dict[str, Any]:
    """The dictionary that is written: states in place of objects.

    Raises TypeError for a filter that is no dictionary of functions, KeyError for one of a name
    that is not there.
    """
    filters: dict[str, Callable[[str, Any], bool]] = {} if filter is None else filter
    if not isinstance(filters, dict) or not all(callable(each) for each in filters.values()):
        raise TypeError(f"save: filter={filter!r}; expected a dictionary of functions")
    unknown = sorted(set(filters) - set(state))
    if unknown:
        raise KeyError(f"save: filters of {unknown}; the state has {sorted(state)}")
    written = {}
    for name, value in _unwrap_objects(state).items():
        value = value.state_dict() if hasattr(value, "state_dict") else value
        if name in filters:
            value = {key: each for key, each in value.items() if filters[name](key, each)}
        written[name] = value
    return written


def _read(path: Any, weights_only: bool | None) -> Any:
    if not Path(path).is_file():
        raise FileNotFoundError(f"checkpoint {path} does not exist")
    safe = True if weights_only is None else weights_only
    return rl.load(path, map_location="cpu", weights_only=safe)


def load(
    path: Any, state: Any, strict: bool, weights_only: bool | None, strategy: Any
) -> dict[str, Any]:
    """Read a file into objects; what no object is for is returned."""
    saved = dict(_read(path, weights_only))
    if state is None:
        return saved
    if isinstance(state, rl.nn.Module):
        _give(_unwrap_objects(state), saved, strict, strategy)
        return {}
    missing = sorted(name for name in state if name not in saved)
    if strict and missing:
        raise KeyError(f"load: {path} has no {missing}; it has {sorted(saved)}")
    for name, target in list(state.items()):
        if name not in saved:
            continue
        value, target = saved.pop(name), _unwrap_objects(target)
        if hasattr(target, "load_state_dict"):
            _give(target, value, strict, strategy)
        else:
            state[name] = value
    return saved


def _give(target: Any, value: Any, strict: bool, strategy: Any) -> None:
    """Give an object its state; of what processes divide, each takes its part."""
    if isinstance(target, rl.nn.Module):
        target.load_state_dict(strategy.divided(target, value), strict=strict)
    elif isinstance(target, rl.optim.Optimizer):
        target.load_state_dict(strategy.divided_optimizer_state(target, value))
    else:
        target.load_state_dict(value)


def load_raw(path: Any, obj: Any, strict: bool, weights_only: bool | None, strategy: Any) -> None:
    """Read a file that holds one object's state."""
    _give(_unwrap_objects(obj), _read(path, weights_only), strict, strategy)
