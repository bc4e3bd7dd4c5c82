"""Weights of other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import rushlight as rl

__all__ = ["as_tensor", "renamed"]


def as_tensor(value: Any) -> rl.Tensor:
    """A tensor of ours or of another library, as a copy of ours."""
    if isinstance(value, rl.Tensor):
        return value.detach().clone()
    return rl.tensor(value.detach().cpu().numpy())


def renamed(name: str, table: Mapping[str, str]) -> str:
    """`name` with what `table` has in it replaced."""
    for old, new in table.items():
        name = name.replace(old, new)
    return name
