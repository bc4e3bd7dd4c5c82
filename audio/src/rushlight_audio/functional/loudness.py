"""Loudness as broadcasters measure it."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight_audio.functional.biquads import highpass_biquad, treble_biquad
from rushlight_audio.functional.checks import require_waveform

__all__ = ["loudness"]

_SECONDS, _OVERLAP = 0.4, 0.75
_SILENCE = -70.0  # LKFS below which a block does not count
_OFFSET = -0.691  # makes the filters neutral at 997 Hz
_WEIGHTS = (1.0, 1.0, 1.0, 1.41, 1.41)  # left, right, centre, surround


def loudness(waveform: rl.Tensor, sample_rate: int) -> rl.Tensor:
    """The loudness in LKFS by ITU-R BS.1770-4, blocks below the gates left out.

    Args:
        waveform: ``[..., channels, T]``, at most 5 channels.
        sample_rate: samples per second.

    Returns:
        ``[...]``; NaN where no block is loud enough.
    """
    require_waveform("loudness", waveform, least=2)
    if waveform.shape[-2] > len(_WEIGHTS):
        raise ValueError(
            f"loudness(): at most {len(_WEIGHTS)} channels, got shape {list(waveform.shape)}"
        )
    size = int(round(_SECONDS * sample_rate))
    step = int(round(size * (1 - _OVERLAP)))
    if waveform.shape[-1] < size:
        raise ValueError(
            f"loudness(): a block of 0.4 s needs {size} samples, got shape {list(waveform.shape)}"
        )
    filtered = treble_biquad(waveform, sample_rate, 4.0, 1500.0, 1 / math.sqrt(2))
    filtered = highpass_biquad(filtered, sample_rate, 38.0, 0.5)
    energy = filtered.square().unfold(-1, size, step).mean(-1)
    weights = rl.tensor(list(_WEIGHTS), dtype=waveform.dtype, device=waveform.device)
    weights = weights[: energy.shape[-2]].unsqueeze(-1)
    blocks = _level(energy, weights)
    heard = rl.gt(blocks, _SILENCE)
    relative = _gated(energy, weights, heard) - 10
    return _gated(energy, weights, heard & (blocks > relative.unsqueeze(-1)))


def _level(energy: rl.Tensor, weights: rl.Tensor) -> rl.Tensor:
    """The level ``[..., blocks]`` of energies ``[..., channels, blocks]``."""
    return _OFFSET + 10 * (energy * weights).sum(-2).log10()


def _gated(energy: rl.Tensor, weights: rl.Tensor, blocks: rl.Tensor) -> rl.Tensor:
    """The level of the mean over some of the blocks."""
    counted = blocks.unsqueeze(-2)
    mean = (counted * energy).sum(-1) / counted.count_nonzero(-1)
    return _level(mean.unsqueeze(-1), weights).squeeze(-1)
