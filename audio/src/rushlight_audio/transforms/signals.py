"""Sums of signals: convolution, noise, emphasis."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F

__all__ = ["AddNoise", "Convolve", "Deemphasis", "FFTConvolve", "Preemphasis"]


def _require_mode(name: str, mode: str) -> None:
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"{name}(): mode must be 'full', 'valid' or 'same', got {mode!r}")


class AddNoise(nn.Module):
    """A waveform with noise: :func:`rushlight_audio.functional.add_noise`."""

    def forward(
        self,
        waveform: rl.Tensor,
        noise: rl.Tensor,
        snr: rl.Tensor,
        lengths: rl.Tensor | None = None,
    ) -> rl.Tensor:
        """``[..., T]``, with `snr` ``[...]`` in decibels."""
        return F.add_noise(waveform, noise, snr, lengths)


class Convolve(nn.Module):
    """The convolution of two signals, for short ones: :func:`rushlight_audio.functional.convolve`.

    Args:
        mode: ``"full"``, ``"valid"`` or ``"same"``.
    """

    def __init__(self, mode: str = "full") -> None:
        super().__init__()
        _require_mode("Convolve", mode)
        self.mode = mode

    def forward(self, x: rl.Tensor, y: rl.Tensor) -> rl.Tensor:
        """``[..., L]`` of ``[..., N]`` and ``[..., M]``."""
        return F.convolve(x, y, mode=self.mode)


class FFTConvolve(nn.Module):
    """The same by Fourier transforms: :func:`rushlight_audio.functional.fftconvolve`.

    Args:
        mode: ``"full"``, ``"valid"`` or ``"same"``.
    """

    def __init__(self, mode: str = "full") -> None:
        super().__init__()
        _require_mode("FFTConvolve", mode)
        self.mode = mode

    def forward(self, x: rl.Tensor, y: rl.Tensor) -> rl.Tensor:
        """``[..., L]`` of ``[..., N]`` and ``[..., M]``."""
        return F.fftconvolve(x, y, mode=self.mode)


class Preemphasis(nn.Module):
    """High frequencies raised: :func:`rushlight_audio.functional.preemphasis`.

    Args:
        coeff: of the sample before, in [0, 1].
    """

    def __init__(self, coeff: float = 0.97) -> None:
        super().__init__()
        self.coeff = coeff

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """``[..., T]``."""
        return F.preemphasis(waveform, coeff=self.coeff)


class Deemphasis(nn.Module):
    """:class:`Preemphasis` undone: :func:`rushlight_audio.functional.deemphasis`.

    Args:
        coeff: of the output before, in [0, 1].
    """

    def __init__(self, coeff: float = 0.97) -> None:
        super().__init__()
        self.coeff = coeff

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """``[..., T]``."""
        return F.deemphasis(waveform, coeff=self.coeff)
