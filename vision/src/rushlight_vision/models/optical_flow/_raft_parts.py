"""What RAFT is made of: encoders, correlations, and the update."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models.optical_flow._utils import grid_sample
from rushlight_vision.ops.misc import Conv2dNormActivation

Norm = Callable[..., nn.Module] | None


def _beside(
    in_channels: int, out_channels: int, norm_layer: Norm, stride: int
) -> Conv2dNormActivation:
    """A 1x1 convolution beside a block that changes the size."""
    return Conv2dNormActivation(
        in_channels, out_channels, norm_layer=norm_layer, kernel_size=1, stride=stride, bias=True,
        activation_layer=None,
    )  # fmt: skip


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions and the input added to their result.

    `always_project` puts a convolution beside them even where they keep the size.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        norm_layer: Any,
        stride: int = 1,
        always_project: bool = False,
    ) -> None:
        super().__init__()
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, kernel_size=3, bias=True)
        self.convnormrelu1 = conv(in_channels, out_channels, stride=stride)
        self.convnormrelu2 = conv(out_channels, out_channels)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or always_project:
            self.downsample = _beside(in_channels, out_channels, norm_layer, stride)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The block's result."""
        return self.relu(self.downsample(x) + self.convnormrelu2(self.convnormrelu1(x)))


class BottleneckBlock(nn.Module):
    """A 1x1, a 3x3 and a 1x1 convolution and the input added to their result."""

    def __init__(
        self, in_channels: int, out_channels: int, *, norm_layer: Any, stride: int = 1
    ) -> None:
        super().__init__()
        between = out_channels // 4
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, bias=True)
        self.convnormrelu1 = conv(in_channels, between, kernel_size=1)
        self.convnormrelu2 = conv(between, between, kernel_size=3, stride=stride)
        self.convnormrelu3 = conv(between, out_channels, kernel_size=1)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1:
            self.downsample = _beside(in_channels, out_channels, norm_layer, stride)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The block's result."""
        seen = self.convnormrelu3(self.convnormrelu2(self.convnormrelu1(x)))
        return self.relu(self.downsample(x) + seen)


