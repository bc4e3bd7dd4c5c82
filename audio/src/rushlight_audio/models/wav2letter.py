"""Wav2Letter (Collobert et al., Wav2Letter: an end-to-end ConvNet-based speech recognition system,
2016).

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

import rushlight as rl
from rushlight import nn

__all__ = ["Wav2Letter"]

WIDTH = 250
TOP_WIDTH = 2000
MIDDLE = 7  # convolutions of kernel 7 between the strided one and the wide ones
KINDS = ("waveform", "power_spectrum", "mfcc")


def _stack(*layers: nn.Conv1d) -> nn.Sequential:
    """Convolutions, each followed by a ReLU."""
    return nn.Sequential(*(each for layer in layers for each in (layer, nn.ReLU(inplace=True))))


class Wav2Letter(nn.Module):
    """Log probabilities of characters by convolutions alone.

    Args:
        num_classes: characters, blank included.
        input_type: ``"waveform"``, ``"power_spectrum"`` or ``"mfcc"``; of a waveform a first
            convolution makes frames.
        num_features: channels of the input.

    >>> Wav2Letter(num_classes=5)(rl.zeros(1, 1, 16000)).shape
    rushlight.Size([1, 5, 51])
    """

    def __init__(
        self, num_classes: int = 40, input_type: str = "waveform", num_features: int = 1
    ) -> None:
        super().__init__()
        if input_type not in KINDS:
            raise ValueError(f"Wav2Letter(): input_type {input_type!r} is none of {KINDS}")
        framed = input_type != "waveform"
        convolutions = _stack(
            nn.Conv1d(num_features if framed else WIDTH, WIDTH, 48, stride=2, padding=23),
            *(nn.Conv1d(WIDTH, WIDTH, 7, padding=3) for _ in range(MIDDLE)),
            nn.Conv1d(WIDTH, TOP_WIDTH, 32, padding=16),
            nn.Conv1d(TOP_WIDTH, TOP_WIDTH, 1),
            nn.Conv1d(TOP_WIDTH, num_classes, 1),
        )
        if framed:
            self.acoustic_model = convolutions
        else:
            framing = _stack(nn.Conv1d(num_features, WIDTH, 250, stride=160, padding=45))
            self.acoustic_model = nn.Sequential(framing, convolutions)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Log probabilities ``[B, num_classes, T']`` of `x` ``[B, num_features, T]``."""
        return nn.functional.log_softmax(self.acoustic_model(x), dim=1)
