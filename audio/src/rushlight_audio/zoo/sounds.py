"""What packaged networks hear: one channel at the network's rate."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import rushlight as rl
from rushlight_audio.functional import resample
from rushlight_audio.io import load

__all__ = ["Sound", "heard", "log_mels"]

Sound = str | os.PathLike[str] | BinaryIO | rl.Tensor


def heard(sound: Sound, sample_rate: int | None, rate: int) -> rl.Tensor:
    """A sound as ``[T]`` in float32 at `rate`, its channels averaged.

    Args:
        sound: a path, a file object, or a waveform ``[C, T]`` or ``[T]``.
        sample_rate: of a waveform; a file says it itself.
        rate: of the result.

    Raises:
        ValueError: a waveform without `sample_rate`, of other dimensions or without samples.
    """
    if isinstance(sound, rl.Tensor):
        if sample_rate is None:
            raise ValueError("a waveform needs its sample_rate, which was None")
        if sound.dim() not in (1, 2) or not sound.numel():
            raise ValueError(f"expected a waveform [C, T] or [T], got shape {list(sound.shape)}")
        waveform, found = sound.float(), int(sample_rate)
    else:
        waveform, found = load(sound)
    waveform = waveform.reshape(-1, waveform.shape[-1]).mean(0)
    return waveform if found == rate else resample(waveform, found, rate)


def log_mels(transform: Any, waveform: rl.Tensor) -> rl.Tensor:
    """Logarithms of a mel spectrogram ``[..., mels, frames]``, at most 8 below the loudest: the
    level of a recording says nothing."""
    values = (transform(waveform) + 1e-10).log10()
    loudest = values.amax((-2, -1), keepdim=True)
    return (values - loudest).clamp(min=-8.0) / 4 + 1
