"""Layers of Hybrid Demucs, of the spectrogram (``[B, C, F, T]``) or of the waveform
(``[B, C, T]``), and the residual blocks inside of them."""

from __future__ import annotations

import math
from typing import Any, cast

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional

__all__ = ["HDecLayer", "HEncLayer", "rescale_module"]

LONGEST = 200  # frames that the recurrence of a block runs over at once
DEVIATION = 0.1  # first weights are brought nearer to it
NOT_ITSELF = -100.0  # score of a frame for itself


class _BLSTM(nn.Module):
    """A recurrence both ways; over overlapping windows where the input is long."""

    def __init__(self, dim: int, layers: int = 1, skip: bool = False):
        super().__init__()
        self.max_steps = LONGEST
        self.lstm = nn.LSTM(dim, dim, num_layers=layers, bidirectional=True)
        self.linear = nn.Linear(2 * dim, dim)
        self.skip = skip

    def _run(self, x: rl.Tensor) -> rl.Tensor:
        """``[N, C, T]`` of the same."""
        outputs, _ = self.lstm(x.permute(2, 0, 1))
        return self.linear(outputs).permute(1, 2, 0)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, C, T]`` of the same."""
        found = self._windowed(x) if x.shape[-1] > self.max_steps else self._run(x)
        return found + x if self.skip else found

    def _windowed(self, x: rl.Tensor) -> rl.Tensor:
        """Of two windows that hold a frame, the one counts whose middle is nearer."""
        batch, channels, length = x.shape
        width, stride = self.max_steps, self.max_steps // 2
        count, limit = math.ceil(length / stride), stride // 2
        missing = (count - 1) * stride + width - length
        windows = functional.pad(x, (0, missing)).unfold(-1, width, stride)
        rows = windows.permute(0, 2, 1, 3).reshape(-1, channels, width)
        found = self._run(rows).reshape(batch, -1, channels, width)
        ends = [(limit if number else 0, width - limit) for number in range(count - 1)]
        ends.append((limit if count > 1 else 0, width))
        kept = [found[:, number, :, start:end] for number, (start, end) in enumerate(ends)]
        return rl.cat(kept, -1)[..., :length]


class _LocalState(nn.Module):
    """Attention that prefers what is near, by learned speeds of decay."""

    def __init__(self, channels: int, heads: int = 4, ndecay: int = 4):
        super().__init__()
        if channels % heads:
            raise ValueError(f"HDemucs(): channels={channels} is no multiple of heads={heads}")
        self.heads = heads
        self.ndecay = ndecay
        self.content = nn.Conv1d(channels, channels, 1)
        self.query = nn.Conv1d(channels, channels, 1)
        self.key = nn.Conv1d(channels, channels, 1)
        self.query_decay = nn.Conv1d(channels, heads * ndecay, 1)
        with rl.no_grad():
            self.query_decay.weight *= 0.01  # slow decay at first
            cast(rl.Tensor, self.query_decay.bias).fill_(-2)
        self.proj = nn.Conv1d(channels, channels, 1)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, C, T]`` of the same."""
        batch, _, length = x.shape
        shape = (batch, self.heads, -1, length)
        keys = self.key(x).view(shape)
        scores = keys.transpose(2, 3) @ self.query(x).view(shape) / math.sqrt(keys.shape[2])
        time = rl.arange(length, dtype=x.dtype, device=x.device)
        distance = (time.unsqueeze(1) - time.unsqueeze(0)).abs()
        speeds = rl.arange(1, self.ndecay + 1, dtype=x.dtype, device=x.device)
        decays = self.query_decay(x).view(shape).sigmoid() / 2
        speed = (decays * speeds.view(-1, 1)).sum(2, keepdim=True) / math.sqrt(self.ndecay)
        scores = scores - distance * speed
        itself = rl.eye(length, dtype=rl.bool, device=x.device)
        shares = rl.softmax(scores.masked_fill(itself, NOT_ITSELF), dim=2)
        mixed = self.content(x).view(shape) @ shares
        return x + self.proj(mixed.reshape(batch, -1, length))


class _LayerScale(nn.Module):
    """A learned factor for each channel."""

    def __init__(self, channels: int, init: float = 0):
        super().__init__()
        self.scale = nn.Parameter(rl.full((channels,), float(init)))

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, C, T]`` of the same."""
        return self.scale.unsqueeze(1) * x


class _DConv(nn.Module):
    """Residual blocks of dilated convolutions, with a recurrence and attention if asked for."""

    def __init__(
        self,
        channels: int,
        compress: float = 4,
        depth: int = 2,
        init: float = 1e-4,
        attn: bool = False,
        lstm: bool = False,
        kernel_size: int = 3,
    ):
        super().__init__()
        hidden = int(channels / compress)
        self.layers = nn.ModuleList()
        for number in range(depth):
            step = 2**number
            padding = step * (kernel_size // 2)
            first = [
                nn.Conv1d(channels, hidden, kernel_size, dilation=step, padding=padding),
                nn.GroupNorm(1, hidden),
                nn.GELU(),
            ]
            last = [
                nn.Conv1d(hidden, 2 * channels, 1),
                nn.GroupNorm(1, 2 * channels),
                nn.GLU(1),
                _LayerScale(channels, init),
            ]
            attention = [_LocalState(hidden)] if attn else []
            recurrence = [_BLSTM(hidden, layers=2, skip=True)] if lstm else []
            self.layers.append(nn.Sequential(*first, *recurrence, *attention, *last))

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, C, T]`` of the same."""
        for layer in self.layers:
            x = x + layer(x)
        return x


