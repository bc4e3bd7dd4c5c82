"""Conv-TasNet (Luo and Mesgarani, Conv-TasNet: surpassing ideal time-frequency magnitude masking
for speech separation, 2018).

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn

__all__ = ["ConvTasNet", "conv_tasnet_base"]

NORM_EPS = 1e-08


class ConvBlock(nn.Module):
    """A pointwise and a depthwise convolution; what goes on and what goes to the sum of all."""

    def __init__(
        self,
        io_channels: int,
        hidden_channels: int,
        kernel_size: int,
        padding: int,
        dilation: int = 1,
        no_residual: bool = False,
    ):
        super().__init__()
        self.conv_layers = nn.Sequential(
            nn.Conv1d(io_channels, hidden_channels, 1),
            nn.PReLU(),
            nn.GroupNorm(1, hidden_channels, eps=NORM_EPS),
            nn.Conv1d(
                hidden_channels,
                hidden_channels,
                kernel_size,
                padding=padding,
                dilation=dilation,
                groups=hidden_channels,
            ),
            nn.PReLU(),
            nn.GroupNorm(1, hidden_channels, eps=NORM_EPS),
        )
        self.res_out = None if no_residual else nn.Conv1d(hidden_channels, io_channels, 1)
        self.skip_out = nn.Conv1d(hidden_channels, io_channels, 1)

    def forward(self, input: rl.Tensor) -> tuple[rl.Tensor | None, rl.Tensor]:
        """The residual (None of the last block) and the skip, each ``[B, io_channels, T]``."""
        feature = self.conv_layers(input)
        residual = None if self.res_out is None else self.res_out(feature)
        return residual, self.skip_out(feature)


class MaskGenerator(nn.Module):
    """A mask over the encoded waveform for each source, from stacks of dilated blocks."""

    def __init__(
        self,
        input_dim: int,
        num_sources: int,
        kernel_size: int,
        num_feats: int,
        num_hidden: int,
        num_layers: int,
        num_stacks: int,
        msk_activate: str,
    ):
        super().__init__()
        if kernel_size % 2 == 0:
            raise ValueError(f"ConvTasNet(): msk_kernel_size must be odd, got {kernel_size}")
        self.input_dim = input_dim
        self.num_sources = num_sources
        self.input_norm = nn.GroupNorm(1, input_dim, eps=NORM_EPS)
        self.input_conv = nn.Conv1d(input_dim, num_feats, 1)
        self.receptive_field = 0
        self.conv_layers = nn.ModuleList()
        for number in range(num_stacks * num_layers):
            step = 2 ** (number % num_layers)
            last = number == num_stacks * num_layers - 1
            pad = step * (kernel_size - 1) // 2
            block = ConvBlock(num_feats, num_hidden, kernel_size, pad, step, no_residual=last)
            self.conv_layers.append(block)
            self.receptive_field += kernel_size if number == 0 else (kernel_size - 1) * step
        self.output_prelu = nn.PReLU()
        self.output_conv = nn.Conv1d(num_feats, input_dim * num_sources, 1)
        if msk_activate not in ("sigmoid", "relu"):
            raise ValueError(
                f'ConvTasNet(): msk_activate is "sigmoid" or "relu", got {msk_activate!r}'
            )
        self.mask_activate = nn.Sigmoid() if msk_activate == "sigmoid" else nn.ReLU()

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """Masks ``[B, num_sources, input_dim, T]`` of features ``[B, input_dim, T]``."""
        feature = self.input_conv(self.input_norm(input))
        total: Any = None  # the sum of at least one block
        for layer in self.conv_layers:
            residual, skip = layer(feature)
            if residual is not None:
                feature = feature + residual
            total = skip if total is None else total + skip
        masks = self.mask_activate(self.output_conv(self.output_prelu(total)))
        return masks.view(input.shape[0], self.num_sources, self.input_dim, -1)


class ConvTasNet(nn.Module):
    """Separate the sources of a waveform by masks over learned features.

    Args:
        num_sources: sources.
        enc_kernel_size: samples of one step of the encoder, which steps by half of it.
        enc_num_feats: features of the encoder.
        msk_kernel_size: odd kernel of the depthwise convolutions.
        msk_num_feats: channels between blocks.
        msk_num_hidden_feats: channels inside of blocks.
        msk_num_layers: blocks of a stack, each dilated twice as far as the one before.
        msk_num_stacks: stacks.
        msk_activate: ``"sigmoid"`` or ``"relu"``.

    >>> model = ConvTasNet(enc_kernel_size=4, enc_num_feats=8, msk_num_feats=4,
    ...                    msk_num_hidden_feats=6, msk_num_layers=2, msk_num_stacks=1)
    >>> model(rl.zeros(1, 1, 101)).shape
    rushlight.Size([1, 2, 101])
    """

    def __init__(
        self,
        num_sources: int = 2,
        enc_kernel_size: int = 16,
        enc_num_feats: int = 512,
        msk_kernel_size: int = 3,
        msk_num_feats: int = 128,
        msk_num_hidden_feats: int = 512,
        msk_num_layers: int = 8,
        msk_num_stacks: int = 3,
        msk_activate: str = "sigmoid",
    ):
        super().__init__()
        self.num_sources = num_sources
        self.enc_num_feats = enc_num_feats
        self.enc_kernel_size = enc_kernel_size
        self.enc_stride = stride = enc_kernel_size // 2
        framing: dict[str, Any] = {"stride": stride, "padding": stride, "bias": False}
        self.encoder = nn.Conv1d(1, enc_num_feats, enc_kernel_size, **framing)
        self.mask_generator = MaskGenerator(
            input_dim=enc_num_feats,
            num_sources=num_sources,
            kernel_size=msk_kernel_size,
            num_feats=msk_num_feats,
            num_hidden=msk_num_hidden_feats,
            num_layers=msk_num_layers,
            num_stacks=msk_num_stacks,
            msk_activate=msk_activate,
        )
        self.decoder = nn.ConvTranspose1d(enc_num_feats, 1, enc_kernel_size, **framing)

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """Waveforms of the sources, ``[B, num_sources, T]``, of mixtures ``[B, 1, T]``."""
        if input.ndim != 3 or input.shape[1] != 1:
            raise ValueError(
                "ConvTasNet: expected waveforms of shape [batch, 1, frames], got "
                f"{list(input.shape)}"
            )
        batch, length = input.shape[0], input.shape[2]
        missing = -(length - self.enc_kernel_size % 2) % self.enc_stride
        feature = self.encoder(nn.functional.pad(input, (0, missing)))
        masked = self.mask_generator(feature) * feature.unsqueeze(1)
        decoded = self.decoder(masked.view(batch * self.num_sources, self.enc_num_feats, -1))
        return decoded.view(batch, self.num_sources, -1)[..., :length]


def conv_tasnet_base(num_sources: int = 2) -> ConvTasNet:
    """The non-causal network of the paper: :class:`ConvTasNet` with its default sizes."""
    return ConvTasNet(num_sources)
