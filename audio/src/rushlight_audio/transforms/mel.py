"""Mel spectrograms and their cepstral coefficients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F
from rushlight_audio.transforms.decibel import AmplitudeToDB
from rushlight_audio.transforms.spectrogram import Spectrogram

__all__ = ["MFCC", "MelScale", "MelSpectrogram"]

LOG_OFFSET = 1e-6


class MelScale(nn.Module):
    """A spectrogram ``[..., n_stft, T]`` summed into mel bands ``[..., n_mels, T]``.

    Args:
        n_mels: number of bands.
        sample_rate: of the waveform.
        f_min: where the first band begins, in Hz.
        f_max: where the last ends; ``sample_rate // 2`` by default.
        n_stft: frequencies of the spectrogram.
        norm: see :func:`rushlight_audio.functional.melscale_fbanks`.
        mel_scale: ``"htk"`` or ``"slaney"``.
    """

    def __init__(
        self,
        n_mels: int = 128,
        sample_rate: int = 16000,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_stft: int = 201,
        norm: str | None = None,
        mel_scale: str = "htk",
    ):
        super().__init__()
        self.n_mels = n_mels
        self.sample_rate = sample_rate
        self.f_min = f_min
        self.f_max = float(sample_rate // 2) if f_max is None else f_max
        self.norm = norm
        self.mel_scale = mel_scale
        filters = F.melscale_fbanks(n_stft, f_min, self.f_max, n_mels, sample_rate, norm, mel_scale)
        self.register_buffer("fb", filters)

    def forward(self, specgram: rl.Tensor) -> rl.Tensor:
        """The bands; ValueError when the spectrogram has another number of frequencies."""
        if specgram.dim() < 2 or specgram.shape[-2] != self.fb.shape[0]:
            raise ValueError(
                f"MelScale: expected a spectrogram of shape [..., {self.fb.shape[0]}, T] "
                f"(n_stft={self.fb.shape[0]}), got {list(specgram.shape)}"
            )
        return rl.matmul(specgram.transpose(-1, -2), self.fb).transpose(-1, -2)


class MelSpectrogram(nn.Module):
    """A waveform ``[..., T]`` to mel bands ``[..., n_mels, frames]``.

    :class:`Spectrogram`, then :class:`MelScale`; the arguments are theirs.
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        f_min: float = 0.0,
        f_max: float | None = None,
        pad: int = 0,
        n_mels: int = 128,
        window_fn: Callable[..., rl.Tensor] = F.hann_window,
        power: float = 2.0,
        normalized: bool | str = False,
        wkwargs: dict[str, Any] | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool | None = None,
        norm: str | None = None,
        mel_scale: str = "htk",
    ):
        super().__init__()
        if onesided is False:
            raise ValueError("MelSpectrogram(): mel filters need a onesided spectrogram")
        self.sample_rate = sample_rate
        self.n_fft = n_fft
        self.n_mels = n_mels
        self.spectrogram = Spectrogram(
            n_fft=n_fft,
            win_length=win_length,
            hop_length=hop_length,
            pad=pad,
            window_fn=window_fn,
            power=power,
            normalized=normalized,
            wkwargs=wkwargs,
            center=center,
            pad_mode=pad_mode,
        )
        self.win_length = self.spectrogram.win_length
        self.hop_length = self.spectrogram.hop_length
        self.mel_scale = MelScale(
            n_mels, sample_rate, f_min, f_max, n_fft // 2 + 1, norm, mel_scale
        )

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """The bands."""
        return self.mel_scale(self.spectrogram(waveform))


class MFCC(nn.Module):
    """Mel-frequency cepstral coefficients ``[..., n_mfcc, frames]`` of a waveform ``[..., T]``.

    Args:
        sample_rate: of the waveform.
        n_mfcc: coefficients to keep.
        dct_type: 2, the only one.
        norm: ``"ortho"`` or None, for the cosine transform.
        log_mels: take ``log(mel + 1e-6)`` instead of decibels within 80 of the maximum.
        melkwargs: arguments of :class:`MelSpectrogram`.
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_mfcc: int = 40,
        dct_type: int = 2,
        norm: str | None = "ortho",
        log_mels: bool = False,
        melkwargs: dict[str, Any] | None = None,
    ):
        super().__init__()
        if dct_type != 2:
            raise ValueError(f"MFCC(): dct_type must be 2, got {dct_type}")
        self.sample_rate = sample_rate
        self.n_mfcc = n_mfcc
        self.dct_type = dct_type
        self.norm = norm
        self.log_mels = log_mels
        self.top_db = 80.0
        self.amplitude_to_DB = AmplitudeToDB("power", self.top_db)
        self.MelSpectrogram = MelSpectrogram(sample_rate=sample_rate, **(melkwargs or {}))
        bands = self.MelSpectrogram.n_mels
        if n_mfcc > bands:
            raise ValueError(
                f"MFCC(): n_mfcc must not exceed the number of mel bands, {bands}; got {n_mfcc}"
            )
        self.register_buffer("dct_mat", F.create_dct(n_mfcc, bands, norm))

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """The coefficients."""
        bands = self.MelSpectrogram(waveform)
        levels = (bands + LOG_OFFSET).log() if self.log_mels else self.amplitude_to_DB(bands)
        return rl.matmul(levels.transpose(-1, -2), self.dct_mat).transpose(-1, -2)
