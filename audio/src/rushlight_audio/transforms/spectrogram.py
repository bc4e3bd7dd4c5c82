"""Spectrograms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F

__all__ = ["Spectrogram"]


class Spectrogram(nn.Module):
    """The spectrogram of a waveform ``[..., T]`` as ``[..., n_fft // 2 + 1, frames]``.

    Args:
        n_fft: length of a frame.
        win_length: length of the window; `n_fft` by default.
        hop_length: distance between frames; half the window by default.
        pad: zeros put before and after the waveform.
        window_fn: gives the window of a length.
        power: exponent of the magnitude; None for complex numbers.
        normalized: see :func:`rushlight_audio.functional.spectrogram`, as for the rest.
        wkwargs: further arguments of `window_fn`.
        center: put frame t around sample ``t * hop_length``.
        pad_mode: how the ends are then padded.
        onesided: leave out the frequencies that mirror others.
        return_complex: unused, as in torchaudio.
    """

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window_fn: Callable[..., rl.Tensor] = F.hann_window,
        power: float | None = 2.0,
        normalized: bool | str = False,
        wkwargs: dict[str, Any] | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool = True,
        return_complex: bool | None = None,
    ):
        super().__init__()
        self.n_fft = n_fft
        self.win_length = n_fft if win_length is None else win_length
        self.hop_length = self.win_length // 2 if hop_length is None else hop_length
        self.register_buffer("window", window_fn(self.win_length, **(wkwargs or {})))
        self.pad = pad
        self.power = power
        self.normalized = normalized
        self.center = center
        self.pad_mode = pad_mode
        self.onesided = onesided
        self.return_complex = return_complex

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """The spectrogram."""
        return F.spectrogram(
            waveform,
            self.pad,
            self.window,
            self.n_fft,
            self.hop_length,
            self.win_length,
            self.power,
            self.normalized,
            self.center,
            self.pad_mode,
            self.onesided,
            self.return_complex,
        )
