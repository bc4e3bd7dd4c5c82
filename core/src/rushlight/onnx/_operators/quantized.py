"""Quantized numbers as integers with a scale and a zero point."""

from __future__ import annotations

import rushlight as rl
from rushlight.onnx._operators.layers import Conv, pads_of
from rushlight.onnx._operators.registry import operator

FEW = 128  # products of two bytes whose sum float32 holds: 128 x 255 x 255 < 2 ** 23


def _along(value, x, axis, block_size=0):
    """A scale or zero point so that it fits a tensor."""
    if value is None or value.ndim == 0 or value.numel() == 1 and value.ndim < 2:
        return value if value is None else value.reshape(())
    if block_size:
        return value.repeat_interleave(block_size, axis).narrow(axis, 0, x.shape[axis])
    if value.ndim == 1:
        shape = [1] * x.ndim
        shape[axis] = -1
        return value.reshape(shape)
    return value


@operator()
def DequantizeLinear(x, scale, zero=None, axis=1, block_size=0, output_dtype=0):
    kind = scale.dtype
    scales, zeros = _along(scale, x, axis, block_size), _along(zero, x, axis, block_size)
    values = x.to(kind) if zero is None else x.to(kind) - zeros.to(kind)
    return values * scales


@operator()
def QuantizeLinear(
    x, scale, zero=None, axis=1, block_size=0, output_dtype=0, precision=0, saturate=1
):
    from rushlight.onnx._operators.dtypes import dtype_of

    kind = dtype_of(output_dtype) if output_dtype else rl.uint8 if zero is None else zero.dtype
    scales, zeros = _along(scale, x, axis, block_size), _along(zero, x, axis, block_size)
    return _as_bytes((x / scales).round(), zeros, kind)


def _as_bytes(values, zeros, kind):
    """Whole numbers plus their zero points, as near as a kind of integers has them."""
    about = rl.iinfo(kind)
    values = values.to(rl.promote_types(values.dtype, rl.float32))  # bounds are not halves
    if zeros is None:
        return values.clamp(about.min, about.max).to(rl.int32).to(kind)
    zeros = zeros.to(rl.int32)
    low, high = (about.min - zeros).to(values.dtype), (about.max - zeros).to(values.dtype)
    return (values.clamp(low, high).to(rl.int32) + zeros).to(kind)


@operator()
def DynamicQuantizeLinear(x):
    low, high = x.min().clamp(max=0), x.max().clamp(min=0)
    scale = (high - low) / 255
    zero = (-low / scale).round().clamp(0, 255)
    found = ((x / scale).round() + zero).clamp(0, 255).to(rl.uint8)
    return found, scale, zero.to(rl.uint8)


def _shifted(x, zero, rows=False):
    values = x.to(rl.int32)
    if zero is None:
        return values
    shift = zero.to(rl.int32)
    if rows and shift.ndim == 1:
        shift = shift[:, None]
    return values - shift


def _signed(x, zero):
    """Bytes with a sign, and what is to be taken off them in int32."""
    off = rl.zeros((), dtype=rl.int32) if zero is None else zero.to(rl.int32)
    return (x, off) if x.dtype is rl.int8 else ((x ^ 128).view(rl.int8), off - 128)


def _integer_product(a, b, a_zero, b_zero):
    """``(a - a_zero) @ (b - b_zero)`` of bytes in int32."""
    if b.ndim != 2 or a.ndim < 2 or (a_zero is not None and a_zero.ndim > 1 and a_zero.numel() > 1):
        left, right = _shifted(a, a_zero, rows=True), _shifted(b, b_zero)
        return (left.double() @ right.double()).to(rl.int32)
    (left, below), (right, off) = _signed(a, a_zero), _signed(b, b_zero)
    below = below[:, None] if below.ndim == 1 else below.reshape(())
    rows, count = left.reshape(-1, a.shape[-1]), a.shape[-1]
    found = rl._int_mm(rows, right).reshape(*a.shape[:-1], b.shape[1])
    found = found - left.sum(-1, keepdim=True, dtype=rl.int32) * off
    return found - below * (right.sum(0, dtype=rl.int32) - count * off)


