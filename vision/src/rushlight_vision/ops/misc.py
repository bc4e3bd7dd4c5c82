"""Layers that networks of vision are made of: convolutions with normalisation and activation,
frozen batch normalisation, squeeze and excitation, multi-layer perceptrons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn.functional import interpolate as interpolate  # programs import it from here

Layer = Callable[..., nn.Module]
Size = int | tuple[int, ...]


class FrozenBatchNorm2d(nn.Module):
    """Batch normalisation (N, C, H, W) whose statistics, weights and biases are buffers: constants.

    >>> FrozenBatchNorm2d(3)(rl.ones(1, 3, 2, 2)).shape
    rushlight.Size([1, 3, 2, 2])
    """

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", rl.ones(num_features))
        self.register_buffer("bias", rl.zeros(num_features))
        self.register_buffer("running_mean", rl.zeros(num_features))
        self.register_buffer("running_var", rl.ones(num_features))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **options: Any
    ) -> None:
        """Take the state of a batch normalisation, too, which counts batches."""
        state_dict.pop(f"{prefix}num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *rest, **options)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The normalised input (N, C, H, W)."""
        shape = (1, -1, 1, 1)
        scale = self.weight.reshape(shape) * (self.running_var.reshape(shape) + self.eps).rsqrt()
        bias = self.bias.reshape(shape) - self.running_mean.reshape(shape) * scale
        return x * scale + bias

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


def _same_padding(kernel_size: Size, dilation: Size) -> Size:
    """The padding that keeps sizes (with stride 1 and odd kernels)."""
    if isinstance(kernel_size, int) and isinstance(dilation, int):
        return (kernel_size - 1) // 2 * dilation
    dims = max(len(each) for each in (kernel_size, dilation) if isinstance(each, Sequence))
    kernels, steps = (
        tuple(each) if isinstance(each, Sequence) else (each,) * dims
        for each in (kernel_size, dilation)
    )
    return tuple((k - 1) // 2 * d for k, d in zip(kernels, steps, strict=True))


class ConvNormActivation(nn.Sequential):
    """A convolution, then normalisation and activation where there are some."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size = 3,
        stride: Size = 1,
        padding: Size | str | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: Size = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
        conv_layer: Layer = nn.Conv2d,
    ) -> None:
        padding = _same_padding(kernel_size, dilation) if padding is None else padding
        layers = [
            conv_layer(
                in_channels, out_channels, kernel_size, stride, padding,
                dilation=dilation, groups=groups, bias=norm_layer is None if bias is None else bias,
            )
        ]  # fmt: skip
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


class Conv2dNormActivation(ConvNormActivation):
    """A convolution of images (N, C, H, W), then normalisation and activation.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size : int or (int, int), default 3
    stride : int or (int, int), default 1
    padding : int, (int, int), str or None
        None: what keeps the size, ``(kernel_size - 1) // 2 * dilation``.
    groups : int, default 1
    norm_layer : callable or None, default `nn.BatchNorm2d`
        Called with the channels.
    activation_layer : callable or None, default `nn.ReLU`
        Called with `inplace`, unless that is None.
    dilation : int or (int, int), default 1
    inplace : bool or None, default True
    bias : bool or None
        None: a bias where there is no normalisation.

    Example
    -------
    >>> Conv2dNormActivation(3, 8, stride=2)(rl.ones(1, 3, 8, 8)).shape
    rushlight.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int] = 3,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | tuple[int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer,
            activation_layer, dilation, inplace, bias, nn.Conv2d,
        )  # fmt: skip


class Conv3dNormActivation(ConvNormActivation):
    """A convolution of volumes (N, C, D, H, W), then normalisation and activation; arguments as of
    :class:`Conv2dNormActivation`, sizes with three elements.

    >>> Conv3dNormActivation(3, 8, stride=2)(rl.ones(1, 3, 8, 8, 8)).shape
    rushlight.Size([1, 8, 4, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int, int] = 3,
        stride: int | tuple[int, int, int] = 1,
        padding: int | tuple[int, int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm3d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | tuple[int, int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer,
            activation_layer, dilation, inplace, bias, nn.Conv3d,
        )  # fmt: skip


class SqueezeExcitation(nn.Module):
    """Channels of images (N, C, H, W) scaled by what a small network says of their means.

    Hu et al., Squeeze-and-excitation networks, 2018.

    `input_channels` are squeezed to `squeeze_channels`; `activation` and `scale_activation` are
    classes of layers, `nn.ReLU` and `nn.Sigmoid` unless given.

    >>> SqueezeExcitation(8, 2)(rl.ones(1, 8, 4, 4)).shape
    rushlight.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Layer = nn.ReLU,
        scale_activation: Layer = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def _scale(self, input: rl.Tensor) -> rl.Tensor:
        squeezed = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(squeezed))

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """The scaled input (N, C, H, W)."""
        return self._scale(input) * input


class MLP(nn.Sequential):
    """Linear layers with normalisation, activation and dropout between them; dropout at the end.

    Parameters
    ----------
    in_channels : int
    hidden_channels : list of int
        Widths of the layers; the last one is that of the result.
    norm_layer : callable or None, default None
        Called with the width.
    activation_layer : callable, default `nn.ReLU`
    inplace : bool or None, default None
        What activation and dropout are given, unless None.
    bias : bool, default True
    dropout : float, default 0.0

    Example
    -------
    >>> MLP(4, [8, 2])(rl.ones(3, 4)).shape
    rushlight.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: list[int],
        norm_layer: Layer | None = None,
        activation_layer: Layer = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        width = in_channels
        for hidden in hidden_channels[:-1]:
            layers.append(nn.Linear(width, hidden, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(hidden))
            layers += [activation_layer(**options), nn.Dropout(dropout, **options)]
            width = hidden
        layers.append(nn.Linear(width, hidden_channels[-1], bias=bias))
        layers.append(nn.Dropout(dropout, **options))
        super().__init__(*layers)


class Permute(nn.Module):
    """A view with permuted dimensions.

    >>> Permute([0, 2, 1])(rl.ones(1, 2, 3)).shape
    rushlight.Size([1, 3, 2])
    """

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The view."""
        return rl.permute(x, self.dims)
