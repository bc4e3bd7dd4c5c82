"""ECAPA-TDNN (Desplanques et al., ECAPA-TDNN: emphasized channel attention, propagation and
aggregation in TDNN based speaker verification, 2020).

Names of parameters and their shapes are SpeechBrain's, whose weights load.
"""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional

__all__ = ["ECAPA_TDNN"]

LEAST_VARIANCE = 1e-12


class _Conv(nn.Module):
    """A convolution that keeps the length: the ends are reflected."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 1, dilation: int = 1):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, dilation=dilation)
        self.pad = dilation * (kernel - 1) // 2

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, outputs, T]`` of ``[B, inputs, T]``."""
        pads = (self.pad, self.pad)
        return self.conv(functional.pad(x, pads, mode="reflect") if self.pad else x)


class _Norm(nn.Module):
    """Batch normalization, one name deeper."""

    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, channels, T]`` of the same."""
        return self.norm(x)


class TDNNBlock(nn.Module):
    """A convolution, ReLU, batch normalization."""

    def __init__(self, inputs: int, outputs: int, kernel: int, dilation: int):
        super().__init__()
        self.conv = _Conv(inputs, outputs, kernel, dilation)
        self.norm = _Norm(outputs)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, outputs, T]`` of ``[B, inputs, T]``."""
        return self.norm(functional.relu(self.conv(x)))


class Res2NetBlock(nn.Module):
    """Groups of channels, each of which also sees what was made of the group before it."""

    def __init__(self, channels: int, scale: int, kernel: int, dilation: int):
        super().__init__()
        width = channels // scale
        if width * scale != channels:
            raise ValueError(f"ECAPA_TDNN(): {channels} channels are no multiple of {scale} groups")
        self.scale = scale
        self.blocks = nn.ModuleList(
            TDNNBlock(width, width, kernel, dilation) for _ in range(scale - 1)
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, channels, T]`` of the same."""
        first, *others = x.chunk(self.scale, dim=1)
        found = [first]
        for number, (part, block) in enumerate(zip(others, self.blocks, strict=True)):
            found.append(block(part + found[-1] if number else part))
        return rl.cat(found, dim=1)


class SEBlock(nn.Module):
    """A factor for each channel, from the means over time."""

    def __init__(self, channels: int, inner: int):
        super().__init__()
        self.conv1 = _Conv(channels, inner)
        self.conv2 = _Conv(inner, channels)

    def forward(self, x: rl.Tensor, mask: rl.Tensor) -> rl.Tensor:
        """``[B, channels, T]`` of the same; `mask` ``[B, 1, T]`` is 1 where there is sound."""
        mean = (x * mask).sum(dim=2, keepdim=True) / mask.sum(dim=2, keepdim=True)
        return self.conv2(functional.relu(self.conv1(mean))).sigmoid() * x


class SERes2NetBlock(nn.Module):
    """Groups between two pointwise layers, factors for channels, beside the way past them."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        res2net_scale: int,
        se_channels: int,
        kernel: int,
        dilation: int,
    ):
        super().__init__()
        self.tdnn1 = TDNNBlock(inputs, outputs, 1, 1)
        self.res2net_block = Res2NetBlock(outputs, res2net_scale, kernel, dilation)
        self.tdnn2 = TDNNBlock(outputs, outputs, 1, 1)
        self.se_block = SEBlock(outputs, se_channels)
        self.shortcut = _Conv(inputs, outputs) if inputs != outputs else None

    def forward(self, x: rl.Tensor, mask: rl.Tensor) -> rl.Tensor:
        """``[B, outputs, T]`` of ``[B, inputs, T]``."""
        past = x if self.shortcut is None else self.shortcut(x)
        inner = self.tdnn2(self.res2net_block(self.tdnn1(x)))
        return self.se_block(inner, mask) + past


