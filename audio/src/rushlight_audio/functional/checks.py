"""The checks that several functions share."""

from __future__ import annotations

import rushlight as rl

__all__ = ["from_rows", "in_rows", "require_waveform"]


def require_waveform(op: str, waveform: rl.Tensor, name: str = "waveform", least: int = 1) -> None:
    """TypeError unless a floating-point tensor, ValueError unless of `least` dimensions."""
    if not rl.jit.is_scripting() and not isinstance(waveform, rl.Tensor):
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


def in_rows(tensor: rl.Tensor, dims: int = 1) -> rl.Tensor:
    """The tensor with all but its last `dims` dimensions as one; none of them may be missing, empty
    ones may."""
    count = len(tensor.shape) - dims
    return tensor.flatten(0, count - 1) if count > 0 else tensor.unsqueeze(0)


def from_rows(rows: rl.Tensor, leading: rl.Size) -> rl.Tensor:
    """:func:`in_rows` undone: the first dimension as the `leading` ones, of which may be none."""
    return rows.reshape(leading + rows.shape[1:])
