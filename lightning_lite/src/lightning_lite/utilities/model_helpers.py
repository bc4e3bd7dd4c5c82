"""Questions about modules, data modules and callbacks."""

from __future__ import annotations

import importlib
from typing import Any

from lightning_lite.hooks import overrides


def is_overridden(method_name: str, instance: object = None, parent: type | None = None) -> bool:
    """Whether an object's method is not the one of its base class.

    Without `parent` it is LightningModule, LightningDataModule or Callback, whichever the object
    is one of; ValueError if it is none.
    """
    if instance is None:
        return False
    parent = _base_of(instance) if parent is None else parent
    if not hasattr(parent, method_name):
        raise ValueError(f"is_overridden: {parent.__name__} has no method {method_name!r}")
    return overrides(instance, parent, method_name)


def _base_of(instance: object) -> type:
    from lightning_lite import Callback, LightningDataModule, LightningModule

    for base in (LightningModule, LightningDataModule, Callback):
        if isinstance(instance, base):
            return base
    raise ValueError(f"is_overridden: {type(instance).__name__}; give parent=")


def get_torchvision_model(model_name: str, **kwargs: Any) -> Any:
    """A network of `rushlight_vision.models` by its name. Raises ModuleNotFoundError where
    rushlight-vision is not installed, ValueError for an unknown name."""
    try:
        models = importlib.import_module("rushlight_vision.models")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "get_torchvision_model needs rushlight-vision: pip install rushlight-vision"
        ) from error
    return models.get_model(model_name, **kwargs)
