"""The checks that several functions share."""

from __future__ import annotations

import rushlight as rl

__all__ = ["require_waveform"]


def require_waveform(op: str, waveform: object, name: str = "waveform", least: int = 1) -> None:
    """TypeError unless a floating-point tensor, ValueError unless of `least` dimensions."""
    if not isinstance(waveform, rl.Tensor):
        raise TypeError(
            f"{op}(): argument '{name}' must be a tensor, not {type(waveform).__name__}"
        )
    if not waveform.is_floating_point():
        raise TypeError(
            f"{op}(): argument '{name}' must be of floating-point type, got {waveform.dtype}; "
            "load() gives float32 with normalize=True"
        )
    if waveform.dim() < least:
        raise ValueError(
            f"{op}(): argument '{name}' must have {least} or more dimensions, got shape "
            f"{list(waveform.shape)}"
        )
