"""Cepstra back to mel spectrograms and sound."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F
from rushlight_audio.transforms.mel import MFCC
from rushlight_audio.transforms.reconstruction import GriffinLim, InverseMelScale

__all__ = ["InverseMFCC"]


class InverseMFCC(nn.Module):
    """The mel spectrogram, or the sound, of coefficients ``[..., n_mfcc, frames]``.

    The cosine transform is undone with zeros for the coefficients that were left out, which makes
    the bands smooth; the sound is that of the least squares of the mel filters and of
    :class:`rushlight_audio.transforms.GriffinLim`.

    Args:
        transform: the :class:`rushlight_audio.transforms.MFCC` that gave the coefficients.
        n_iter: rounds of Griffin and Lim's method.

    Example:
        >>> from rushlight_audio.transforms import MFCC
        >>> cepstra = MFCC(8000, 13, melkwargs={"n_fft": 256, "n_mels": 20})
        >>> InverseMFCC(cepstra)(cepstra(rl.randn(2, 4000))).shape
        rushlight.Size([2, 20, 32])
    """

    def __init__(self, transform: MFCC, n_iter: int = 32) -> None:
        super().__init__()
        mel, spectrum = transform.MelSpectrogram, transform.MelSpectrogram.spectrogram
        if not spectrum.power:
            raise ValueError("InverseMFCC(): the spectrogram must have a power, not None")
        self.norm = transform.norm
        self.log_mels = transform.log_mels
        self.n_mels = mel.n_mels
        self.register_buffer("dct_mat", transform.dct_mat.detach().clone())
        options: dict[str, Any] = {"norm": mel.mel_scale.norm, "driver": "gelsd"}
        self.inverse_mel = InverseMelScale(
            mel.n_fft // 2 + 1,
            mel.n_mels,
            mel.sample_rate,
            mel.mel_scale.f_min,
            mel.mel_scale.f_max,
            mel_scale=mel.mel_scale.mel_scale,
            **options,
        )
        self.inverse_mel.fb = mel.mel_scale.fb.detach().clone()
        self.griffin_lim = GriffinLim(
            mel.n_fft, n_iter, mel.win_length, mel.hop_length, power=spectrum.power
        )
        self.griffin_lim.window = spectrum.window.detach().clone()

    def forward(self, cepstra: rl.Tensor) -> rl.Tensor:
        """The mel spectrogram ``[..., n_mels, frames]``."""
        if cepstra.dim() < 2 or cepstra.shape[-2] != self.dct_mat.shape[1]:
            raise ValueError(
                f"InverseMFCC: expected [..., {self.dct_mat.shape[1]}, frames], got "
                f"{list(cepstra.shape)}"
            )
        inverse = self.dct_mat
        if self.norm is None:  # columns are 2 cos: of length sqrt(2 n), the first sqrt(4 n)
            weight = rl.full((inverse.shape[1],), 1 / (2 * self.n_mels))
            weight[0] = 1 / (4 * self.n_mels)
            inverse = inverse * weight.to(inverse.device, inverse.dtype)
        levels = rl.matmul(inverse, cepstra)
        if self.log_mels:
            return (levels.exp() - 1e-6).clamp(min=0)
        return F.DB_to_amplitude(levels, 1.0, 1.0)

    def waveform(self, cepstra: rl.Tensor) -> rl.Tensor:
        """A waveform ``[..., T]`` that sounds like the coefficients."""
        return self.griffin_lim(self.inverse_mel(self(cepstra)))