def _norm(norm_type: str, groups: int, channels: int) -> nn.Module:
    return nn.GroupNorm(groups, channels) if norm_type == "group_norm" else nn.Identity()


class HEncLayer(nn.Module):
    """A strided convolution, residual blocks, and a gated convolution."""

    def __init__(
        self,
        chin: int,
        chout: int,
        kernel_size: int = 8,
        stride: int = 4,
        norm_groups: int = 4,
        empty: bool = False,
        freq: bool = True,
        norm_type: str = "group_norm",
        context: int = 0,
        dconv_kw: dict[str, Any] | None = None,
        pad: bool = True,
    ):
        super().__init__()
        self.freq = freq
        self.kernel_size = kernel_size
        self.stride = stride
        self.empty = empty
        self.pad = kernel_size // 4 if pad else 0
        if freq:
            self.conv: nn.Module = nn.Conv2d(
                chin, chout, (kernel_size, 1), (stride, 1), (self.pad, 0)
            )
        else:
            self.conv = nn.Conv1d(chin, chout, kernel_size, stride, self.pad)
        self.norm1 = _norm(norm_type, norm_groups, chout)
        if empty:
            self.rewrite: nn.Module = nn.Identity()
            self.norm2: nn.Module = nn.Identity()
            self.dconv: nn.Module = nn.Identity()
        else:
            convolution = nn.Conv2d if freq else nn.Conv1d
            self.rewrite = convolution(chout, 2 * chout, 1 + 2 * context, 1, context)
            self.norm2 = _norm(norm_type, norm_groups, 2 * chout)
            self.dconv = _DConv(chout, **(dconv_kw or {}))

    def forward(self, x: rl.Tensor, inject: rl.Tensor | None = None) -> rl.Tensor:
        """The layer's result; `inject` is added behind the convolution."""
        if not self.freq:
            x = x.flatten(1, 2) if x.dim() == 4 else x
            x = functional.pad(x, (0, -x.shape[-1] % self.stride))
        y = self.conv(x)
        if self.empty:
            return y
        if inject is not None:
            y = y + (inject.unsqueeze(2) if y.dim() > inject.dim() else inject)
        y = self._blocks(functional.gelu(self.norm1(y)))
        return functional.glu(self.norm2(self.rewrite(y)), dim=1)

    def _blocks(self, y: rl.Tensor) -> rl.Tensor:
        """The residual blocks, which run along time."""
        if not self.freq:
            return self.dconv(y)
        batch, channels, bins, length = y.shape
        rows = self.dconv(y.permute(0, 2, 1, 3).reshape(-1, channels, length))
        return rows.view(batch, bins, channels, length).permute(0, 2, 1, 3)


class HDecLayer(nn.Module):
    """A gated convolution and a strided transposed one: the reverse of :class:`HEncLayer`."""

    def __init__(
        self,
        chin: int,
        chout: int,
        last: bool = False,
        kernel_size: int = 8,
        stride: int = 4,
        norm_groups: int = 1,
        empty: bool = False,
        freq: bool = True,
        norm_type: str = "group_norm",
        context: int = 1,
        dconv_kw: dict[str, Any] | None = None,
        pad: bool = True,
    ):
        super().__init__()
        del dconv_kw  # the decoder has no residual blocks
        self.chin = chin
        self.last = last
        self.freq = freq
        self.empty = empty
        self.pad = (kernel_size - stride) // 2 if pad else 0
        if freq:
            self.conv_tr: nn.Module = nn.ConvTranspose2d(chin, chout, (kernel_size, 1), (stride, 1))
        else:
            self.conv_tr = nn.ConvTranspose1d(chin, chout, kernel_size, stride)
        self.norm2 = _norm(norm_type, norm_groups, chout)
        if empty:
            self.rewrite: nn.Module = nn.Identity()
            self.norm1: nn.Module = nn.Identity()
        else:
            convolution = nn.Conv2d if freq else nn.Conv1d
            self.rewrite = convolution(chin, 2 * chin, 1 + 2 * context, 1, context)
            self.norm1 = _norm(norm_type, norm_groups, 2 * chin)

    def forward(
        self, x: rl.Tensor, skip: rl.Tensor | None, length: int
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """The layer's result, cut to `length` where it is a waveform, and what went into the
        transposed convolution."""
        if self.freq and x.dim() == 3:
            x = x.view(x.shape[0], self.chin, -1, x.shape[-1])
        if self.empty:
            y = x
        elif skip is None:
            raise ValueError("skip: expected a tensor as only empty layers have none; got None")
        else:
            y = functional.glu(self.norm1(self.rewrite(x + skip)), dim=1)
        z = self.norm2(self.conv_tr(y))
        if self.freq:
            z = z[..., self.pad : z.shape[-2] - self.pad, :]
        else:
            z = z[..., self.pad : self.pad + length]
        return (z if self.last else functional.gelu(z)), y


def rescale_module(module: nn.Module) -> None:
    """Bring the deviation of every convolution's weights nearer to 0.1."""
    kinds = (nn.Conv1d, nn.ConvTranspose1d, nn.Conv2d, nn.ConvTranspose2d)
    with rl.no_grad():
        for each in module.modules():
            if isinstance(each, kinds):
                scale = (each.weight.std() / DEVIATION) ** 0.5
                each.weight /= scale
                if each.bias is not None:
                    each.bias /= scale
