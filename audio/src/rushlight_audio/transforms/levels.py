"""Volume, fades, loudness, companding."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F

__all__ = ["Fade", "Loudness", "MuLawDecoding", "MuLawEncoding", "Vol"]

GAINS = ("amplitude", "power", "db")
SHAPES = ("linear", "exponential", "logarithmic", "quarter_sine", "half_sine")


def _faded(shape: str, share: rl.Tensor) -> rl.Tensor:
    """What a fade-in is at a share of its way; a fade-out runs it backwards."""
    if shape == "exponential":
        return rl.pow(2, share - 1) * share
    if shape == "logarithmic":
        return rl.log10(0.1 + share) + 1
    if shape == "quarter_sine":
        return rl.sin(share * math.pi / 2)
    if shape == "half_sine":
        return rl.sin(share * math.pi - math.pi / 2) / 2 + 0.5
    return share


class Fade(nn.Module):
    """A waveform that comes from silence and goes back.

    Args:
        fade_in_len: samples of the fade-in.
        fade_out_len: samples of the fade-out.
        fade_shape: ``"linear"``, ``"exponential"``, ``"logarithmic"``, ``"quarter_sine"`` or
            ``"half_sine"``.
    """

    def __init__(
        self, fade_in_len: int = 0, fade_out_len: int = 0, fade_shape: str = "linear"
    ) -> None:
        super().__init__()
        if fade_shape not in SHAPES:
            raise ValueError(f"Fade(): fade_shape must be one of {SHAPES}, got {fade_shape!r}")
        self.fade_in_len = fade_in_len
        self.fade_out_len = fade_out_len
        self.fade_shape = fade_shape

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """The waveform ``[..., T]``."""
        length, longest = waveform.shape[-1], max(self.fade_in_len, self.fade_out_len)
        if longest > length:
            raise RuntimeError(f"Fade: a fade of {longest} samples, the waveform has {length}")
        come = self.curve(self.fade_in_len, length, waveform.device)
        go = self.curve(self.fade_out_len, length, waveform.device).flip(0)
        return come * go * waveform

    def curve(self, count: int, length: int, device: rl.device) -> rl.Tensor:
        """A fade-in of `count` samples, then ones, ``[length]``."""
        share = rl.linspace(0, 1, count, device=device)
        curve = _faded(self.fade_shape, share).clamp(0, 1)
        return rl.cat([curve, rl.ones(length - count, device=device)])


class Vol(nn.Module):
    """A waveform at another volume, limited to [-1, 1].

    Args:
        gain: how much.
        gain_type: ``"amplitude"``: a factor; ``"power"``: one of the power; ``"db"``: decibels.
    """

    def __init__(self, gain: float, gain_type: str = "amplitude"):
        super().__init__()
        if gain_type not in GAINS:
            raise ValueError(f"Vol(): gain_type must be one of {GAINS}, got {gain_type!r}")
        if gain_type != "db" and gain < 0:
            raise ValueError(f"Vol(): gain must not be negative for {gain_type!r}, got {gain}")
        self.gain = gain
        self.gain_type = gain_type

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """The waveform ``[..., T]``."""
        if self.gain_type == "amplitude":
            louder = rl.mul(waveform, self.gain)
        else:
            decibel = self.gain if self.gain_type == "db" else 10 * math.log10(self.gain)
            louder = F.gain(waveform, decibel)
        return louder.clamp(-1, 1)


class Loudness(nn.Module):
    """The loudness of a waveform in LKFS: :func:`rushlight_audio.functional.loudness`.

    Args:
        sample_rate: samples per second.
    """

    def __init__(self, sample_rate: int):
        super().__init__()
        self.sample_rate = sample_rate

    def forward(self, wavefrom: rl.Tensor) -> rl.Tensor:
        """``[...]`` of ``[..., channels, T]``."""
        return F.loudness(wavefrom, self.sample_rate)


class MuLawEncoding(nn.Module):
    """Levels (int64) of a signal from -1 to 1: :func:`rushlight_audio.functional.mu_law_encoding`.

    Args:
        quantization_channels: how many levels.
    """

    def __init__(self, quantization_channels: int = 256) -> None:
        super().__init__()
        self.quantization_channels = quantization_channels

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The levels, in the shape of `x`."""
        return F.mu_law_encoding(x, self.quantization_channels)


class MuLawDecoding(nn.Module):
    """The signal of levels that :class:`MuLawEncoding` gave.

    Args:
        quantization_channels: how many levels.
    """

    def __init__(self, quantization_channels: int = 256) -> None:
        super().__init__()
        self.quantization_channels = quantization_channels

    def forward(self, x_mu: rl.Tensor) -> rl.Tensor:
        """The signal, in the shape of `x_mu`."""
        return F.mu_law_decoding(x_mu, self.quantization_channels)
