"""Modules that `rushlight.compile` has wrapped."""

from __future__ import annotations

from typing import Any

from lightning_lite.module import LightningModule


def from_compiled(model: Any) -> Any:
    """The LightningModule inside of a compiled one. TypeError for what was not compiled."""
    inner = getattr(model, "_orig_mod", None)
    if inner is None:
        raise TypeError(f"from_compiled: {type(model).__name__} is not a compiled module")
    if not isinstance(inner, LightningModule):
        raise ValueError(f"from_compiled: {type(inner).__name__} is not a LightningModule")
    return inner


def to_uncompiled(model: Any) -> Any:
    """The LightningModule, compiled or not, as it was before `rushlight.compile`."""
    if isinstance(model, LightningModule):
        return model
    if isinstance(getattr(model, "_orig_mod", None), LightningModule):
        return model._orig_mod
    raise ValueError(f"to_uncompiled: {type(model).__name__} is not a LightningModule")
