"""Checkpoints that torchtext published, or that a caller brings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import rushlight as rl
from rushlight.hub import load_state_dict_from_url
from rushlight_text.utils import BUCKET

__all__ = ["published", "state_dict_of"]


def published(name: str) -> str:
    """The address of a file of torchtext's."""
    return BUCKET + name


def state_dict_of(
    checkpoint: str | Mapping[str, rl.Tensor], dl_kwargs: Mapping[str, Any] | None = None
) -> dict[str, rl.Tensor]:
    """The state dict at an address, or a copy of the one that is given.

    Raises TypeError for something else, DownloadError where the address gives nothing.
    """
    if isinstance(checkpoint, str):
        return load_state_dict_from_url(checkpoint, **(dl_kwargs or {}))
    if isinstance(checkpoint, Mapping):
        return dict(checkpoint)
    raise TypeError(
        f"checkpoint must be of type `str` or `Dict[str, torch.Tensor]` but got {type(checkpoint)}"
    )
