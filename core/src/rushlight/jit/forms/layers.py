"""``forward`` of Rushlight's layers as TorchScript, for archives.

In a compiled program layers run as they are; what :func:`save` writes for them stands here, by
class. `self` is the compiled layer: its plain attributes are constants.
"""

# ruff: noqa: UP006, UP007, UP035 - annotations that TorchScript has had from its start
from __future__ import annotations

import importlib
from typing import List

from rushlight import nn
from rushlight.jit.dispatch import aten
from rushlight.nn import functional as F  # noqa: N812 - the usual name
from rushlight.tensor.tensor import Tensor

FORMS: dict = {}


def _layer(*classes):
    def keep(function):
        for kind in classes:
            FORMS[kind] = function
        return function

    return keep


def form_of(python):
    """The form of a layer's class; None if it has none."""
    for more in ("activations", "attention", "losses", "pooling"):
        importlib.import_module("rushlight.jit.forms." + more)
    return next((FORMS[part] for part in python.__mro__ if part in FORMS), None)


@_layer(nn.Sequential)
def _sequential(self, input):
    for module in self:
        input = module(input)
    return input


@_layer(nn.Identity)
def _identity(self, input: Tensor) -> Tensor:
    return input


@_layer(nn.Linear)
def _linear(self, input: Tensor) -> Tensor:
    return F.linear(input, self.weight, self.bias)


@_layer(nn.Bilinear)
def _bilinear(self, input1: Tensor, input2: Tensor) -> Tensor:
    return aten.bilinear(input1, input2, self.weight, self.bias)


@_layer(nn.Flatten)
def _flatten(self, input: Tensor) -> Tensor:
    return aten.flatten(input, self.start_dim, self.end_dim)


@_layer(nn.Embedding)
def _embedding(self, input: Tensor) -> Tensor:
    return F.embedding(
        input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
        self.scale_grad_by_freq, self.sparse,
    )  # fmt: skip


@_layer(nn.EmbeddingBag)
def _embedding_bag(
    self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
) -> Tensor:
    return F.embedding_bag(
        input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
        self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
    )  # fmt: skip


@_layer(nn.Unflatten)
def _unflatten(self, input: Tensor) -> Tensor:
    return aten.unflatten(input, self.dim, self.unflattened_size)


@_layer(nn.ChannelShuffle)
def _channel_shuffle(self, input: Tensor) -> Tensor:
    return aten.channel_shuffle(input, self.groups)


# ----------------------------------------------------------------------------------- convolutions
@_layer(nn.Conv1d)
def _conv1d(self, input: Tensor) -> Tensor:
    if self.padding_mode != "zeros":
        raise NotImplementedError("Conv1d: only padding with zeros can be written")
    return aten.conv1d(
        input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
    )


@_layer(nn.Conv2d)
def _conv2d(self, input: Tensor) -> Tensor:
    if self.padding_mode != "zeros":
        raise NotImplementedError("Conv2d: only padding with zeros can be written")
    return aten.conv2d(
        input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
    )


@_layer(nn.Conv3d)
def _conv3d(self, input: Tensor) -> Tensor:
    if self.padding_mode != "zeros":
        raise NotImplementedError("Conv3d: only padding with zeros can be written")
    return aten.conv3d(
        input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
    )


@_layer(nn.ConvTranspose1d)
def _conv_transpose1d(self, input: Tensor, output_size: List[int] | None = None) -> Tensor:
    if output_size is not None:
        raise NotImplementedError("transposed convolution: output_size cannot be in an archive")
    return aten.conv_transpose1d(
        input, self.weight, self.bias, self.stride, self.padding, self.output_padding,
        self.groups, self.dilation,
    )  # fmt: skip


@_layer(nn.ConvTranspose2d)
def _conv_transpose2d(self, input: Tensor, output_size: List[int] | None = None) -> Tensor:
    if output_size is not None:
        raise NotImplementedError("transposed convolution: output_size cannot be in an archive")
    return aten.conv_transpose2d(
        input, self.weight, self.bias, self.stride, self.padding, self.output_padding,
        self.groups, self.dilation,
    )  # fmt: skip


