"""Layers whose statistics are those of all processes."""

from __future__ import annotations

from typing import Any


class LayerSync:
    """The base of plug-ins that make layers synchronized ones."""

    def apply(self, model: Any) -> Any:
        """The model with synchronized layers."""
        raise NotImplementedError(f"{type(self).__name__} does not define apply")

    def revert(self, model: Any) -> Any:
        """The model with ordinary layers again."""
        raise NotImplementedError(f"{type(self).__name__} does not define revert")


class TorchSyncBatchNorm(LayerSync):
    """Synchronized batch normalization; in one process it is batch normalization."""

    def apply(self, model: Any) -> Any:
        """The model, as it is: one process sees the whole batch."""
        return model

    def revert(self, model: Any) -> Any:
        """The model, as it is."""
        return model
