"""A recurrent encoder of speakers (Wan et al., Generalized end-to-end loss for speaker
verification, 2017), of which the package ``Resemblyzer`` has weights.

Names of parameters and their shapes are the package's.
"""

from __future__ import annotations

import math
import os
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio.functional import melscale_fbanks

__all__ = ["SpeakerEncoder"]

RATE = 16000
WINDOW = 400
HOP = 160
BANDS = 40
FRAMES = 160  # of a part that is embedded at once: 1.6 seconds
PARTS_A_SECOND = 1.3
LEAST_SHARE = 0.75  # of the last part that must be sound
LOUDNESS = -30.0  # decibels that quieter sounds are brought to


class SpeakerEncoder(nn.Module):
    """Embeddings of 256 numbers with length 1; the cosine of two says how alike the speakers are.

    >>> model = SpeakerEncoder().eval()
    >>> model.embed(rl.randn(48000)).shape
    rushlight.Size([256])
    """

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(BANDS, 256, 3, batch_first=True)
        self.linear = nn.Linear(256, 256)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> SpeakerEncoder:
        """The network with the weights of ``pretrained.pt``, for evaluation."""
        checkpoint = rl.load(str(path), map_location="cpu", weights_only=True)
        state = checkpoint["model_state"]
        model = cls()
        kept = {key: value for key, value in state.items() if not key.startswith("similarity")}
        model.load_state_dict(kept)
        return model.eval()

    def forward(self, mels: rl.Tensor) -> rl.Tensor:
        """Embeddings ``[B, 256]`` of mel spectrograms ``[B, T, 40]``."""
        _, (hidden, _) = self.lstm(mels)
        return nn.functional.normalize(nn.functional.relu(self.linear(hidden[-1])), dim=1)

    @staticmethod
    def mel_spectrogram(waveform: rl.Tensor) -> rl.Tensor:
        """Spectrograms ``[..., T', 40]`` of power, of waveforms ``[..., T]`` at 16 kHz."""
        window = rl.hann_window(WINDOW, device=waveform.device)
        options: dict[str, Any] = {"window": window, "pad_mode": "constant", "return_complex": True}
        transformed = rl.stft(waveform, WINDOW, HOP, **options)
        banks = melscale_fbanks(WINDOW // 2 + 1, 0.0, RATE / 2, BANDS, RATE, "slaney", "slaney")
        return transformed.abs().square().transpose(-1, -2) @ banks.to(waveform.device)

    @rl.no_grad()
    def embed(self, waveform: rl.Tensor, sample_rate: int = RATE) -> rl.Tensor:
        """The embedding ``[256]`` of a waveform ``[T]``: the mean of those of parts of 1.6 seconds
        that overlap by half. A quiet waveform is made louder first; cut silences off yourself, such
        as with :class:`SileroVAD`."""
        if sample_rate != RATE:
            raise ValueError(
                f"SpeakerEncoder: the network is for {RATE} samples a second, got {sample_rate}; "
                "resample the waveform first"
            )
        if waveform.dim() != 1 or not len(waveform):
            raise ValueError(f"SpeakerEncoder: expected shape [time], got {list(waveform.shape)}")
        level = 10 * math.log10(max(float(waveform.square().mean()), 1e-20))
        louder = waveform * 10 ** (max(LOUDNESS - level, 0.0) / 20)
        starts = _starts(len(waveform))
        missing = max(0, (starts[-1] + FRAMES) * HOP - len(waveform))
        mel = self.mel_spectrogram(nn.functional.pad(louder, (0, missing)))
        parts = rl.stack([mel[start : start + FRAMES] for start in starts])
        return nn.functional.normalize(self(parts).mean(0), dim=0)


def _starts(samples: int) -> list[int]:
    """The first frames of the parts that a waveform is cut into."""
    frames = math.ceil((samples + 1) / HOP)
    step = round(RATE / PARTS_A_SECOND / HOP)
    starts = list(range(0, max(1, frames - FRAMES + step + 1), step))
    share = (samples - starts[-1] * HOP) / (FRAMES * HOP)
    return starts[:-1] if share < LEAST_SHARE and len(starts) > 1 else starts