def _moments(x: rl.Tensor, weights: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
    """Mean and deviation over time ``[B, C, 1]`` of ``[B, C, T]``."""
    mean = (weights * x).sum(2, keepdim=True)
    variance = (weights * (x - mean).square()).sum(2, keepdim=True)
    return mean, variance.clamp(min=LEAST_VARIANCE).sqrt()


class AttentiveStatisticsPooling(nn.Module):
    """Mean and deviation over time with weights for each channel."""

    def __init__(self, channels: int, attention_channels: int, global_context: bool):
        super().__init__()
        self.global_context = global_context
        inputs = 3 * channels if global_context else channels
        self.tdnn = TDNNBlock(inputs, attention_channels, 1, 1)
        self.conv = _Conv(attention_channels, channels)

    def forward(self, x: rl.Tensor, mask: rl.Tensor) -> rl.Tensor:
        """``[B, 2 * channels, 1]`` of ``[B, channels, T]``."""
        seen = x
        if self.global_context:
            mean, std = _moments(x, mask / mask.sum(2, keepdim=True))
            seen = rl.cat([x, mean.expand(x.shape), std.expand(x.shape)], dim=1)
        scores = self.conv(rl.tanh(self.tdnn(seen)))
        weights = rl.softmax(scores.masked_fill(mask == 0, -float("inf")), dim=2)
        return rl.cat(_moments(x, weights), dim=1)


class ECAPA_TDNN(nn.Module):
    """Embeddings of speakers.

    Args:
        input_size: features of a frame.
        lin_neurons: numbers of an embedding.
        channels: of the first layer, of the blocks, and of what joins them.
        kernel_sizes: their kernels.
        dilations: their dilations.
        attention_channels: inside of the pooling's attention.
        res2net_scale: groups of a block.
        se_channels: inside of the factors for channels.
        global_context: the pooling's attention sees mean and deviation of all.

    >>> model = ECAPA_TDNN(80, channels=[16, 16, 16, 16, 48], res2net_scale=4).eval()
    >>> model(rl.randn(2, 50, 80)).shape
    rushlight.Size([2, 1, 192])
    """

    def __init__(
        self,
        input_size: int,
        lin_neurons: int = 192,
        channels: Sequence[int] = (512, 512, 512, 512, 1536),
        kernel_sizes: Sequence[int] = (5, 3, 3, 3, 1),
        dilations: Sequence[int] = (1, 2, 3, 4, 1),
        attention_channels: int = 128,
        res2net_scale: int = 8,
        se_channels: int = 128,
        global_context: bool = True,
    ):
        super().__init__()
        if not len(channels) == len(kernel_sizes) == len(dilations):
            raise ValueError(
                f"ECAPA_TDNN(): {len(channels)} channels, {len(kernel_sizes)} kernel_sizes and "
                f"{len(dilations)} dilations are not as many"
            )
        self.blocks = nn.ModuleList(
            [TDNNBlock(input_size, channels[0], kernel_sizes[0], dilations[0])]
        )
        for number in range(1, len(channels) - 1):
            sizes = (res2net_scale, se_channels, kernel_sizes[number], dilations[number])
            self.blocks.append(SERes2NetBlock(channels[number - 1], channels[number], *sizes))
        joined = sum(channels[1:-1])
        self.mfa = TDNNBlock(joined, channels[-1], kernel_sizes[-1], dilations[-1])
        self.asp = AttentiveStatisticsPooling(channels[-1], attention_channels, global_context)
        self.asp_bn = _Norm(2 * channels[-1])
        self.fc = _Conv(2 * channels[-1], lin_neurons)

    def forward(self, x: rl.Tensor, lengths: rl.Tensor | None = None) -> rl.Tensor:
        """Embeddings ``[B, 1, lin_neurons]`` of features ``[B, T, input_size]``; `lengths` ``[B]``
        are shares of T, as SpeechBrain has them."""
        batch, frames, _ = x.shape
        mask = x.new_ones(batch, 1, frames)
        if lengths is not None:
            ends = (lengths * frames).view(-1, 1, 1)
            mask = (rl.arange(frames, device=x.device) < ends).to(x.dtype)
        first, *others = self.blocks
        x = first(x.transpose(1, 2))
        found = []
        for block in others:
            x = block(x, mask)
            found.append(x)
        pooled = self.asp(self.mfa(rl.cat(found, dim=1)), mask)
        return self.fc(self.asp_bn(pooled)).transpose(1, 2)
