"""Cepstral coefficients of linear bands."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F
from rushlight_audio.transforms.decibel import AmplitudeToDB
from rushlight_audio.transforms.spectrogram import Spectrogram

__all__ = ["LFCC"]

LOG_OFFSET = 1e-6


class LFCC(nn.Module):
    """Linear-frequency cepstral coefficients ``[..., n_lfcc, frames]`` of a waveform ``[..., T]``.

    Args:
        sample_rate: of the waveform.
        n_filter: number of bands.
        f_min: where the first band begins, in Hz.
        f_max: where the last ends; ``sample_rate // 2`` by default.
        n_lfcc: coefficients to keep.
        dct_type: 2, the only one.
        norm: ``"ortho"`` or None, for the cosine transform.
        log_lf: take ``log(band + 1e-6)`` instead of decibels within 80 of the maximum.
        speckwargs: arguments of :class:`Spectrogram`.
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_filter: int = 128,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_lfcc: int = 40,
        dct_type: int = 2,
        norm: str = "ortho",
        log_lf: bool = False,
        speckwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if dct_type != 2:
            raise ValueError(f"LFCC(): dct_type must be 2, got {dct_type}")
        self.sample_rate = sample_rate
        self.f_min = f_min
        self.f_max = float(sample_rate // 2) if f_max is None else f_max
        self.n_filter = n_filter
        self.n_lfcc = n_lfcc
        self.dct_type = dct_type
        self.norm = norm
        self.top_db = 80.0
        self.amplitude_to_DB = AmplitudeToDB("power", self.top_db)
        self.Spectrogram = Spectrogram(**(speckwargs or {}))
        if n_lfcc > self.Spectrogram.n_fft:
            raise ValueError(
                f"LFCC(): n_lfcc must not exceed n_fft, {self.Spectrogram.n_fft}; got {n_lfcc}"
            )
        filters = F.linear_fbanks(
            self.Spectrogram.n_fft // 2 + 1, self.f_min, self.f_max, n_filter, sample_rate
        )
        self.register_buffer("filter_mat", filters)
        self.register_buffer("dct_mat", F.create_dct(n_lfcc, n_filter, norm))
        self.log_lf = log_lf

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """The coefficients."""
        spectrum = self.Spectrogram(waveform).transpose(-1, -2)
        bands = rl.matmul(spectrum, self.filter_mat).transpose(-1, -2)
        levels = (bands + LOG_OFFSET).log() if self.log_lf else self.amplitude_to_DB(bands)
        return rl.matmul(levels.transpose(-1, -2), self.dct_mat).transpose(-1, -2)
