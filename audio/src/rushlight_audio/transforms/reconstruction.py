"""Spectrograms back to sound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F
from rushlight_audio.functional.checks import from_rows, in_rows

__all__ = ["GriffinLim", "InverseMelScale", "InverseSpectrogram"]

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


class InverseSpectrogram(nn.Module):
    """The waveform of a complex spectrogram ``[..., n_fft // 2 + 1, frames]``.

    Args:
        n_fft: length of a frame.
        win_length: length of the window; `n_fft` by default.
        hop_length: distance between frames; half the window by default.
        pad: zeros that were put before and after the waveform.
        window_fn: gives the window of a length.
        normalized: see :func:`rushlight_audio.functional.spectrogram`, as for the rest.
        wkwargs: further arguments of `window_fn`.
        center: whether frame t is around sample ``t * hop_length``.
        pad_mode: unused, as in torchaudio.
        onesided: whether mirrored frequencies were left out.
    """

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window_fn: Callable[..., rl.Tensor] = F.hann_window,
        normalized: bool | str = False,
        wkwargs: dict[str, Any] | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool = True,
    ):
        super().__init__()
        self.n_fft = n_fft
        self.win_length = n_fft if win_length is None else win_length
        self.hop_length = self.win_length // 2 if hop_length is None else hop_length
        self.register_buffer("window", window_fn(self.win_length, **(wkwargs or {})))
        self.pad = pad
        self.normalized = normalized
        self.center = center
        self.pad_mode = pad_mode
        self.onesided = onesided

    def forward(self, spectrogram: rl.Tensor, length: int | None = None) -> rl.Tensor:
        """The waveform ``[..., T]``, of `length` samples where that is given."""
        return F.inverse_spectrogram(
            spectrogram,
            length,
            self.pad,
            self.window,
            self.n_fft,
            self.hop_length,
            self.win_length,
            self.normalized,
            self.center,
            self.pad_mode,
            self.onesided,
        )


class GriffinLim(nn.Module):
    """A waveform with nearly the spectrogram ``[..., n_fft // 2 + 1, frames]``.

    The arguments are those of :func:`rushlight_audio.functional.griffinlim` and
    :class:`InverseSpectrogram`.
    """

    def __init__(
        self,
        n_fft: int = 400,
        n_iter: int = 32,
        win_length: int | None = None,
        hop_length: int | None = None,
        window_fn: Callable[..., rl.Tensor] = F.hann_window,
        power: float = 2.0,
        wkwargs: dict[str, Any] | None = None,
        momentum: float = 0.99,
        length: int | None = None,
        rand_init: bool = True,
    ):
        super().__init__()
        if not 0 <= momentum < 1:
            raise ValueError(f"GriffinLim(): momentum must be in [0, 1), got {momentum}")
        self.n_fft = n_fft
        self.n_iter = n_iter
        self.win_length = n_fft if win_length is None else win_length
        self.hop_length = self.win_length // 2 if hop_length is None else hop_length
        self.register_buffer("window", window_fn(self.win_length, **(wkwargs or {})))
        self.length = length
        self.power = power
        self.momentum = momentum
        self.rand_init = rand_init

    def forward(self, specgram: rl.Tensor) -> rl.Tensor:
        """The waveform ``[..., T]``."""
        return F.griffinlim(
            specgram,
            self.window,
            self.n_fft,
            self.hop_length,
            self.win_length,
            self.power,
            self.n_iter,
            self.momentum,
            self.length,
            self.rand_init,
        )


class InverseMelScale(nn.Module):
    """A spectrogram ``[..., n_stft, T]`` whose mel bands are nearly those given, by least squares.

    Args:
        n_stft: frequencies of the spectrogram.
        n_mels: number of bands.
        sample_rate: of the waveform.
        f_min: where the first band begins, in Hz.
        f_max: where the last ends; ``sample_rate // 2`` by default.
        norm: see :func:`rushlight_audio.functional.melscale_fbanks`.
        mel_scale: ``"htk"`` or ``"slaney"``.
        driver: of :func:`rushlight.linalg.lstsq`: ``"gels"``, ``"gelsy"``, ``"gelsd"`` or
            ``"gelss"``.
    """

    def __init__(
        self,
        n_stft: int,
        n_mels: int = 128,
        sample_rate: int = 16000,
        f_min: float = 0.0,
        f_max: float | None = None,
        norm: str | None = None,
        mel_scale: str = "htk",
        driver: str = "gels",
    ):
        super().__init__()
        self.n_mels = n_mels
        self.sample_rate = sample_rate
        self.f_max = float(sample_rate // 2) if f_max is None else f_max
        self.f_min = f_min
        self.driver = driver
        if driver not in DRIVERS:
            raise ValueError(f"InverseMelScale(): driver must be one of {DRIVERS}, got {driver!r}")
        filters = F.melscale_fbanks(n_stft, f_min, self.f_max, n_mels, sample_rate, norm, mel_scale)
        self.register_buffer("fb", filters)

    def forward(self, melspec: rl.Tensor) -> rl.Tensor:
        """The spectrogram of bands ``[..., n_mels, T]``, which has no negative numbers."""
        if melspec.dim() < 2 or melspec.shape[-2] != self.n_mels:
            raise ValueError(
                f"InverseMelScale: expected a spectrogram of shape [..., {self.n_mels}, T], got "
                f"{list(melspec.shape)}"
            )
        rows = in_rows(melspec, 2)
        filters = self.fb.transpose(-1, -2).unsqueeze(0).expand(rows.shape[0], -1, -1)
        found = rl.linalg.lstsq(filters, rows, driver=self.driver).solution.relu()
        return from_rows(found, melspec.shape[:-2])
