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


def save(path: Any, state: dict[str, Any], filter: Any, strategy: Any) -> None:
    """Write a dictionary of objects, whole or in the parts that processes hold."""
    if strategy.saves_parts():
        strategy.save_parts(_unwrap_objects(state), path, filter)
    else:
        strategy.save_checkpoint(strategy.whole(dump(state, filter)), path)


def _load_parts(
    path: Any, state: Any, strict: bool, weights_only: bool | None, strategy: Any
) -> dict[str, Any]:
    """Read what processes wrote in parts."""
    if not isinstance(state, dict):
        raise TypeError(f"load: {path} holds parts of a model; give a dictionary with the model")
    plain = _unwrap_objects(state)
    rest = strategy.load_parts(path, plain, strict, weights_only)
    state.update({name: value for name, value in plain.items() if not _holds_state(state[name])})
    return rest


def _holds_state(value: Any) -> bool:
    return hasattr(value, "load_state_dict")


def _read(path: Any, weights_only: bool | None) -> Any:
    if not Path(path).is_file():
        raise FileNotFoundError(f"checkpoint {path} does not exist")
    safe = True if weights_only is None else weights_only
    return rl.load(path, map_location="cpu", weights_only=safe)


def load(
    path: Any, state: Any, strict: bool, weights_only: bool | None, strategy: Any
) -> dict[str, Any]:
    """Read a file into objects; what no object is for is returned."""
    if strategy.holds_parts(path):
        return _load_parts(path, state, strict, weights_only, strategy)
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
