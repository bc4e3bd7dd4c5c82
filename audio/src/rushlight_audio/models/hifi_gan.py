"""HiFi-GAN's generator (Kong et al., HiFi-GAN: generative adversarial networks for efficient and
high fidelity speech synthesis, 2020): waveforms of mel spectrograms.

Names of parameters and their shapes are those of the authors' files without weight normalization,
and of torchaudio's prototype.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional

__all__ = [
    "HiFiGANVocoder",
    "hifigan_vocoder",
    "hifigan_vocoder_v1",
    "hifigan_vocoder_v2",
    "hifigan_vocoder_v3",
]

LAST_SLOPE = 0.01


def _same(channels: int, kernel: int, dilation: int) -> nn.Conv1d:
    """A dilated convolution that keeps the length."""
    return nn.Conv1d(
        channels, channels, kernel, dilation=dilation, padding=dilation * (kernel - 1) // 2
    )


class ResBlock1(nn.Module):
    """Pairs of convolutions, the first of each dilated, beside the way past them."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...], slope: float):
        super().__init__()
        self.convs1 = nn.ModuleList(_same(channels, kernel, each) for each in dilations)
        self.convs2 = nn.ModuleList(_same(channels, kernel, 1) for _ in dilations)
        self.slope = slope

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, C, T]`` of the same."""
        for first, second in zip(self.convs1, self.convs2, strict=True):
            inner = first(functional.leaky_relu(x, self.slope))
            x = x + second(functional.leaky_relu(inner, self.slope))
        return x


class ResBlock2(nn.Module):
    """Dilated convolutions beside the way past them."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...], slope: float):
        super().__init__()
        self.convs = nn.ModuleList(_same(channels, kernel, each) for each in dilations)
        self.slope = slope

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, C, T]`` of the same."""
        for conv in self.convs:
            x = x + conv(functional.leaky_relu(x, self.slope))
        return x


class HiFiGANVocoder(nn.Module):
    """Transposed convolutions up to the rate of samples, residual blocks of several kernels behind
    each.

    Args:
        in_channels: mel bands.
        upsample_rates: factors whose product is the samples of a frame.
        upsample_initial_channel: channels in front of the first; each halves them.
        upsample_kernel_sizes: kernels of the transposed convolutions.
        resblock_kernel_sizes: kernels of the residual blocks.
        resblock_dilation_sizes: dilations of the convolutions of each.
        resblock_type: 1: pairs of convolutions; 2: single ones.
        lrelu_slope: of the leaky ReLUs.

    >>> model = hifigan_vocoder(4, (2, 3), 8, (4, 6), (3,), ((1, 3),), 1, 0.1)
    >>> model(rl.zeros(1, 4, 10)).shape
    rushlight.Size([1, 1, 61])
    """

    def __init__(
        self,
        in_channels: int,
        upsample_rates: tuple[int, ...],
        upsample_initial_channel: int,
        upsample_kernel_sizes: tuple[int, ...],
        resblock_kernel_sizes: tuple[int, ...],
        resblock_dilation_sizes: tuple[tuple[int, ...], ...],
        resblock_type: int,
        lrelu_slope: float,
    ):
        super().__init__()
        if resblock_type not in (1, 2):
            raise ValueError(f"HiFiGANVocoder(): resblock_type is 1 or 2, got {resblock_type}")
        self.num_kernels = len(resblock_kernel_sizes)
        self.lrelu_slope = lrelu_slope
        channels = upsample_initial_channel
        self.conv_pre = nn.Conv1d(in_channels, channels, 7, padding=3)
        self.ups = nn.ModuleList()
        self.resblocks = nn.ModuleList()
        block = ResBlock1 if resblock_type == 1 else ResBlock2
        for rate, kernel in zip(upsample_rates, upsample_kernel_sizes, strict=True):
            pad = (kernel - rate) // 2
            self.ups.append(nn.ConvTranspose1d(channels, channels // 2, kernel, rate, pad))
            channels //= 2
            for own, dilations in zip(resblock_kernel_sizes, resblock_dilation_sizes, strict=True):
                self.resblocks.append(block(channels, own, tuple(dilations), lrelu_slope))
        self.conv_post = nn.Conv1d(channels, 1, 7, padding=3)

    def forward(self, mel_spec: rl.Tensor) -> rl.Tensor:
        """Waveforms ``[B, 1, S]`` between -1 and 1 of logarithms of mel spectrograms
        ``[B, in_channels, T]``."""
        x = self.conv_pre(mel_spec)
        for number, up in enumerate(self.ups):
            x = up(functional.leaky_relu(x, self.lrelu_slope))
            start = number * self.num_kernels
            blocks = self.resblocks[start : start + self.num_kernels]
            total = blocks[0](x)
            for block in blocks[1:]:
                total = total + block(x)
            x = total / self.num_kernels
        return rl.tanh(self.conv_post(functional.leaky_relu(x, LAST_SLOPE)))

    def load_generator(self, path: str | os.PathLike[str]) -> HiFiGANVocoder:
        """Read the weights of a file of the authors (``generator_v1``), with weight normalization
        or without; returns the network, for evaluation."""
        state: Any = rl.load(str(path), map_location="cpu", weights_only=True)
        self.load_state_dict(_without_norm(state.get("generator", state)))
        return self.eval()


def _without_norm(state: Mapping[str, rl.Tensor]) -> dict[str, rl.Tensor]:
    """Weights of directions (``weight_v``) and lengths (``weight_g``)."""
    found = {}
    for key, value in state.items():
        if key.endswith("weight_v"):
            length = value.flatten(1).norm(dim=1).view(-1, *[1] * (value.dim() - 1))
            found[key[:-2]] = value * (state[f"{key[:-1]}g"] / length)
        elif not key.endswith("weight_g"):
            found[key] = value
    return found


def hifigan_vocoder(
    in_channels: int,
    upsample_rates: tuple[int, ...],
    upsample_initial_channel: int,
    upsample_kernel_sizes: tuple[int, ...],
    resblock_kernel_sizes: tuple[int, ...],
    resblock_dilation_sizes: tuple[tuple[int, ...], ...],
    resblock_type: int,
    lrelu_slope: float,
) -> HiFiGANVocoder:
    """A :class:`HiFiGANVocoder` of these sizes."""
    return HiFiGANVocoder(
        in_channels,
        upsample_rates,
        upsample_initial_channel,
        upsample_kernel_sizes,
        resblock_kernel_sizes,
        resblock_dilation_sizes,
        resblock_type,
        lrelu_slope,
    )


def hifigan_vocoder_v1() -> HiFiGANVocoder:
    """The paper's V1, for 80 bands and frames of 256 samples."""
    dilations = ((1, 3, 5),) * 3
    return HiFiGANVocoder(80, (8, 8, 2, 2), 512, (16, 16, 4, 4), (3, 7, 11), dilations, 1, 0.1)


def hifigan_vocoder_v2() -> HiFiGANVocoder:
    """The paper's V2: V1 with a quarter of the channels."""
    dilations = ((1, 3, 5),) * 3
    return HiFiGANVocoder(80, (8, 8, 2, 2), 128, (16, 16, 4, 4), (3, 7, 11), dilations, 1, 0.1)


def hifigan_vocoder_v3() -> HiFiGANVocoder:
    """The paper's V3: fewer layers."""
    dilations = ((1, 2), (2, 6), (3, 12))
    return HiFiGANVocoder(80, (8, 8, 4), 256, (16, 16, 8), (3, 5, 7), dilations, 2, 0.1)
