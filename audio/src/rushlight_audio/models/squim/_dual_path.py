"""A recurrence along two ways (Luo et al., Dual-path RNN: efficient long sequence modeling for
time-domain single-channel speech separation, 2019): inside of chunks and across them."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn

__all__ = ["DPRNN", "SingleRNN"]

NORM_EPS = 1e-8


class SingleRNN(nn.Module):
    """A recurrence both ways and a projection to the width of its input."""

    def __init__(
        self, rnn_type: str, input_size: int, hidden_size: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.rnn_type = rnn_type
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.rnn: nn.Module = getattr(nn, rnn_type)(
            input_size, hidden_size, 1, dropout=dropout, batch_first=True, bidirectional=True
        )
        self.proj = nn.Linear(2 * hidden_size, input_size)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        return self.proj(self.rnn(x)[0])


class DPRNN(nn.Module):
    """Half-overlapping chunks, recurrences inside of and across them, a projection, their sum."""

    def __init__(
        self,
        feat_dim: int = 64,
        hidden_dim: int = 128,
        num_blocks: int = 6,
        rnn_type: str = "LSTM",
        d_model: int = 256,
        chunk_size: int = 100,
        chunk_stride: int = 50,
    ) -> None:
        super().__init__()
        self.num_blocks = num_blocks
        self.row_rnn = nn.ModuleList()
        self.col_rnn = nn.ModuleList()
        self.row_norm = nn.ModuleList()
        self.col_norm = nn.ModuleList()
        for _ in range(num_blocks):
            self.row_rnn.append(SingleRNN(rnn_type, feat_dim, hidden_dim))
            self.col_rnn.append(SingleRNN(rnn_type, feat_dim, hidden_dim))
            self.row_norm.append(nn.GroupNorm(1, feat_dim, eps=NORM_EPS))
            self.col_norm.append(nn.GroupNorm(1, feat_dim, eps=NORM_EPS))
        self.conv = nn.Sequential(nn.Conv2d(feat_dim, d_model, 1), nn.PReLU())
        self.chunk_size = chunk_size
        self.chunk_stride = chunk_stride

    def chunking(self, x: rl.Tensor) -> tuple[rl.Tensor, int]:
        """Chunks ``[B, D, chunk_size, S]`` of ``[B, D, T]``, every second one `chunk_stride` behind
        the one before it, and how many frames were added."""
        batch, width, length = x.shape
        size, stride = self.chunk_size, self.chunk_stride
        rest = size - (stride + length % size) % size
        padded = nn.functional.pad(x, (stride, rest + stride))
        early = padded[:, :, :-stride].reshape(batch, width, -1, size)
        late = padded[:, :, stride:].reshape(batch, width, -1, size)
        both = rl.cat([early, late], dim=3).view(batch, width, -1, size)
        return both.transpose(2, 3), rest

    def merging(self, x: rl.Tensor, rest: int) -> rl.Tensor:
        """``[B, D, T]`` of chunks: the sum of the two that hold a frame."""
        batch, width, size, _ = x.shape
        pairs = x.transpose(2, 3).reshape(batch, width, -1, 2 * size)
        early = pairs[..., :size].reshape(batch, width, -1)[:, :, self.chunk_stride :]
        late = pairs[..., size:].reshape(batch, width, -1)[:, :, : -self.chunk_stride]
        return (early + late)[:, :, : early.shape[2] - rest]

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, d_model]`` of ``[B, D, T]``."""
        out, rest = self.chunking(x)
        batch, width, size, chunks = out.shape
        layers = zip(self.row_rnn, self.row_norm, self.col_rnn, self.col_norm, strict=True)
        for row_rnn, row_norm, col_rnn, col_norm in layers:
            rows = row_rnn(out.permute(0, 3, 2, 1).reshape(batch * chunks, size, width))
            rows = rows.view(batch, chunks, size, width).permute(0, 3, 2, 1)
            out = out + row_norm(rows)
            columns = col_rnn(out.permute(0, 2, 3, 1).reshape(batch * size, chunks, width))
            columns = columns.view(batch, size, chunks, width).permute(0, 3, 1, 2)
            out = out + col_norm(columns)
        return self.merging(self.conv(out), rest).transpose(1, 2)