@operator()
def MatMulInteger(a, b, a_zero=None, b_zero=None):
    return _integer_product(a, b, a_zero, b_zero)


@operator()
def QLinearMatMul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    product = _integer_product(a, b, a_zero, b_zero).float()
    return _as_bytes((product * (a_scale * b_scale / y_scale)).round(), y_zero, y_zero.dtype)


@operator()
def ConvInteger(x, weight, x_zero=None, w_zero=None, **options):
    return _channels_second(_integer_convolution(x, weight, x_zero, w_zero, **options))


@operator()
def QLinearConv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None, **options):
    found = _integer_convolution(x, w, x_zero, w_zero, **options)
    found = found if bias is None else found + bias
    scale = x_scale * w_scale / y_scale
    return _channels_second(_as_bytes((found.float() * scale).round(), y_zero, y_zero.dtype))


def _channels_second(x):
    return x.movedim(-1, 1).contiguous()


def _integer_convolution(x, weight, x_zero, w_zero, group=1, **options):
    """Sums of products in int32, channels last."""
    if group == 1:
        return _by_windows(x, weight, x_zero, w_zero, **options)
    if w_zero is not None and w_zero.ndim:
        w_zero = w_zero.reshape([-1, *[1] * (weight.ndim - 1)])
    # Sums of one channel's products are exact in float32, whose kernels add them one by one.
    exact = rl.float32 if weight.shape[1] == 1 and weight[0].numel() <= FEW else rl.float64
    values, kernels = _shifted(x, x_zero).to(exact), _shifted(weight, w_zero).to(exact)
    return Conv(values, kernels, group=group, **options).to(rl.int32).movedim(1, -1)


def _by_windows(x, weight, x_zero, w_zero, kernel_shape=None, **places):
    """Windows of bytes, channels last, as rows of one product."""
    kernel, rank = weight.shape[2:], weight.ndim - 2
    strides, dilations = (places.get(name) or [1] * rank for name in ("strides", "dilations"))
    pads = (places.get("auto_pad", "NOTSET"), places.get("pads"))
    before, after = pads_of(*pads, x.shape[2:], kernel, strides, dilations)
    (image, below), (matrix, off) = _signed(x, x_zero), _signed(weight, w_zero)
    image = _surrounded(image.movedim(1, -1), below, before, after)
    rows = _windows(image, kernel, strides, dilations)
    matrix = matrix.movedim(1, -1).reshape(len(weight), -1).t().contiguous()
    found = rl._int_mm(rows.reshape(-1, len(matrix)), matrix)
    found = found.reshape(*rows.shape[: rank + 1], len(weight))
    sums = image.sum(-1, keepdim=True, dtype=rl.int32)
    sums = _windows(sums, kernel, strides, dilations).flatten(rank + 1).sum(-1, keepdim=True)
    taken = matrix.sum(0, dtype=rl.int32) - len(matrix) * off
    return found - sums.to(rl.int32) * off - below.reshape(()) * taken


def _surrounded(image, value, before, after):
    """Images, channels last, with a border that has a value."""
    inner = image.shape[1:-1]
    sizes = [low + size + high for low, size, high in zip(before, inner, after, strict=True)]
    padded = value.to(rl.int8).reshape(()).repeat(len(image), *sizes, image.shape[-1])
    target = padded
    for dim, (low, size) in enumerate(zip(before, inner, strict=True), 1):
        target = target.narrow(dim, low, size)
    target.copy_(image)
    return padded


def _windows(image, kernel, strides, dilations):
    """All windows ``[N, *outputs, *kernel, C]`` of dense images, as a view of them."""
    n, *sizes, c = image.shape
    steps = image.stride()[1:-1]
    spans = [gap * (k - 1) + 1 for k, gap in zip(kernel, dilations, strict=True)]
    outputs = [
        (size - span) // step + 1 for size, span, step in zip(sizes, spans, strides, strict=True)
    ]
    across = [step * each for step, each in zip(steps, strides, strict=True)]
    inside = [step * each for step, each in zip(steps, dilations, strict=True)]
    shape, places = (n, *outputs, *kernel, c), (image.stride(0), *across, *inside, 1)
    return image.as_strided(shape, places)
