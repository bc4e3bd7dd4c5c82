"""Convolution layers."""

from __future__ import annotations

import math

from rushlight.nn import functional as F
from rushlight.nn import initialization as init
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.ops.creation.tensors import empty
from rushlight.ops.neural.epilogues import convolution_then


def _tuple(value, count):
    return (value,) * count if isinstance(value, int) else tuple(value)


class _Convolution(Module):
    _count = 2
    transposed = False

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        groups,
        bias,
        padding_mode,
        output_padding,
        device,
        dtype,
    ):
        super().__init__()
        count = self._count
        _check_channels(in_channels, out_channels, groups)
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of ('valid', 'same')"
            )
        modes = ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(
                f"padding_mode must be one of {list(modes)}, but got padding_mode='{padding_mode}'"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = _tuple(kernel_size, count), _tuple(stride, count)
        self.padding = padding if isinstance(padding, str) else _tuple(padding, count)
        if padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.dilation, self.padding_mode = _tuple(dilation, count), padding_mode
        self.output_padding = _tuple(output_padding, count)
        first, second = out_channels, in_channels // groups
        if self.transposed:
            first, second = in_channels, out_channels // groups
        kind = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty((first, second, *self.kernel_size), **kind))
        if bias:
            self.bias = Parameter(empty(out_channels, **kind))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw fresh initial values: uniform within ``1 / sqrt(fan_in)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    @property
    def _reversed_padding_repeated_twice(self):
        """The padding as :func:`pad` takes it, which subclasses of programs do."""
        amounts = []
        for i in reversed(range(self._count)):
            if self.padding == "same":
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                amounts += [total // 2, total - total // 2]
            else:
                amounts += [0 if self.padding == "valid" else self.padding[i]] * 2
        return amounts

    def _pad(self, input):
        """The input padded by the mode, and the padding left for the convolution."""
        if self.padding_mode == "zeros":
            return input, self.padding
        return F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode), 0

    def forward(self, input):
        """Convolve (N, C, ...) or (C, ...)."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        """The convolution with another weight and bias, for subclasses that make their own."""
        input, padding = self._pad(input)
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _then(self, input, weight, bias, epilogue):
        """:meth:`_conv_forward`, then an epilogue; None where that takes two steps."""
        if self.padding_mode != "zeros" or type(self.padding) is not tuple:
            return None
        settings = self.stride, self.padding, self.dilation, self.groups
        return convolution_then(self._count, input, weight, bias, settings, epilogue)

    def extra_repr(self):
        """The settings that differ from their defaults."""
        count = self._count
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * count:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * count:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * count:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


def _check_channels(in_channels, out_channels, groups):
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")


class _Forward(_Convolution):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            0,
            device,
            dtype,
        )


class Conv1d(_Forward):
    """Cross-correlation of (N, C, L) with weight (out, in / groups, K)."""

    _count, _function = 1, property(lambda self: F.conv1d)


class Conv2d(_Forward):
    """Cross-correlation of (N, C, H, W) with weight (out, in / groups, KH, KW).

    >>> layer = rushlight.nn.Conv2d(1, 8, 3, padding=1)
    >>> layer(rushlight.zeros(4, 1, 28, 28)).shape
    rushlight.Size([4, 8, 28, 28])
    """

    _count, _function = 2, property(lambda self: F.conv2d)


class Conv3d(_Forward):
    """Cross-correlation of (N, C, D, H, W) with weight (out, in / groups, KD, KH, KW)."""

    _count, _function = 3, property(lambda self: F.conv3d)


class _Transpose(_Convolution):
    transposed = True

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            output_padding,
            device,
            dtype,
        )

    def forward(self, input, output_size=None):
        """The transposed convolution; `output_size` resolves which of several sizes is meant."""
        extra = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, self._count,
            self.dilation,
        )  # fmt: skip
        return self._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )

    def _output_padding(
        self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None
    ):
        """The output padding that gives the output its size, for subclasses that convolve
        themselves; :attr:`output_padding` where no size is asked for."""
        if output_size is None:
            return self.output_padding
        dims, given = num_spatial_dims, len(output_size)
        if given not in (dims, input.dim()):
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {dims} or "
                f"{input.dim()} elements (got {given})"
            )
        sizes = tuple(output_size)[-dims:]
        extra = []
        for i, wanted in enumerate(sizes):
            apart = 1 if dilation is None else dilation[i]
            reach = apart * (kernel_size[i] - 1) + 1
            least = (input.shape[i - dims] - 1) * stride[i] - 2 * padding[i] + reach
            if not least <= wanted < least + max(stride[i], apart):
                raise ValueError(
                    f"requested an output size of {list(sizes)}, but valid sizes of dimension {i} "
                    f"range from {least} to {least + stride[i] - 1}"
                )
            extra.append(wanted - least)
        return tuple(extra)


class ConvTranspose1d(_Transpose):
    """The transpose of :class:`Conv1d`; weight (in, out / groups, K)."""

    _count, _function = 1, property(lambda self: F.conv_transpose1d)


class ConvTranspose2d(_Transpose):
    """The transpose of :class:`Conv2d`; weight (in, out / groups, KH, KW)."""

    _count, _function = 2, property(lambda self: F.conv_transpose2d)


class ConvTranspose3d(_Transpose):
    """The transpose of :class:`Conv3d`; weight (in, out / groups, KD, KH, KW)."""

    _count, _function = 3, property(lambda self: F.conv_transpose3d)
