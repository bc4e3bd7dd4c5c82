"""Quantized numbers as integers with a scale and a zero point."""

from __future__ import annotations

import rushlight as rl
from rushlight.onnx._operators.layers import Conv
from rushlight.onnx._operators.registry import operator


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
    values = (x / scales).round().to(rl.float64)
    if zero is not None:
        values = values + zeros.to(rl.float64)
    about = rl.iinfo(kind)
    return values.clamp(about.min, about.max).to(rl.int64).to(kind)


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
    product = _integer_product(a, b, a_zero, b_zero).double()
    scale = a_scale.double() * b_scale.double() / y_scale.double()
    return QuantizeLinear(product * scale, rl.ones((), dtype=rl.float64), y_zero)


@operator()
def ConvInteger(x, weight, x_zero=None, w_zero=None, **options):
    if w_zero is not None and w_zero.ndim:
        w_zero = w_zero.reshape([-1, *[1] * (weight.ndim - 1)])
    values, kernels = _shifted(x, x_zero), _shifted(weight, w_zero)
    return Conv(values.double(), kernels.double(), **options).to(rl.int32)


@operator()
def QLinearConv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None, **options):
    shape = [-1, *[1] * (w.ndim - 1)]
    shift = w_zero.to(rl.int32).reshape(shape) if w_zero.ndim else w_zero.to(rl.int32)
    kernels = (w.to(rl.int32) - shift).double()
    found = Conv(
        _shifted(x, x_zero).double(), kernels, None if bias is None else bias.double(), **options
    )
    scale = x_scale.double() * w_scale.double() / y_scale.double()
    scale = scale.reshape([1, -1, *[1] * (w.ndim - 2)]) if scale.ndim else scale
    return QuantizeLinear(found * scale, rl.ones((), dtype=rl.float64), y_zero)
