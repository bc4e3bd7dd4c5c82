"""A label for a clip, by a small convolutional network over its mel spectrogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio.transforms import MelSpectrogram
from rushlight_audio.zoo.files import Packaged
from rushlight_audio.zoo.sounds import Sound, heard, log_mels

__all__ = ["ClipClassifier"]


class ClipClassifier(Packaged):
    """Four convolutions over a mel spectrogram, mean and maximum over time, a linear layer.

    Args:
        labels: names of the classes.
        rate: samples a second of what the network hears.
        n_fft, hop, mels: of the spectrogram.
        width: channels of the first convolution; the others have two and four times as many.
        dropout: before the last layer, in training.

    >>> import rushlight as rl
    >>> from rushlight_audio.zoo import ClipClassifier
    >>> network = ClipClassifier(["cat", "dog"], rate=8000)
    >>> network(rl.randn(3, 4000)).shape
    rushlight.Size([3, 2])
    """

    def __init__(
        self,
        labels: Sequence[str],
        rate: int,
        n_fft: int = 512,
        hop: int = 128,
        mels: int = 40,
        width: int = 16,
        dropout: float = 0.3,
    ) -> None:
        super().__init__()
        self.config = {
            "labels": list(labels), "rate": rate, "n_fft": n_fft, "hop": hop, "mels": mels,
            "width": width, "dropout": dropout,
        }  # fmt: skip
        self.labels, self.rate = list(labels), rate
        self.spectrogram = MelSpectrogram(rate, n_fft, hop_length=hop, n_mels=mels)
        sizes = [1, width, 2 * width, 4 * width, 4 * width]
        layers: list[nn.Module] = []
        for number, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False)):
            layers += [nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
            if number < 3:
                layers.append(nn.MaxPool2d(2, ceil_mode=True))
        self.layers = nn.Sequential(*layers)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(8 * width * (-(-mels // 8)), len(self.labels))

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, labels]`` of waveforms ``[B, T]`` at the network's rate."""
        found = self.layers(log_mels(self.spectrogram, waveform).unsqueeze(1)).flatten(1, 2)
        pooled = rl.cat([found.mean(-1), found.amax(-1)], -1)
        return self.head(self.dropout(pooled))

    @rl.no_grad()
    def predict(self, sound: Sound, sample_rate: int | None = None) -> dict[str, Any]:
        """The most likely label of a sound and its probability.

        Args:
            sound: a path, a file object, or a waveform ``[C, T]`` or ``[T]``.
            sample_rate: of a waveform.
        """
        shares = self.forward(heard(sound, sample_rate, self.rate)[None])[0].softmax(-1)
        best = int(shares.argmax())
        return {"label": self.labels[best], "score": float(shares[best])}
