"""Numbers rounded as quantized ones are: a pair of operators that engines know for ranges of eight
bits, arithmetic for others."""

from __future__ import annotations

import rushlight
from rushlight.onnx._registry import aten

_BYTES = {(0, 255): rushlight.uint8, (-128, 127): rushlight.int8}


def _quantized(g, x, scale, zero, limits, axis=None):
    """`scale` and `zero` have no dimensions, or one, which is `axis` of `x`."""
    wide = g.cast(x, rushlight.float32)
    scale, dtype = g.cast(scale, rushlight.float32), _BYTES.get(limits)
    if dtype is None:
        found = _by_arithmetic(g, wide, scale, g.cast(zero, rushlight.float32), limits, axis)
    else:
        zero = g.cast(zero, dtype)
        levels = g.op("QuantizeLinear", wide, scale, zero, axis=axis, dtype=dtype)
        found = g.op("DequantizeLinear", levels, scale, zero, axis=axis, dtype=rushlight.float32)
    return g.cast(found, x.dtype)


def _by_arithmetic(g, x, scale, zero, limits, axis):
    if axis is not None:
        shape = [1] * axis + [-1] + [1] * (x.rank - axis - 1)
        scale, zero = g.reshape(scale, shape), g.reshape(zero, shape)
    level = g.op("Add", g.op("Round", g.op("Mul", x, g.op("Reciprocal", scale))), zero)
    level = g.op("Min", g.op("Max", level, float(limits[0])), float(limits[1]))
    return g.op("Mul", g.op("Sub", level, zero), scale)


@aten("fake_quantize_per_tensor_affine", "fake_quantize_per_tensor_affine.tensor_qparams")
def per_tensor(g, self, scale, zero_point, quant_min, quant_max):
    scale = g.constant(scale, rushlight.float32)
    zero = g.constant(zero_point, rushlight.int32)
    scale, zero = (g.reshape(v, []) if v.shape != () else v for v in (scale, zero))
    return _quantized(g, self, scale, zero, (quant_min, quant_max))


@aten("fake_quantize_per_channel_affine")
def per_channel(g, self, scale, zero_point, axis, quant_min, quant_max):
    return _quantized(g, self, scale, zero_point, (quant_min, quant_max), axis)


@aten("fake_quantize_per_tensor_affine_cachemask")
def per_tensor_with_mask(g, self, scale, zero_point, quant_min, quant_max):
    return per_tensor(g, self, scale, zero_point, quant_min, quant_max), None


@aten("fake_quantize_per_channel_affine_cachemask")
def per_channel_with_mask(g, self, scale, zero_point, axis, quant_min, quant_max):
    return per_channel(g, self, scale, zero_point, axis, quant_min, quant_max), None


@aten("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def by_tensors_with_mask(g, self, scale, zero_point, fake_quant_enabled, quant_min, quant_max):
    found = per_tensor(g, self, scale, zero_point, quant_min, quant_max)
    enabled = g.cast(g.reshape(fake_quant_enabled, []), rushlight.bool)
    return g.op("Where", enabled, found, self, dtype=self.dtype), None
