"""What Whisper hears: logarithms of mel spectrograms of 30 seconds at 16 kHz."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_audio.functional import melscale_fbanks

__all__ = ["log_mel_spectrogram", "pad_or_trim"]

RATE = 16000
WINDOW = 400
HOP = 160
SECONDS = 30


def pad_or_trim(waveform: rl.Tensor, length: int = RATE * SECONDS) -> rl.Tensor:
    """The first `length` samples of ``[..., T]``, with zeros behind them where there are fewer."""
    missing = max(0, length - waveform.shape[-1])
    return nn.functional.pad(waveform[..., :length], (0, missing))


def log_mel_spectrogram(waveform: rl.Tensor, n_mels: int = 80) -> rl.Tensor:
    """Spectrograms ``[..., n_mels, T / 160]`` of waveforms ``[..., T]`` at 16 kHz, as the network
    was trained with them: the loudest 80 decibels, about between -1 and 1.

    `n_mels` is 80, and 128 for the ``large-v3`` sizes.
    """
    window = rl.hann_window(WINDOW, device=waveform.device)
    transformed = rl.stft(waveform, WINDOW, HOP, window=window, return_complex=True)
    power = transformed[..., :-1].abs().square()
    banks = melscale_fbanks(WINDOW // 2 + 1, 0.0, RATE / 2, n_mels, RATE, "slaney", "slaney")
    mel = (power.transpose(-1, -2) @ banks.to(power.device)).transpose(-1, -2)
    levels = mel.clamp(min=1e-10).log10()
    levels = rl.maximum(levels, levels.amax(dim=(-2, -1), keepdim=True) - 8.0)
    return (levels + 4.0) / 4.0
