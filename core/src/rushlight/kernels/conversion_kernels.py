"""Compiled conversions behind :mod:`rushlight.kernels.conversion`. Import at first need.

Half-width numbers are handled as their bits, round to nearest even, all cases by selection, so that
the loops run in vectors.
"""

from __future__ import annotations

from rushlight.backends.half_floats import rounded_to_half, widened_from_half
from rushlight.backends.kernel_language import (
    Parameter,
    array,
    bitcast,
    f32,
    function,
    i64,
    range_kernel,
    u16,
    u32,
)

# Argument words (see `prepared`).
OUT, X, SIZE = 1, 2, 3

half = Parameter("half")  # 1: float16, 0: bfloat16, 2: float16 by the processor's instruction
BLOCK = 4096


@function
def to_bfloat16(bits):
    """The upper half, rounded; NaN stays one."""
    rounded = (bits + u32(0x7FFF) + ((bits >> 16) & u32(1))) >> 16
    quiet = (bits >> 16) | u32(0x40)
    return quiet if (bits & u32(0x7FFFFFFF)) > u32(0x7F800000) else rounded


@function
def to_float16(bits):
    """Rounded to 10 bits of fraction; subnormal results by an addition that rounds."""
    sign = (bits & u32(0x80000000)) >> 16
    size = bits & u32(0x7FFFFFFF)
    small = bitcast(u32, bitcast(f32, size) + f32(0.5)) - u32(0x3F000000)
    normal = (size - u32(0x38000000) + u32(0xFFF) + ((size >> 13) & u32(1))) >> 13
    found = small if size < u32(0x38800000) else normal
    found = u32(0x7C00) if size >= u32(0x47800000) else found
    quiet = u32(0x7E00) | ((size >> 13) & u32(0x3FF))
    found = quiet if size > u32(0x7F800000) else found
    return found | sign


@function
def from_float16(bits):
    """The same number in float32; subnormal ones by a subtraction that normalizes."""
    sign = (bits & u32(0x8000)) << 16
    moved = (bits & u32(0x7FFF)) << 13
    exponent = moved & u32(0x0F800000)
    normal = moved + u32(0x38000000)
    large = normal + u32(0x38000000)
    small = bitcast(u32, bitcast(f32, normal + u32(0x00800000)) - bitcast(f32, u32(0x38800000)))
    found = small if exponent == u32(0) else normal
    found = large if exponent == u32(0x0F800000) else found
    return found | sign


@range_kernel
def narrowed(args, lo, hi, tid):
    """Items are blocks: float32 to 16 bits."""
    g = array(i64, args)
    x, out = array(u32, g[X]), array(u16, g[OUT])
    last = min(hi * BLOCK, g[SIZE])
    for i in range(lo * BLOCK, last):
        if half == 2:
            out[i] = u16(rounded_to_half(bitcast(f32, x[i])))
        elif half == 1:
            out[i] = u16(to_float16(x[i]))
        else:
            out[i] = u16(to_bfloat16(x[i]))


@range_kernel
def widened(args, lo, hi, tid):
    """Items are blocks: 16 bits to float32."""
    g = array(i64, args)
    x, out = array(u16, g[X]), array(u32, g[OUT])
    last = min(hi * BLOCK, g[SIZE])
    for i in range(lo * BLOCK, last):
        if half == 2:
            out[i] = bitcast(u32, widened_from_half(u32(x[i])))
        elif half == 1:
            out[i] = from_float16(u32(x[i]))
        else:
            out[i] = u32(x[i]) << 16
