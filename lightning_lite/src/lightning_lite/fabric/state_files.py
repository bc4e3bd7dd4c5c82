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


def load(path: Any, state: Any, strict: bool, weights_only: bool | None) -> dict[str, Any]:
    """Read a file into objects; what no object is for is returned."""
    saved = dict(_read(path, weights_only))
    if state is None:
        return saved
    if isinstance(state, rl.nn.Module):
        _unwrap_objects(state).load_state_dict(saved, strict=strict)
        return {}
    missing = sorted(name for name in state if name not in saved)
    if strict and missing:
        raise KeyError(f"load: {path} has no {missing}; it has {sorted(saved)}")
    for name, target in list(state.items()):
        if name in saved:
            _give(state, name, _unwrap_objects(target), saved.pop(name), strict)
    return saved


def _give(state: dict[str, Any], name: str, target: Any, value: Any, strict: bool) -> None:
    if isinstance(target, rl.nn.Module):
        target.load_state_dict(value, strict=strict)
    elif hasattr(target, "load_state_dict"):
        target.load_state_dict(value)
    else:
        state[name] = value


def load_raw(path: Any, obj: Any, strict: bool, weights_only: bool | None) -> None:
    """Read a file that holds one object's state."""
    target, saved = _unwrap_objects(obj), _read(path, weights_only)
    if isinstance(target, rl.nn.Module):
        target.load_state_dict(saved, strict=strict)
    else:
        target.load_state_dict(saved)