@_layer(nn.ConvTranspose3d)
def _conv_transpose3d(self, input: Tensor, output_size: List[int] | None = None) -> Tensor:
    if output_size is not None:
        raise NotImplementedError("transposed convolution: output_size cannot be in an archive")
    return aten.conv_transpose3d(
        input, self.weight, self.bias, self.stride, self.padding, self.output_padding,
        self.groups, self.dilation,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------- norms
@_layer(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
def _batch_norm(self, input: Tensor) -> Tensor:
    factor = 0.0 if self.momentum is None else self.momentum
    if self.num_batches_tracked is not None:
        if self.training and self.track_running_stats:
            aten.add_(self.num_batches_tracked, 1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
    if self.running_mean is None:
        return aten.batch_norm(
            input, self.weight, self.bias, None, None, True, factor, self.eps, True
        )
    if self.training and not self.track_running_stats:
        return aten.batch_norm(
            input, self.weight, self.bias, None, None, True, factor, self.eps, True
        )
    return aten.batch_norm(
        input, self.weight, self.bias, self.running_mean, self.running_var, self.training, factor,
        self.eps, True,
    )  # fmt: skip


@_layer(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
def _instance_norm(self, input: Tensor) -> Tensor:
    factor = 0.0 if self.momentum is None else self.momentum
    return F.instance_norm(
        input, self.running_mean, self.running_var, self.weight, self.bias,
        self.training or not self.track_running_stats, factor, self.eps,
    )  # fmt: skip


@_layer(nn.LayerNorm)
def _layer_norm(self, input: Tensor) -> Tensor:
    return aten.layer_norm(
        input, self.normalized_shape, self.weight, self.bias, self.eps, True
    )  # fmt: skip


@_layer(nn.GroupNorm)
def _group_norm(self, input: Tensor) -> Tensor:
    return aten.group_norm(input, self.num_groups, self.weight, self.bias, self.eps, True)


@_layer(nn.RMSNorm)
def _rms_norm(self, input: Tensor) -> Tensor:
    return aten.rms_norm(input, self.normalized_shape, self.weight, self.eps)


@_layer(nn.LocalResponseNorm)
def _local_response_norm(self, input: Tensor) -> Tensor:
    return F.local_response_norm(
        input, self.size, float(self.alpha), float(self.beta), float(self.k)
    )  # fmt: skip


# ----------------------------------------------------------------------------- pooling and padding
@_layer(nn.MaxPool1d)
def _max_pool1d(self, input: Tensor):
    stride = self.kernel_size if self.stride is None else self.stride
    if self.return_indices:
        return aten.max_pool1d_with_indices(
            input, self.kernel_size, stride, self.padding, self.dilation, self.ceil_mode
        )
    return aten.max_pool1d(
        input, self.kernel_size, stride, self.padding, self.dilation, self.ceil_mode
    )


@_layer(nn.MaxPool2d)
def _max_pool2d(self, input: Tensor):
    stride = self.kernel_size if self.stride is None else self.stride
    if self.return_indices:
        return aten.max_pool2d_with_indices(
            input, self.kernel_size, stride, self.padding, self.dilation, self.ceil_mode
        )
    return aten.max_pool2d(
        input, self.kernel_size, stride, self.padding, self.dilation, self.ceil_mode
    )


@_layer(nn.MaxPool3d)
def _max_pool3d(self, input: Tensor):
    stride = self.kernel_size if self.stride is None else self.stride
    if self.return_indices:
        return aten.max_pool3d_with_indices(
            input, self.kernel_size, stride, self.padding, self.dilation, self.ceil_mode
        )
    return aten.max_pool3d(
        input, self.kernel_size, stride, self.padding, self.dilation, self.ceil_mode
    )


@_layer(nn.AdaptiveMaxPool1d)
def _adaptive_max_pool1d(self, input: Tensor):
    if self.return_indices:
        return aten.adaptive_max_pool1d(input, self.output_size)
    return aten.adaptive_max_pool1d(input, self.output_size)[0]


@_layer(nn.AdaptiveMaxPool2d)
def _adaptive_max_pool2d(self, input: Tensor):
    if self.return_indices:
        return aten.adaptive_max_pool2d(input, self.output_size)
    return aten.adaptive_max_pool2d(input, self.output_size)[0]


@_layer(nn.AdaptiveMaxPool3d)
def _adaptive_max_pool3d(self, input: Tensor):
    if self.return_indices:
        return aten.adaptive_max_pool3d(input, self.output_size)
    return aten.adaptive_max_pool3d(input, self.output_size)[0]


@_layer(nn.AvgPool1d)
def _avg_pool1d(self, input: Tensor) -> Tensor:
    return aten.avg_pool1d(
        input, self.kernel_size,
        self.kernel_size if self.stride is None else self.stride, self.padding, self.ceil_mode,
        self.count_include_pad,
    )  # fmt: skip


@_layer(nn.AvgPool2d)
def _avg_pool2d(self, input: Tensor) -> Tensor:
    return aten.avg_pool2d(
        input, self.kernel_size,
        self.kernel_size if self.stride is None else self.stride, self.padding, self.ceil_mode,
        self.count_include_pad, self.divisor_override,
    )  # fmt: skip


@_layer(nn.AvgPool3d)
def _avg_pool3d(self, input: Tensor) -> Tensor:
    return aten.avg_pool3d(
        input, self.kernel_size,
        self.kernel_size if self.stride is None else self.stride, self.padding, self.ceil_mode,
        self.count_include_pad, self.divisor_override,
    )  # fmt: skip


@_layer(nn.AdaptiveAvgPool1d)
def _adaptive_avg_pool1d(self, input: Tensor) -> Tensor:
    return aten.adaptive_avg_pool1d(input, self.output_size)


@_layer(nn.AdaptiveAvgPool2d)
def _adaptive_avg_pool2d(self, input: Tensor) -> Tensor:
    return aten.adaptive_avg_pool2d(input, self.output_size)


@_layer(nn.ReflectionPad1d, nn.ReflectionPad2d, nn.ReflectionPad3d)
def _reflection_pad(self, input: Tensor) -> Tensor:
    return aten.pad(input, self.padding, "reflect")


@_layer(nn.ReplicationPad1d, nn.ReplicationPad2d, nn.ReplicationPad3d)
def _replication_pad(self, input: Tensor) -> Tensor:
    return aten.pad(input, self.padding, "replicate")


@_layer(nn.ConstantPad1d, nn.ConstantPad2d, nn.ConstantPad3d, nn.ZeroPad1d, nn.ZeroPad2d,
        nn.ZeroPad3d)  # fmt: skip
def _constant_pad(self, input: Tensor) -> Tensor:
    return aten.constant_pad_nd(input, self.padding, self.value)


@_layer(nn.Upsample)
def _upsample(self, input: Tensor) -> Tensor:
    count = input.dim() - 2
    if self.size is not None:
        if isinstance(self.size, int):
            size = [self.size for i in range(count)]
            return F.interpolate(input, size, None, self.mode, self.align_corners)
        return F.interpolate(input, self.size, None, self.mode, self.align_corners)
    if isinstance(self.scale_factor, float):
        factors = [self.scale_factor for i in range(count)]
        return F.interpolate(input, None, factors, self.mode, self.align_corners)
    return F.interpolate(input, None, self.scale_factor, self.mode, self.align_corners)


@_layer(nn.PixelShuffle)
def _pixel_shuffle(self, input: Tensor) -> Tensor:
    return aten.pixel_shuffle(input, self.upscale_factor)


@_layer(nn.PixelUnshuffle)
def _pixel_unshuffle(self, input: Tensor) -> Tensor:
    return aten.pixel_unshuffle(input, self.downscale_factor)
