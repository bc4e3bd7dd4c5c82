"""STOI, PESQ and SI-SDR of speech without the clean recording (Kumar et al., TorchAudio-Squim:
reference-less speech quality and intelligibility measures, 2023).

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

import math

import rushlight as rl
from rushlight import nn
from rushlight_audio.models.squim._dual_path import DPRNN, SingleRNN

__all__ = [
    "DPRNN",
    "SingleRNN",
    "SquimObjective",
    "squim_objective_base",
    "squim_objective_model",
]

LOUDNESS = 20  # inverse of the root mean square that waveforms are brought to


def transform_wb_pesq_range(x: float) -> float:
    """The wide-band score of a raw PESQ value (ITU-T P.862.2)."""
    return 0.999 + (4.999 - 0.999) / (1 + math.exp(-1.3669 * x + 3.8224))


PESQRange = (1.0, transform_wb_pesq_range(4.5))


class RangeSigmoid(nn.Module):
    """A sigmoid between the two ends of a range."""

    def __init__(self, val_range: tuple[float, float] = (0.0, 1.0)) -> None:
        super().__init__()
        self.val_range = val_range
        self.sigmoid = nn.Sigmoid()

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[*]`` of the same."""
        low, high = self.val_range
        return self.sigmoid(x) * (high - low) + low


class Encoder(nn.Module):
    """Learned features of windows that overlap by half."""

    def __init__(self, feat_dim: int = 512, win_len: int = 32) -> None:
        super().__init__()
        self.conv1d = nn.Conv1d(1, feat_dim, win_len, stride=win_len // 2, bias=False)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, feat_dim, T']`` of waveforms ``[B, T]``."""
        return nn.functional.relu(self.conv1d(x.unsqueeze(1)))


class AutoPool(nn.Module):
    """A mean over time whose weights grow with the values, by a learned factor."""

    def __init__(self, pool_dim: int = 1) -> None:
        super().__init__()
        self.pool_dim = pool_dim
        self.softmax = nn.Softmax(dim=pool_dim)
        self.alpha = nn.Parameter(rl.ones(1))

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """`x` without the dimension `pool_dim`."""
        return (x * self.softmax(x * self.alpha)).sum(dim=self.pool_dim)


class SquimObjective(nn.Module):
    """Estimates of several measures from one encoding.

    Args:
        encoder: makes features ``[B, F, T']`` of waveforms ``[B, T]``.
        dprnn: makes ``[B, T', D]`` of them.
        branches: makes ``[B, 1]`` of that, one for each measure.
    """

    def __init__(self, encoder: nn.Module, dprnn: nn.Module, branches: nn.ModuleList):
        super().__init__()
        self.encoder = encoder
        self.dprnn = dprnn
        self.branches = branches

    def forward(self, x: rl.Tensor) -> list[rl.Tensor]:
        """STOI, PESQ and SI-SDR, each ``[B]``, of waveforms ``[B, T]``."""
        if x.ndim != 2:
            raise ValueError(
                f"SquimObjective: expected waveforms of shape [batch, time], got {list(x.shape)}"
            )
        x = x / (x.square().mean(dim=1, keepdim=True).sqrt() * LOUDNESS)
        encoded = self.dprnn(self.encoder(x))
        return [branch(encoded).squeeze(dim=1) for branch in self.branches]


def _branch(d_model: int, nhead: int, metric: str) -> nn.Sequential:
    """Attention, a mean and two layers, in the range of the measure."""
    layer = nn.TransformerEncoderLayer(d_model, nhead, 4 * d_model, dropout=0.0, batch_first=True)
    head: list[nn.Module] = [nn.Linear(d_model, d_model), nn.PReLU(), nn.Linear(d_model, 1)]
    if metric == "stoi":
        head.append(RangeSigmoid())
    elif metric == "pesq":
        head.append(RangeSigmoid(val_range=PESQRange))
    return nn.Sequential(layer, AutoPool(), nn.Sequential(*head))


def squim_objective_model(
    feat_dim: int,
    win_len: int,
    d_model: int,
    nhead: int,
    hidden_dim: int,
    num_blocks: int,
    rnn_type: str,
    chunk_size: int,
    chunk_stride: int | None = None,
) -> SquimObjective:
    """A :class:`SquimObjective` of these sizes.

    Args:
        feat_dim: features of the encoder.
        win_len: samples of its windows.
        d_model: width of the branches.
        nhead: heads of their attention.
        hidden_dim: width of the recurrences.
        num_blocks: pairs of recurrences.
        rnn_type: ``"RNN"``, ``"LSTM"`` or ``"GRU"``.
        chunk_size: frames of a chunk.
        chunk_stride: between chunks; half of `chunk_size` by default.
    """
    stride = chunk_size // 2 if chunk_stride is None else chunk_stride
    encoder = Encoder(feat_dim, win_len)
    dprnn = DPRNN(feat_dim, hidden_dim, num_blocks, rnn_type, d_model, chunk_size, stride)
    branches = [_branch(d_model, nhead, metric) for metric in ("stoi", "pesq", "sisdr")]
    return SquimObjective(encoder, dprnn, nn.ModuleList(branches))


def squim_objective_base() -> SquimObjective:
    """The network of the paper, for 16 kHz."""
    return squim_objective_model(
        feat_dim=256,
        win_len=64,
        d_model=256,
        nhead=4,
        hidden_dim=256,
        num_blocks=2,
        rnn_type="LSTM",
        chunk_size=71,
    )
