"""Pooling with other means than the largest or the average, its inverse, and patches of images, by
ATen ops, for archives: functions, and layers by their classes."""

# ruff: noqa: UP006, UP007, UP035, B006 - annotations that TorchScript has had from its start
from __future__ import annotations

from typing import List, Tuple

from rushlight import nn
from rushlight.jit.dispatch import aten
from rushlight.jit.forms.functional import _form
from rushlight.jit.forms.layers import _layer
from rushlight.nn import functional as F  # noqa: N812 - the usual name
from rushlight.tensor.tensor import Tensor


# ---------------------------------------------------------------------------------------- p-norms
def _root(mean: Tensor, count: int, order: float) -> Tensor:
    """The p-norm of windows of so many elements, of whose powers the mean is known."""
    total = aten.sign(mean) * aten.relu(aten.abs(mean)) * count
    return aten.pow(total, 1.0 / order)


@_form
def _lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: List[int],
    stride: List[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    step = kernel_size if stride is None else stride
    mean = aten.avg_pool1d(aten.pow(input, norm_type), kernel_size, step, [0], ceil_mode)
    return _root(mean, kernel_size[0], norm_type)


@_form
def _lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: List[int],
    stride: List[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    step = kernel_size if stride is None else stride
    mean = aten.avg_pool2d(aten.pow(input, norm_type), kernel_size, step, [0, 0], ceil_mode)
    return _root(mean, kernel_size[0] * kernel_size[1], norm_type)


@_form
def _lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: List[int],
    stride: List[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    step = kernel_size if stride is None else stride
    mean = aten.avg_pool3d(aten.pow(input, norm_type), kernel_size, step, [0, 0, 0], ceil_mode)
    return _root(mean, kernel_size[0] * kernel_size[1] * kernel_size[2], norm_type)


@_layer(nn.LPPool1d)
def _lp_pool1d_layer(self, input: Tensor) -> Tensor:
    return F.lp_pool1d(
        input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
    )  # fmt: skip


@_layer(nn.LPPool2d)
def _lp_pool2d_layer(self, input: Tensor) -> Tensor:
    return F.lp_pool2d(
        input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
    )  # fmt: skip


@_layer(nn.LPPool3d)
def _lp_pool3d_layer(self, input: Tensor) -> Tensor:
    return F.lp_pool3d(
        input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
    )  # fmt: skip


# ---------------------------------------------------------------------------------------- unpooling
def _unpooled(
    sizes: List[int],
    kernel_size: List[int],
    stride: List[int] | None,
    padding: List[int],
    output_size: List[int] | None,
) -> List[int]:
    """The sizes that pooling was given; `output_size` may name those of all dimensions."""
    count = len(kernel_size)
    if output_size is not None:
        return output_size[len(output_size) - count :]
    found: List[int] = []
    for i in range(count):
        step = kernel_size[i] if stride is None else stride[i]
        size = sizes[len(sizes) - count + i]
        found.append((size - 1) * step + kernel_size[i] - 2 * padding[i])
    return found


@_form
def _max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: List[int],
    stride: List[int] | None = None,
    padding: List[int] = [0],
    output_size: List[int] | None = None,
) -> Tensor:
    size = _unpooled(input.size(), kernel_size, stride, padding, output_size)
    found = aten.max_unpool2d(
        aten.unsqueeze(input, -1), aten.unsqueeze(indices, -1), [size[0], 1]
    )  # fmt: skip
    return aten.squeeze(found, -1)


@_form
def _max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: List[int],
    stride: List[int] | None = None,
    padding: List[int] = [0, 0],
    output_size: List[int] | None = None,
) -> Tensor:
    size = _unpooled(input.size(), kernel_size, stride, padding, output_size)
    return aten.max_unpool2d(input, indices, size)


@_form
def _max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: List[int],
    stride: List[int] | None = None,
    padding: List[int] = [0, 0, 0],
    output_size: List[int] | None = None,
) -> Tensor:
    size = _unpooled(input.size(), kernel_size, stride, padding, output_size)
    step = kernel_size if stride is None else stride
    return aten.max_unpool3d(input, indices, size, step, padding)


@_layer(nn.MaxUnpool1d)
def _max_unpool1d_layer(
    self, input: Tensor, indices: Tensor, output_size: List[int] | None = None
) -> Tensor:
    return F.max_unpool1d(
        input, indices, self.kernel_size, self.stride, self.padding, output_size
    )  # fmt: skip


