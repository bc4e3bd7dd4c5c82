"""Windows of images as columns, and columns added back up to images."""

from __future__ import annotations

import itertools

from rushlight.errors import shape_text
from rushlight.kernels.convolution import columns
from rushlight.kernels.launch.prepared import by_layout
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.aten import RUNS
from rushlight.ops._table.op import op
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor


def _counts(size, kernel, dilation, padding, stride):
    """Number of window positions per dimension."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    )


def _windows(kernel, dilation, stride, counts):
    """For each kernel element the slices of the padded image it meets."""
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        yield (
            i * kernel[1] + j,
            slice(i * dilation[0], i * dilation[0] + stride[0] * (counts[0] - 1) + 1, stride[0]),
            slice(j * dilation[1], j * dilation[1] + stride[1] * (counts[1] - 1) + 1, stride[1]),
        )


def _columns_meta(input, kernel, dilation, padding, stride):
    counts = _counts(input.shape[2:], kernel, dilation, padding, stride)
    rows = input.shape[1] * kernel[0] * kernel[1]
    return (input.shape[0], rows, counts[0] * counts[1]), dtype_of(input)


def _column_samples(make):
    return [
        ((make(2, 3, 5, 4), (2, 3), (1, 1), (1, 0), (2, 1)), {}),
        ((make(1, 2, 6, 5), (2, 2), (2, 1), (0, 1), (1, 2)), {}),
        ((make(2, 1, 4, 4), (2, 2), (1, 1), (0, 0), (2, 2)), {}),
    ]


@op(
    schemas=(
        "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) "
        "-> Tensor",
    ),
    aten_call=lambda input, kernel_size, dilation, padding, stride: (
        "im2col",
        {
            "self": input,
            "kernel_size": kernel_size,
            "dilation": dilation,
            "padding": padding,
            "stride": stride,
        },
    ),
    linear=True,
    batching="rows",
    method=False,
    samples=_column_samples,
    meta=_columns_meta,
    node="Im2Col",
)
def _im2col(input: Tensor, kernel, dilation, padding, stride):
    """(N, C, H, W) to (N, C * KH * KW, L): the window at each of L positions as a column."""
    n, c = input.shape[:2]
    counts = _counts(input.shape[2:], kernel, dilation, padding, stride)
    around = [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2]
    padded = np.pad(input, around) if any(padding) else input
    out = np.empty((n, c, kernel[0] * kernel[1], *counts), input.dtype)
    for place, down, across in _windows(kernel, dilation, stride, counts):
        out[:, :, place] = padded[:, :, down, across]
    return out.reshape(n, c * kernel[0] * kernel[1], counts[0] * counts[1])


def _image_meta(input, size, kernel, dilation, padding, stride):
    return (input.shape[0], input.shape[1] // (kernel[0] * kernel[1]), *size), dtype_of(input)


def _image_samples(make):
    return [
        ((make(2, 18, 6), (5, 4), (2, 3), (1, 1), (1, 0), (2, 1)), {}),
        ((make(1, 8, 6), (4, 6), (2, 2), (1, 1), (0, 0), (2, 2)), {}),
        ((make(1, 4, 9), (4, 4), (2, 2), (1, 1), (0, 0), (1, 1)), {}),
    ]


@op(
    schemas=(
        "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] "
        "padding, int[2] stride) -> Tensor",
    ),
    aten_call=lambda input, output_size, kernel_size, dilation, padding, stride: (
        "col2im",
        {
            "self": input,
            "output_size": output_size,
            "kernel_size": kernel_size,
            "dilation": dilation,
            "padding": padding,
            "stride": stride,
        },
    ),
    linear=True,
    batching="rows",
    method=False,
    samples=_image_samples,
    meta=_image_meta,
    node="Col2Im",
)
def _col2im(input: Tensor, size, kernel, dilation, padding, stride):
    """The transpose of :func:`_im2col`: overlapping columns add up."""
    n, rows = input.shape[:2]
    c = rows // (kernel[0] * kernel[1])
    counts = _counts(size, kernel, dilation, padding, stride)
    windows = input.reshape(n, c, kernel[0] * kernel[1], *counts)
    wide = np.float32 if input.dtype.itemsize == 2 and input.dtype.kind not in "iub" else None
    high, width = size[0] + 2 * padding[0], size[1] + 2 * padding[1]
    out = np.zeros((n, c, high, width), wide or input.dtype)
    for place, down, across in _windows(kernel, dilation, stride, counts):
        out[:, :, down, across] += windows[:, :, place]
    out = out[:, :, padding[0] : high - padding[0], padding[1] : width - padding[1]]
    return np.ascontiguousarray(out, input.dtype)


def _prepared_columns(input, kernel, dilation, padding, stride):
    counts = _counts(input.shape[2:], kernel, dilation, padding, stride)
    return columns.gathered(input, counts, kernel, dilation, padding, stride)


def _prepared_image(input, size, kernel, dilation, padding, stride):
    counts = _counts(size, kernel, dilation, padding, stride)
    return columns.added(input, counts, size, kernel, dilation, padding, stride)


_im2col.cpu(by_layout(_prepared_columns, _im2col.op.body))
_col2im.cpu(by_layout(_prepared_image, _col2im.op.body))
_im2col.gradient(
    input=lambda grad, input_shape, kernel, dilation, padding, stride: _col2im(
        grad, tuple(input_shape[2:]), kernel, dilation, padding, stride
    )
)
_col2im.gradient(
    input=lambda grad, kernel, dilation, padding, stride: _im2col(
        grad, kernel, dilation, padding, stride
    )
)


def _pair(name, argument, value, least):
    found = (value, value) if isinstance(value, int) else tuple(value)
    if len(found) == 1:
        found *= 2
    if len(found) != 2:
        raise RuntimeError(
            f"{name}: expected {argument} to be an int or two ints, but got {argument}={value}"
        )
    if min(found) < least:
        raise RuntimeError(
            f"{name}: {argument} should be {'greater than zero' if least else 'non-negative'}, but "
            f"got {found}"
        )
    return found


def _settings(name, kernel_size, dilation, padding, stride):
    return (
        _pair(name, "kernel_size", kernel_size, 1),
        _pair(name, "dilation", dilation, 1),
        _pair(name, "padding", padding, 0),
        _pair(name, "stride", stride, 1),
    )


@overridable
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of (N, C, H, W) as columns: (N, C * KH * KW, L); also without N.

    >>> rushlight.nn.functional.unfold(rushlight.ones(1, 2, 4, 4), 3).shape
    rushlight.Size([1, 18, 4])
    """
    settings = _settings(unfold.__name__, kernel_size, dilation, padding, stride)
    if input.dim() not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "unfold: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {shape_text(input.shape)}"
        )
    counts = _counts(input.shape[-2:], *settings)
    if min(counts) < 1:
        raise RuntimeError(
            f"unfold: Given input with spatial size {shape_text(input.shape[-2:])}, kernel_size="
            f"{settings[0]}, dilation={settings[1]}, padding={settings[2]}, stride={settings[3]}, "
            f"calculated shape of the array of sliding blocks as {counts}, but its components must "
            "be at least one"
        )
    batched = input if input.dim() == 4 else input.unsqueeze(0)
    out = _im2col(batched, *settings)
    return out if input.dim() == 4 else out.squeeze(0)


