"""Decibels."""

from __future__ import annotations

import rushlight as rl
from rushlight_audio.functional.checks import require_waveform

__all__ = ["DB_to_amplitude", "amplitude_to_DB"]


def amplitude_to_DB(
    x: rl.Tensor,
    multiplier: float,
    amin: float,
    db_multiplier: float,
    top_db: float | None = None,
) -> rl.Tensor:
    """``multiplier * (log10(max(x, amin)) - db_multiplier)``.

    Args:
        x: power or amplitude, ``[..., C, F, T]``.
        multiplier: 10 for power, 20 for amplitude.
        amin: smaller values count as this.
        db_multiplier: the logarithm of the reference.
        top_db: raise what lies more than this below the maximum of its item (over ``C, F, T``; over
            ``F, T`` of a tensor with two dimensions).

    Returns:
        decibels in the shape of `x`.
    """
    require_waveform("amplitude_to_DB", x, name="x", least=1 if top_db is None else 2)
    decibel = multiplier * (x.clamp(min=amin).log10() - db_multiplier)
    if top_db is None or decibel.numel() == 0:
        return decibel
    if decibel.dim() > 2:
        top = decibel.amax(dim=(-3, -2, -1), keepdim=True)
    else:
        top = decibel.amax(dim=(-2, -1), keepdim=True)
    return rl.maximum(decibel, top - top_db)


def DB_to_amplitude(x: rl.Tensor, ref: float, power: float) -> rl.Tensor:
    """``ref * (10 ** (x / 10)) ** power``: `power` 1 gives power, 0.5 amplitude."""
    return ref * rl.pow(rl.pow(10.0, 0.1 * x), power)