@_layer(nn.MaxUnpool2d)
def _max_unpool2d_layer(
    self, input: Tensor, indices: Tensor, output_size: List[int] | None = None
) -> Tensor:
    return F.max_unpool2d(
        input, indices, self.kernel_size, self.stride, self.padding, output_size
    )  # fmt: skip


@_layer(nn.MaxUnpool3d)
def _max_unpool3d_layer(
    self, input: Tensor, indices: Tensor, output_size: List[int] | None = None
) -> Tensor:
    return F.max_unpool3d(
        input, indices, self.kernel_size, self.stride, self.padding, output_size
    )  # fmt: skip


# ------------------------------------------------------------------------------- fractional pooling
def _fractions(
    input: Tensor,
    kernel_size: List[int],
    output_size: List[int] | None,
    output_ratio: List[float] | None,
    samples: Tensor | None,
) -> Tuple[List[int], Tensor]:
    """The sizes of the result, and where windows begin."""
    count = len(kernel_size)
    size: List[int] = []
    if output_size is not None:
        size = output_size
    elif output_ratio is not None:
        for i in range(count):
            size.append(int(float(input.size(i - count)) * output_ratio[i]))
    else:
        raise ValueError("fractional_max_pool requires output_size or output_ratio")
    if samples is None:
        rows = 1 if input.dim() == count + 1 else input.size(0)
        samples = aten.rand(
            [rows, input.size(-count - 1), count], dtype=input.dtype, device=input.device
        )
    return size, samples


@_form
def _fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: List[int],
    output_size: List[int] | None = None,
    output_ratio: List[float] | None = None,
    return_indices: bool = True,
    _random_samples: Tensor | None = None,
) -> Tuple[Tensor, Tensor]:
    size, samples = _fractions(input, kernel_size, output_size, output_ratio, _random_samples)
    return aten.fractional_max_pool2d(input, kernel_size, size, samples)


@_form
def _fractional_max_pool2d(
    input: Tensor,
    kernel_size: List[int],
    output_size: List[int] | None = None,
    output_ratio: List[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    size, samples = _fractions(input, kernel_size, output_size, output_ratio, _random_samples)
    return aten.fractional_max_pool2d(input, kernel_size, size, samples)[0]


@_form
def _fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: List[int],
    output_size: List[int] | None = None,
    output_ratio: List[float] | None = None,
    return_indices: bool = True,
    _random_samples: Tensor | None = None,
) -> Tuple[Tensor, Tensor]:
    size, samples = _fractions(input, kernel_size, output_size, output_ratio, _random_samples)
    return aten.fractional_max_pool3d(input, kernel_size, size, samples)


@_form
def _fractional_max_pool3d(
    input: Tensor,
    kernel_size: List[int],
    output_size: List[int] | None = None,
    output_ratio: List[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    size, samples = _fractions(input, kernel_size, output_size, output_ratio, _random_samples)
    return aten.fractional_max_pool3d(input, kernel_size, size, samples)[0]


@_layer(nn.FractionalMaxPool2d)
def _fractional_max_pool2d_layer(self, input: Tensor):
    size, samples = _fractions(
        input, self.kernel_size, self.output_size, self.output_ratio, self._random_samples
    )
    if self.return_indices:
        return aten.fractional_max_pool2d(input, self.kernel_size, size, samples)
    return aten.fractional_max_pool2d(input, self.kernel_size, size, samples)[0]


@_layer(nn.FractionalMaxPool3d)
def _fractional_max_pool3d_layer(self, input: Tensor):
    size, samples = _fractions(
        input, self.kernel_size, self.output_size, self.output_ratio, self._random_samples
    )
    if self.return_indices:
        return aten.fractional_max_pool3d(input, self.kernel_size, size, samples)
    return aten.fractional_max_pool3d(input, self.kernel_size, size, samples)[0]


# --------------------------------------------------------------------------------------------- rest
@_layer(nn.AdaptiveAvgPool3d)
def _adaptive_avg_pool3d(self, input: Tensor) -> Tensor:
    return aten.adaptive_avg_pool3d(input, self.output_size)


@_layer(nn.CircularPad1d, nn.CircularPad2d, nn.CircularPad3d)
def _circular_pad(self, input: Tensor) -> Tensor:
    return aten.pad(input, self.padding, "circular")


@_layer(nn.Unfold)
def _unfold_layer(self, input: Tensor) -> Tensor:
    return aten.im2col(input, self.kernel_size, self.dilation, self.padding, self.stride)


@_layer(nn.Fold)
def _fold_layer(self, input: Tensor) -> Tensor:
    return aten.col2im(
        input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
    )
