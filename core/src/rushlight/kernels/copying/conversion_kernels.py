"""Compiled conversions behind :mod:`rushlight.kernels.copying.conversion`. Import at first need.

Half-width numbers are handled as their bits, round to nearest even, all cases by selection, so that
the loops run in vectors.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
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
from rushlight.machine.language.half_floats import (
    from_float16,
    rounded_to_half,
    to_bfloat16,
    to_float16,
    widened_from_half,
)

# Argument words (see `prepared`).
OUT, X, SIZE = 1, 2, 3

half = Parameter("half")  # 1: float16, 0: bfloat16, 2: float16 by the processor's instruction
BLOCK = 4096


@function
def half_of(value):
    """The bits of a float32 as a half-width number."""
    if half == 2:
        return u16(rounded_to_half(value))
    if half == 1:
        return u16(to_float16(bitcast(u32, value)))
    return u16(to_bfloat16(bitcast(u32, value)))


@function
def single_of(bits):
    """A half-width number as float32."""
    if half == 2:
        return widened_from_half(u32(bits))
    if half == 1:
        return bitcast(f32, from_float16(u32(bits)))
    return bitcast(f32, u32(bits) << 16)


@range_kernel
def narrowed(args, lo, hi, tid):
    """Items are blocks: float32 to 16 bits."""
    g = array(i64, args)
    x, out = array(f32, g[X]), array(u16, g[OUT])
    last = min(hi * BLOCK, g[SIZE])
    for i in range(lo * BLOCK, last):
        out[i] = half_of(x[i])


@range_kernel
def widened(args, lo, hi, tid):
    """Items are blocks: 16 bits to float32."""
    g = array(i64, args)
    x, out = array(u16, g[X]), array(f32, g[OUT])
    last = min(hi * BLOCK, g[SIZE])
    for i in range(lo * BLOCK, last):
        out[i] = single_of(x[i])
