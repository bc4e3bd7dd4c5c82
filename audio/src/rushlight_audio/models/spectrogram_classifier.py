"""A small convolutional network on mel spectrograms in decibels."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as rl
from rushlight import nn
from rushlight_audio.transforms import AmplitudeToDB, MelSpectrogram

__all__ = ["SpectrogramClassifier"]

TOP_DB = 80.0


class SpectrogramClassifier(nn.Module):
    """Classify a waveform: mel spectrogram, decibels, convolutions, mean over what is left.

    The decibels of each waveform are shifted and scaled to mean 0 and deviation 1, so loudness does
    not count. Each block is a 3x3 convolution, batch normalization, ReLU and 2x2 pooling. All of it
    is differentiable, down to the waveform.

    Args:
        num_classes: classes.
        sample_rate: of the waveforms.
        n_fft: length of a frame.
        hop_length: distance between frames; half a frame by default.
        n_mels: mel bands.
        channels: width of each block.
        dropout: share of the pooled features that is dropped in training.
    """

    def __init__(
        self,
        num_classes: int,
        sample_rate: int = 16000,
        *,
        n_fft: int = 512,
        hop_length: int | None = None,
        n_mels: int = 40,
        channels: Sequence[int] = (16, 32),
        dropout: float = 0.0,
    ):
        super().__init__()
        if num_classes < 1 or not channels:
            raise ValueError(
                "SpectrogramClassifier(): needs at least one class and one block, got "
                f"num_classes={num_classes}, channels={tuple(channels)}"
            )
        self.spectrogram = MelSpectrogram(
            sample_rate=sample_rate, n_fft=n_fft, hop_length=hop_length, n_mels=n_mels
        )
        self.decibel = AmplitudeToDB("power", TOP_DB)
        blocks = []
        before = 1
        for width in channels:
            blocks += [
                nn.Conv2d(before, width, 3, padding=1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.MaxPool2d(2),
            ]
            before = width
        self.features = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d((4, 1))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(4 * before, num_classes)

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, num_classes]`` of waveforms ``[B, T]`` or ``[B, 1, T]``."""
        if waveform.dim() == 2:
            waveform = waveform.unsqueeze(1)
        if waveform.dim() != 3 or waveform.shape[1] != 1:
            raise ValueError(
                "SpectrogramClassifier: expected waveforms of shape [B, T] or [B, 1, T], got "
                f"{list(waveform.shape)}"
            )
        levels = self.decibel(self.spectrogram(waveform))
        mean = levels.mean(dim=(-2, -1), keepdim=True)
        deviation = levels.std(dim=(-2, -1), keepdim=True)
        image = (levels - mean) / (deviation + 1e-5)
        pooled = self.pool(self.features(image))
        return self.fc(self.dropout(pooled.flatten(1)))