class FeatureEncoder(nn.Module):
    """Features of images (N, 3, H, W).

    Parameters
    ----------
    block : class, default `ResidualBlock`
    layers : tuple of int, default ``(64, 64, 96, 128, 256)``
        Widths after the first convolution, of the three stages, and at the end.
    strides : tuple of int, default ``(2, 1, 2, 2)``
    norm_layer : callable or None, default `nn.BatchNorm2d`
    """

    def __init__(
        self,
        *,
        block: Any = ResidualBlock,
        layers: tuple[int, ...] = (64, 64, 96, 128, 256),
        strides: tuple[int, ...] = (2, 1, 2, 2),
        norm_layer: Any = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        if len(layers) != 5:
            raise ValueError(f"The expected number of layers is 5, instead got {len(layers)}")
        self.convnormrelu = Conv2dNormActivation(
            3, layers[0], norm_layer=norm_layer, kernel_size=7, stride=strides[0], bias=True
        )
        make = self._make_2_blocks
        self.layer1 = make(block, layers[0], layers[1], norm_layer, first_stride=strides[1])
        self.layer2 = make(block, layers[1], layers[2], norm_layer, first_stride=strides[2])
        self.layer3 = make(block, layers[2], layers[3], norm_layer, first_stride=strides[3])
        self.conv = nn.Conv2d(layers[3], layers[4], kernel_size=1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.InstanceNorm2d)):
                if module.weight is not None:
                    nn.init.ones_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        self.output_dim = layers[-1]
        self.downsample_factor = math.prod(strides)

    def _make_2_blocks(
        self, block: Any, in_channels: int, out_channels: int, norm_layer: Any, first_stride: int
    ) -> nn.Sequential:
        return nn.Sequential(
            block(in_channels, out_channels, norm_layer=norm_layer, stride=first_stride),
            block(out_channels, out_channels, norm_layer=norm_layer, stride=1),
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The features (N, C, H / 8, W / 8)."""
        return self.conv(self.layer3(self.layer2(self.layer1(self.convnormrelu(x)))))


class MotionEncoder(nn.Module):
    """Features of a flow and of the correlations it leads to; the flow itself comes last.

    Parameters
    ----------
    in_channels_corr : int
    corr_layers : tuple of one or two int, default ``(256, 192)``
    flow_layers : tuple of two int, default ``(128, 64)``
    out_channels : int, default 128
    """

    def __init__(
        self,
        *,
        in_channels_corr: int,
        corr_layers: tuple[int, ...] = (256, 192),
        flow_layers: tuple[int, ...] = (128, 64),
        out_channels: int = 128,
    ) -> None:
        super().__init__()
        if len(flow_layers) != 2:
            raise ValueError(f"The expected number of flow_layers is 2, got {len(flow_layers)}")
        if len(corr_layers) not in (1, 2):
            raise ValueError(f"The number of corr_layers should be 1 or 2, got {len(corr_layers)}")
        conv = partial(Conv2dNormActivation, norm_layer=None)
        self.convcorr1 = conv(in_channels_corr, corr_layers[0], kernel_size=1)
        self.convcorr2: nn.Module = nn.Identity()
        if len(corr_layers) == 2:
            self.convcorr2 = conv(*corr_layers, kernel_size=3)
        self.convflow1 = conv(2, flow_layers[0], kernel_size=7)
        self.convflow2 = conv(*flow_layers, kernel_size=3)
        self.conv = conv(corr_layers[-1] + flow_layers[-1], out_channels - 2, kernel_size=3)
        self.out_channels = out_channels

    def forward(self, flow: rl.Tensor, corr_features: rl.Tensor) -> rl.Tensor:
        """The features (N, `out_channels`, H, W)."""
        correlations = self.convcorr2(self.convcorr1(corr_features))
        moved = self.convflow2(self.convflow1(flow))
        return rl.cat([self.conv(rl.cat([correlations, moved], dim=1)), flow], dim=1)


class ConvGRU(nn.Module):
    """A gated recurrent unit of maps, with convolutions."""

    def __init__(
        self, *, input_size: int, hidden_size: int, kernel_size: Any, padding: Any
    ) -> None:
        super().__init__()
        widths = (hidden_size + input_size, hidden_size, kernel_size)
        self.convz = nn.Conv2d(*widths, padding=padding)
        self.convr = nn.Conv2d(*widths, padding=padding)
        self.convq = nn.Conv2d(*widths, padding=padding)

    def forward(self, h: rl.Tensor, x: rl.Tensor) -> rl.Tensor:
        """The next state, of state `h` and input `x`."""
        both = rl.cat([h, x], dim=1)
        update, reset = rl.sigmoid(self.convz(both)), rl.sigmoid(self.convr(both))
        new = rl.tanh(self.convq(rl.cat([reset * h, x], dim=1)))
        return (1 - update) * h + update * new


def _pass_through_h(h: rl.Tensor, _: rl.Tensor) -> rl.Tensor:
    """The state as it is."""
    return h


class RecurrentBlock(nn.Module):
    """One or two gated units, one after the other: by default one across and one down."""

    def __init__(
        self,
        *,
        input_size: int,
        hidden_size: int,
        kernel_size: Any = ((1, 5), (5, 1)),
        padding: Any = ((0, 2), (2, 0)),
    ) -> None:
        super().__init__()
        if len(kernel_size) != len(padding) or len(kernel_size) not in (1, 2):
            raise ValueError(
                f"kernel_size and padding should have both 1 or 2 elements, got {kernel_size!r} "
                f"and {padding!r}"
            )
        make = partial(ConvGRU, input_size=input_size, hidden_size=hidden_size)
        self.convgru1 = make(kernel_size=kernel_size[0], padding=padding[0])
        self.convgru2: Any = _pass_through_h
        if len(kernel_size) == 2:
            self.convgru2 = make(kernel_size=kernel_size[1], padding=padding[1])
        self.hidden_size = hidden_size

    def forward(self, h: rl.Tensor, x: rl.Tensor) -> rl.Tensor:
        """The next state, of state `h` and input `x`."""
        return self.convgru2(self.convgru1(h, x), x)


class FlowHead(nn.Module):
    """What is added to a flow: (N, 2, H, W) of states (N, `in_channels`, H, W)."""

    def __init__(self, *, in_channels: int, hidden_size: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, hidden_size, 3, padding=1)
        self.conv2 = nn.Conv2d(hidden_size, 2, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """What is added."""
        return self.conv2(self.relu(self.conv1(x)))


class UpdateBlock(nn.Module):
    """The next state, and what is added to the flow."""

    def __init__(self, *, motion_encoder: Any, recurrent_block: Any, flow_head: Any) -> None:
        super().__init__()
        self.motion_encoder = motion_encoder
        self.recurrent_block = recurrent_block
        self.flow_head = flow_head
        self.hidden_state_size = recurrent_block.hidden_size

    def forward(
        self,
        hidden_state: rl.Tensor,
        context: rl.Tensor,
        corr_features: rl.Tensor,
        flow: rl.Tensor,
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """The next state and what is added to the flow."""
        motion = self.motion_encoder(flow, corr_features)
        state = self.recurrent_block(hidden_state, rl.cat([context, motion], dim=1))
        return state, self.flow_head(state)


class MaskPredictor(nn.Module):
    """Weights (N, 9 * 64, H, W) of the pixels that make a flow of eight times the size."""

    def __init__(self, *, in_channels: int, hidden_size: int, multiplier: float = 0.25) -> None:
        super().__init__()
        self.convrelu = Conv2dNormActivation(
            in_channels, hidden_size, norm_layer=None, kernel_size=3
        )
        self.conv = nn.Conv2d(hidden_size, 8 * 8 * 9, 1, padding=0)
        self.multiplier = multiplier

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The weights, before their softmax."""
        return self.multiplier * self.conv(self.convrelu(x))


class CorrBlock(nn.Module):
    """Correlations of all pixels of one image with all of another, and coarser ones of them.

    Parameters
    ----------
    num_levels : int, default 4
    radius : int, default 4
        How far around a position correlations are looked up, in pixels of each level.
    """

    def __init__(self, *, num_levels: int = 4, radius: int = 4) -> None:
        super().__init__()
        self.num_levels = num_levels
        self.radius = radius
        self.corr_pyramid: list[rl.Tensor] = [rl.tensor(0)]
        self.out_channels = num_levels * (2 * radius + 1) ** 2

    def build_pyramid(self, fmap1: rl.Tensor, fmap2: rl.Tensor) -> None:
        """Keep the correlations of features (N, C, H, W).

        Raises ValueError for different shapes, or maps too small for all levels.
        """
        if fmap1.shape != fmap2.shape:
            raise ValueError(
                f"Input feature maps should have the same shape, instead got {tuple(fmap1.shape)} "
                f"(fmap1.shape) != {tuple(fmap2.shape)} (fmap2.shape)"
            )
        least = 2 * 2 ** (self.num_levels - 1)  # the coarsest level is not one pixel
        if min(fmap1.shape[-2:]) < least:
            raise ValueError(
                "Feature maps are too small to be down-sampled by the correlation pyramid. H and "
                f"W of feature maps should be at least {least}; got: {tuple(fmap1.shape[-2:])}"
            )
        volume = self._compute_corr_volume(fmap1, fmap2)
        n, height, width, channels, _, _ = volume.shape
        volume = volume.reshape(n * height * width, channels, height, width)
        self.corr_pyramid = [volume]
        for _ in range(self.num_levels - 1):
            volume = F.avg_pool2d(volume, kernel_size=2, stride=2)
            self.corr_pyramid.append(volume)

    def index_pyramid(self, centroids_coords: rl.Tensor) -> rl.Tensor:
        """Correlations (N, `out_channels`, H, W) around coordinates (N, 2, H, W) of all levels."""
        side = 2 * self.radius + 1
        steps = rl.linspace(-self.radius, self.radius, side)
        delta = rl.stack(rl.meshgrid(steps, steps, indexing="ij"), dim=-1)
        delta = delta.to(centroids_coords.device).view(1, side, side, 2)
        n, _, height, width = centroids_coords.shape
        centers = centroids_coords.permute(0, 2, 3, 1).reshape(n * height * width, 1, 1, 2)
        found = []
        for volume in self.corr_pyramid:
            looked_up = grid_sample(volume, centers + delta, align_corners=True, mode="bilinear")
            found.append(looked_up.view(n, height, width, -1))
            centers = centers / 2
        return rl.cat(found, dim=-1).permute(0, 3, 1, 2).contiguous()

    def _compute_corr_volume(self, fmap1: rl.Tensor, fmap2: rl.Tensor) -> rl.Tensor:
        n, channels, height, width = fmap1.shape
        volume = rl.matmul(fmap1.flatten(2).transpose(1, 2), fmap2.flatten(2))
        return volume.view(n, height, width, 1, height, width) / math.sqrt(channels)
