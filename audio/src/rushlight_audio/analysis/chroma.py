"""Chroma: how much of each of the twelve pitch classes a sound holds. (Ellis, 2007.)"""

from __future__ import annotations

import math

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F

__all__ = ["Chromagram", "chroma_filters"]

_A0 = 27.5  # Hz


def chroma_filters(
    sample_rate: int,
    n_fft: int,
    n_chroma: int = 12,
    tuning: float = 0.0,
    center_octave: float | None = 5.0,
    octave_width: float = 2.0,
) -> rl.Tensor:
    """A matrix from the frequencies of a spectrogram to pitch classes, C first.

    Each frequency gives to the classes near its pitch, by a normal curve as wide as the distance to
    the next frequency; octaves far from the middle one count less.

    Args:
        sample_rate: samples per second.
        n_fft: length of a frame.
        n_chroma: how many classes, a multiple of 12.
        tuning: how much higher than 440 Hz the pitch A is, in classes.
        center_octave: the octave (from A0, 27.5 Hz) that counts most; None: all count equally.
        octave_width: deviation of that weight, in octaves.

    Returns:
        ``[n_chroma, n_fft // 2 + 1]`` float32, with columns of length 1 before the last weight.
    """
    if n_chroma < 12 or n_chroma % 12:
        raise ValueError(f"chroma_filters(): n_chroma must be a multiple of 12, got {n_chroma}")
    frequency = rl.arange(1, n_fft, dtype=rl.float64) * (sample_rate / n_fft)
    concert = _A0 * 2.0 ** (tuning / n_chroma)
    pitch = n_chroma * rl.log2(frequency / concert)
    pitch = rl.cat([pitch[:1] - 1.5 * n_chroma, pitch])  # where the constant part would be
    width = rl.cat([(pitch[1:] - pitch[:-1]).clamp(min=1.0), rl.ones(1, dtype=rl.float64)])
    half = round(n_chroma / 2)
    away = pitch - rl.arange(n_chroma, dtype=rl.float64).unsqueeze(1)
    away = (away + half + 10 * n_chroma).remainder(n_chroma) - half
    weights = rl.exp(-0.5 * (2 * away / width).square())
    weights = weights / weights.square().sum(0).sqrt().clamp(min=1e-300)
    if center_octave is not None:
        far = (pitch / n_chroma - center_octave) / octave_width
        weights = weights * rl.exp(-0.5 * far.square())
    return weights.roll(-3 * (n_chroma // 12), 0)[:, : n_fft // 2 + 1].to(rl.float32)


class Chromagram(nn.Module):
    """The pitch classes of each frame of a waveform ``[..., T]``: ``[..., n_chroma, frames]``.

    Args:
        sample_rate: samples per second.
        n_fft: length of a frame.
        hop_length: distance between frames; ``n_fft // 4`` by default.
        n_chroma: how many classes, a multiple of 12.
        tuning: see :func:`chroma_filters`.
        norm: divide each frame by its largest class.
    """

    def __init__(
        self,
        sample_rate: int = 22050,
        n_fft: int = 2048,
        hop_length: int | None = None,
        n_chroma: int = 12,
        tuning: float = 0.0,
        norm: bool = True,
    ):
        super().__init__()
        self.sample_rate = sample_rate
        self.n_fft = n_fft
        self.hop_length = n_fft // 4 if hop_length is None else hop_length
        self.norm = norm
        self.register_buffer("window", F.hann_window(n_fft))
        self.register_buffer("filters", chroma_filters(sample_rate, n_fft, n_chroma, tuning))

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """The classes; frames of silence stay 0."""
        power = F.spectrogram(
            waveform, 0, self.window, self.n_fft, self.hop_length, self.n_fft, 2.0, False,
            pad_mode="constant",
        )  # fmt: skip
        found = rl.matmul(self.filters, power)
        if not self.norm:
            return found
        return found / found.amax(-2, keepdim=True).clamp(min=math.sqrt(2.0**-126))
