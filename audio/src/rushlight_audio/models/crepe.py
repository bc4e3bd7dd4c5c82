"""CREPE (Kim et al., CREPE: a convolutional representation for pitch estimation, 2018).

Names of parameters and their shapes are those of the package ``torchcrepe``.
"""

from __future__ import annotations

import math
import os
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional

__all__ = ["Crepe"]

RATE = 16000
FRAME = 1024
BINS = 360
CENTS = 20.0  # of a bin
FIRST = 1997.3794084376191  # cents of bin 0 above 10 Hz
CAPACITIES = {
    "full": (1024, 128, 128, 128, 256, 512),
    "tiny": (128, 16, 16, 16, 32, 64),
}
NEAR = 4  # bins on both sides of the best that count for the weighted mean
REACH = 12  # bins that pitch may move from frame to frame


class Crepe(nn.Module):
    """Pitch of frames of 1024 samples at 16 kHz: probabilities of 360 bins of 20 cents.

    Args:
        model: ``"full"`` (22.2 million parameters) or ``"tiny"`` (0.49 million).

    >>> model = Crepe("tiny").eval()
    >>> pitch, periodicity = model.pitch(rl.randn(1, 16000))
    >>> pitch.shape
    rushlight.Size([1, 101])
    """

    def __init__(self, model: str = "full"):
        super().__init__()
        if model not in CAPACITIES:
            raise ValueError(f"Crepe(): model is one of {', '.join(CAPACITIES)}, got {model!r}")
        self.model = model
        before = 1
        for number, channels in enumerate(CAPACITIES[model], 1):
            kernel, stride = ((512, 1), (4, 1)) if number == 1 else ((64, 1), (1, 1))
            self.add_module(f"conv{number}", nn.Conv2d(before, channels, kernel, stride))
            self.add_module(f"conv{number}_BN", nn.BatchNorm2d(channels, eps=0.001, momentum=0.0))
            before = channels
        self.classifier = nn.Linear(4 * before, BINS)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Crepe:
        """The network with the weights of ``full.pth`` or ``tiny.pth``, for evaluation."""
        state = rl.load(str(path), map_location="cpu", weights_only=True)
        channels = state["conv1.bias"].shape[0]
        sizes = {capacities[0]: name for name, capacities in CAPACITIES.items()}
        if channels not in sizes:
            raise ValueError(f"{path} has {channels} channels, expected one of {sorted(sizes)}")
        model = cls(sizes[channels])
        model.load_state_dict(state)
        return model.eval()

    def forward(self, frames: rl.Tensor) -> rl.Tensor:
        """Probabilities ``[N, 360]`` of normalised frames ``[N, 1024]``."""
        x = frames[:, None, :, None]
        for number in range(1, 7):
            pads = (254, 254) if number == 1 else (31, 32)
            x = getattr(self, f"conv{number}")(functional.pad(x, (0, 0, *pads)))
            x = getattr(self, f"conv{number}_BN")(functional.relu(x))
            x = functional.max_pool2d(x, (2, 1))
        return self.classifier(x.permute(0, 2, 1, 3).reshape(len(frames), -1)).sigmoid()

    @rl.no_grad()
    def probabilities(
        self,
        waveform: rl.Tensor,
        sample_rate: int = RATE,
        hop_length: int = 160,
        batch_size: int = 512,
    ) -> rl.Tensor:
        """Probabilities ``[B, frames, 360]`` of waveforms ``[B, T]``.

        A frame is centred at every `hop_length` samples; zeros stand around the waveform. As many
        frames as `batch_size` are computed at once.
        """
        if sample_rate != RATE:
            raise ValueError(
                f"Crepe: the network is for {RATE} samples a second, got {sample_rate}; resample "
                "the waveform first"
            )
        if waveform.dim() != 2:
            raise ValueError(f"Crepe: expected shape [batch, time], got {list(waveform.shape)}")
        count = 1 + waveform.shape[1] // hop_length
        padded = functional.pad(waveform, (FRAME // 2, FRAME // 2))
        frames = padded.unfold(1, FRAME, hop_length)[:, :count].reshape(-1, FRAME)
        frames = frames - frames.mean(1, keepdim=True)
        frames = frames / frames.std(1, keepdim=True).clamp(min=1e-10)
        found = rl.cat([self(part) for part in frames.split(batch_size)])
        return found.view(len(waveform), -1, BINS)

    def pitch(
        self,
        waveform: rl.Tensor,
        sample_rate: int = RATE,
        hop_length: int = 160,
        fmin: float = 50.0,
        fmax: float = 2006.0,
        decoder: str = "weighted",
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """Pitch in Hz and how sure it is (0 to 1), each ``[B, frames]``, of waveforms ``[B, T]``.

        Args:
            waveform: ``[B, T]``.
            sample_rate: 16000.
            hop_length: samples between frames.
            fmin: least pitch.
            fmax: greatest pitch.
            decoder: ``"argmax"``: the best bin; ``"weighted"``: the mean of the bins near it by
                their probabilities; ``"viterbi"``: the same around the best path.
        """
        if decoder not in ("argmax", "weighted", "viterbi"):
            raise ValueError(f"Crepe: decoder is argmax, weighted or viterbi, got {decoder!r}")
        scores = self.probabilities(waveform, sample_rate, hop_length)
        bins = rl.arange(BINS, device=scores.device)
        allowed = (bins >= math.floor(_bin(fmin))) & (bins < math.ceil(_bin(fmax)))
        masked = scores.masked_fill(~allowed, 0.0)
        best: Any = _paths(masked) if decoder == "viterbi" else masked.argmax(-1)
        periodicity = masked.gather(-1, best.unsqueeze(-1)).squeeze(-1)
        place = best.to(scores.dtype)
        if decoder != "argmax":
            near = (bins - best.unsqueeze(-1)).abs() <= NEAR
            weights = masked.masked_fill(~near, 0.0)
            place = (weights * bins).sum(-1) / weights.sum(-1).clamp(min=1e-20)
        return 10 * 2 ** ((CENTS * place + FIRST) / 1200), periodicity


def _bin(frequency: float) -> float:
    """The bin of a frequency in Hz."""
    return (1200 * math.log2(frequency / 10) - FIRST) / CENTS


def _paths(scores: rl.Tensor) -> rl.Tensor:
    """The best path of bins ``[B, T]`` through probabilities ``[B, T, bins]``, where a move of d
    bins up to 11 is as probable as 12 - d."""
    emissions = (scores / scores.sum(-1, keepdim=True).clamp(min=1e-20)).clamp(min=1e-20).log()
    bins = rl.arange(BINS, device=scores.device)
    moves = (REACH - (bins[:, None] - bins).abs()).clamp(min=0).to(scores.dtype)
    moves = (moves / moves.sum(1, keepdim=True)).clamp(min=1e-20).log()
    total = emissions[:, 0]
    froms = []
    for step in emissions.unbind(1)[1:]:
        total, back = (total.unsqueeze(2) + moves).max(1)
        froms.append(back)
        total = total + step
    path = [total.argmax(1)]
    for back in reversed(froms):
        path.append(back.gather(1, path[-1].unsqueeze(1)).squeeze(1))
    return rl.stack(path[::-1], 1)
