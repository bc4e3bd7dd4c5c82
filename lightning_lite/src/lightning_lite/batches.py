"""Containers of tensors: moving and converting every tensor inside a batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import rushlight as rl


def map_tensors(batch: Any, function: Callable[[rl.Tensor], Any]) -> Any:
    """A batch with `function` applied to each tensor inside lists, tuples, dictionaries,
    dataclasses.

    Containers keep their type. What holds no tensor is returned as it is.
    """
    if isinstance(batch, rl.Tensor):
        return function(batch)
    if isinstance(batch, list):
        return [map_tensors(item, function) for item in batch]
    if isinstance(batch, tuple):
        items = [map_tensors(item, function) for item in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)
    if isinstance(batch, dict):
        changed = {key: map_tensors(value, function) for key, value in batch.items()}
        if type(batch) is dict:
            return changed
        made = type(batch)()
        made.update(changed)
        return made
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        names = [field.name for field in dataclasses.fields(batch) if field.init]
        fields = {name: map_tensors(getattr(batch, name), function) for name in names}
        return dataclasses.replace(batch, **fields)
    return batch


def move_to_device(batch: Any, device: Any) -> Any:
    """A batch with its tensors on `device`; objects with a `to` method of their own are asked."""
    if not isinstance(batch, list | tuple | dict | rl.Tensor) and hasattr(batch, "to"):
        return batch.to(device)
    return map_tensors(batch, lambda tensor: tensor.to(device, non_blocking=True))


def detached(batch: Any) -> Any:
    """A step's output with its tensors cut off from the graph."""
    return map_tensors(batch, lambda tensor: tensor.detach())