@overridable
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns (N, C * KH * KW, L) added up to an image (N, C, *output_size); also without N."""
    size = _pair("fold", "output_size", output_size, 1)
    settings = _settings("fold", kernel_size, dilation, padding, stride)
    if input.dim() not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "fold: Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"other non-zero dimensions, but got: {shape_text(input.shape)}"
        )
    area, counts = settings[0][0] * settings[0][1], _counts(size, *settings)
    if input.shape[-2] % area:
        raise RuntimeError(
            "fold: Expected size of input's dimension 1 to be divisible by the product of "
            f"kernel_size, but got input.size(1)={input.shape[-2]} and kernel_size={settings[0]}"
        )
    if min(counts) < 1 or input.shape[-1] != counts[0] * counts[1]:
        raise RuntimeError(
            f"fold: Given output_size={size}, kernel_size={settings[0]}, dilation={settings[1]}, "
            f"padding={settings[2]}, stride={settings[3]}, expected size of input's dimension 2 to "
            f"match the calculated number of sliding blocks {counts[0]} * {counts[1]} = "
            f"{counts[0] * counts[1]}, but got input.size(2)={input.shape[-1]}"
        )
    batched = input if input.dim() == 3 else input.unsqueeze(0)
    out = _col2im(batched, size, *settings)
    return out if input.dim() == 3 else out.squeeze(0)


RUNS["im2col"], RUNS["col2im"] = unfold, fold
