"""Convolution at positions that are moved by learnt offsets (Dai et al., Deformable convolutional
networks, 2017; with masks: Zhu et al., Deformable ConvNets v2, 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight_vision.ops._autocast import in_float32_under_autocast
from rushlight_vision.ops._bags import pixel_table
from rushlight_vision.ops._utils import pair

Pair = int | tuple[int, int]


@dataclass(frozen=True)
class _Geometry:
    """Sizes of one call: height first."""

    images: int
    channels: int
    size: tuple[int, int]
    kernel: tuple[int, int]
    out: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    offset_groups: int

    @property
    def taps(self) -> int:
        """Elements of the kernel."""
        return self.kernel[0] * self.kernel[1]


def _check_dtypes(input: rl.Tensor, **others: rl.Tensor | None) -> None:
    for name, tensor in others.items():
        if tensor is not None and tensor.dtype != input.dtype:
            raise RuntimeError(
                f"deform_conv2d: {name} must have the dtype of the input, {input.dtype}; got "
                f"{tensor.dtype}"
            )


def _output_size(
    size: Sequence[int], kernel: tuple[int, int], stride: tuple[int, int],
    padding: tuple[int, int], dilation: tuple[int, int],
) -> tuple[int, int]:  # fmt: skip
    found = [
        (n + 2 * p - (d * (k - 1) + 1)) // s + 1
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    ]
    if min(found) <= 0:
        raise RuntimeError(
            f"deform_conv2d: the output would have size {tuple(found)}; input {tuple(size)}, "
            f"kernel {kernel}, stride {stride}, padding {padding}, dilation {dilation}"
        )
    return found[0], found[1]


def _expect_shape(name: str, tensor: rl.Tensor, shape: tuple[int, ...]) -> None:
    if tuple(tensor.shape) != shape:
        raise RuntimeError(
            f"deform_conv2d: {name} must have shape {shape}, got {tuple(tensor.shape)}"
        )


def _geometry(
    input: rl.Tensor, offset: rl.Tensor, weight: rl.Tensor, settings: list[Pair]
) -> _Geometry:
    """Checked sizes of a call."""
    for name, tensor in (("input", input), ("offset", offset), ("weight", weight)):
        if tensor.ndim != 4:
            raise RuntimeError(
                f"deform_conv2d: {name} must have 4 dimensions, got shape {tuple(tensor.shape)}"
            )
    stride, padding, dilation = map(pair, settings)
    (images, channels, *size), kernel = input.shape, (weight.shape[2], weight.shape[3])
    per_group = 2 * kernel[0] * kernel[1]
    groups = offset.shape[1] // per_group
    if groups == 0 or offset.shape[1] % per_group:
        raise RuntimeError(
            f"deform_conv2d: offset.shape[1] must be a multiple of 2 * {kernel[0]} * {kernel[1]}, "
            f"two for each element of the kernel; got {offset.shape[1]}"
        )
    for name, count, parts in (
        ("the channels of the input by weight.shape[1]", channels, weight.shape[1]),
        ("the channels of the input by the groups of offset", channels, groups),
        ("weight.shape[0] by the groups", weight.shape[0], channels // weight.shape[1] or 1),
    ):
        if not parts or count % parts:
            raise RuntimeError(f"deform_conv2d: cannot divide {name}: {count} by {parts}")
    out = _output_size(size, kernel, stride, padding, dilation)
    _expect_shape("offset", offset, (images, per_group * groups, *out))
    return _Geometry(
        images, channels, (size[0], size[1]), kernel, out, stride, padding, dilation, groups
    )


def _positions(offset: rl.Tensor, g: _Geometry) -> tuple[rl.Tensor, rl.Tensor]:
    """Rows and columns of all samples: (N, height, width, groups, taps)."""
    split = offset.reshape(g.images, g.offset_groups, g.taps, 2, *g.out)
    split = split.permute(3, 0, 4, 5, 1, 2)
    settings: dict[str, Any] = {"dtype": offset.dtype, "device": offset.device}
    grid = [
        (rl.arange(out, **settings) * s - p)[:, None] + rl.arange(k, **settings) * d
        for out, s, p, k, d in zip(g.out, g.stride, g.padding, g.kernel, g.dilation, strict=True)
    ]
    rows = grid[0][:, None, None, :, None].expand(-1, 1, 1, *g.kernel)
    columns = grid[1][None, :, None, None, :].expand(1, -1, 1, *g.kernel)
    return split[0] + rows.reshape(g.out[0], 1, 1, g.taps), split[1] + columns.reshape(
        1, g.out[1], 1, g.taps
    )


def _neighbours(at: rl.Tensor, length: int) -> tuple[rl.Tensor, rl.Tensor]:
    """The two pixels around a position and their weights, both on a new last dimension; pixels
    outside weigh nothing."""
    floor = at.detach().floor()
    share = at - floor
    # Positions far outside fit no integer; one pixel outside is as good.
    lower = floor.clamp(-2, length).long()
    pixels = rl.stack((lower, lower + 1), -1)
    weights = rl.stack((1 - share, share), -1)
    return pixels.clamp(0, length - 1), rl.where((pixels >= 0) & (pixels < length), weights, 0.0)


def _columns(
    input: rl.Tensor, offset: rl.Tensor, mask: rl.Tensor | None, g: _Geometry
) -> rl.Tensor:
    """What the kernel multiplies: (N * height * width, taps, C)."""
    y, x = _positions(offset, g)
    rows, down = _neighbours(y, g.size[0])
    columns, across = _neighbours(x, g.size[1])
    if mask is not None:
        _expect_shape("mask", mask, (g.images, g.offset_groups * g.taps, *g.out))
        split = mask.reshape(g.images, g.offset_groups, g.taps, *g.out)
        down = down * split.permute(0, 3, 4, 1, 2)[..., None]
    weights = down[..., :, None] * across[..., None, :]
    image = rl.arange(g.images, device=input.device).reshape(-1, 1, 1, 1, 1, 1)
    group = rl.arange(g.offset_groups, device=input.device).reshape(-1, 1, 1, 1)
    rows = (image * g.size[0] + rows) * (g.size[1] * g.offset_groups)
    places = rows[..., :, None] + (columns[..., None, :] * g.offset_groups + group)
    sampled = F.embedding_bag(
        places.reshape(-1, 4), pixel_table(input, g.offset_groups), mode="sum",
        per_sample_weights=weights.reshape(-1, 4),
    )  # fmt: skip
    split = sampled.reshape(-1, g.offset_groups, g.taps, g.channels // g.offset_groups)
    return split.transpose(1, 2).reshape(-1, g.taps, g.channels)


def _products(columns: rl.Tensor, weight: rl.Tensor) -> rl.Tensor:
    """Columns (P, taps, C) times the kernel, group by group: (P, O)."""
    positions, taps, channels = columns.shape
    outputs, inputs = weight.shape[:2]
    groups = channels // inputs
    kernel = weight.reshape(groups, outputs // groups, inputs, taps)
    kernel = kernel.permute(0, 3, 2, 1).reshape(groups, taps * inputs, outputs // groups)
    if groups == 1:
        return columns.reshape(positions, -1) @ kernel[0]
    split = columns.reshape(positions, taps, groups, inputs).permute(2, 0, 1, 3)
    found = split.reshape(groups, positions, taps * inputs) @ kernel
    return found.transpose(0, 1).reshape(positions, outputs)


@in_float32_under_autocast
def deform_conv2d(
    input: rl.Tensor,
    offset: rl.Tensor,
    weight: rl.Tensor,
    bias: rl.Tensor | None = None,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    mask: rl.Tensor | None = None,
) -> rl.Tensor:
    """Convolution whose samples are moved by `offset` and multiplied by `mask`.

    Parameters
    ----------
    input : Tensor (N, C, H, W)
    offset : Tensor (N, 2 * offset groups * kh * kw, height, width)
        For each group of channels and element of the kernel, how far down and how far to the right
        its sample moves, in pixels.
    weight : Tensor (O, C / groups, kh, kw)
    bias : Tensor (O,), optional
    stride, padding, dilation : int or (int, int)
    mask : Tensor (N, offset groups * kh * kw, height, width), optional
        Factors of the samples.

    Returns
    -------
    Tensor (N, O, height, width)

    Raises
    ------
    RuntimeError
        For shapes that do not fit together.

    Example
    -------
    >>> image, kernel = rl.ones(1, 1, 3, 3), rl.ones(1, 1, 2, 2)
    >>> deform_conv2d(image, rl.zeros(1, 8, 2, 2), kernel)
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    _check_dtypes(input, offset=offset, weight=weight, bias=bias, mask=mask)
    g = _geometry(input, offset, weight, [stride, padding, dilation])
    found = _products(_columns(input, offset, mask, g), weight)
    if bias is not None:
        _expect_shape("bias", bias, (weight.shape[0],))
        found = found + bias
    return found.reshape(g.images, *g.out, -1).permute(0, 3, 1, 2).contiguous()


class DeformConv2d(nn.Module):
    """:func:`deform_conv2d` as a layer, which is given the offsets with the input."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups != 0:
                raise ValueError(
                    f"DeformConv2d: {name} must be divisible by groups, got {channels} and {groups}"
                )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = pair(kernel_size)
        self.stride = pair(stride)
        self.padding = pair(padding)
        self.dilation = pair(dilation)
        self.groups = groups
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = nn.Parameter(rl.empty(shape))
        self.register_parameter("bias", nn.Parameter(rl.empty(out_channels)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias from uniform distributions, as `nn.Conv2d` does."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(math.prod(self.weight.shape[1:]))
            init.uniform_(self.bias, -bound, bound)

    def forward(
        self, input: rl.Tensor, offset: rl.Tensor, mask: rl.Tensor | None = None
    ) -> rl.Tensor:
        """The convolution of `input` (N, C, H, W) with offsets and, perhaps, a mask."""
        return deform_conv2d(
            input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask
        )

    def extra_repr(self) -> str:
        """Channels, then every setting that is not the default."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        for name, default in (("padding", (0, 0)), ("dilation", (1, 1)), ("groups", 1)):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text + (", bias=False" if self.bias is None else "")
