"""Half-width numbers in kernels: their bits, and float16 by the processor's own instructions.

Import at first kernel need.
"""

from __future__ import annotations

import functools

from llvmlite import ir

from rushlight.machine.language.functions import Emitted, bf16, bitcast, f32, function, u32
from rushlight.machine.processors import processor

__all__ = [
    "from_float16",
    "is_fast",
    "narrowing",
    "rounded_to_half",
    "to_bfloat16",
    "to_float16",
    "widened_from_half",
    "widening",
]


@functools.cache
def is_fast() -> bool:
    """Whether one instruction converts a vector; else a call would convert each element."""
    return processor().has("f16c")


def _narrow(builder, values):
    bits = builder.bitcast(builder.fptrunc(values[0], ir.HalfType()), ir.IntType(16))
    return builder.zext(bits, ir.IntType(32))


def _widen(builder, values):
    bits = builder.trunc(values[0], ir.IntType(16))
    return builder.fpext(builder.bitcast(bits, ir.HalfType()), ir.FloatType())


rounded_to_half = Emitted("rl_rounded_to_half", u32, (f32,), _narrow)  # the 16 bits of the nearest
widened_from_half = Emitted("rl_widened_from_half", f32, (u32,), _widen)


@function
def to_bfloat16(bits):
    """The upper half, rounded; NaN stays one."""
    number, rounded = bitcast(f32, bits), bits + u32(0x7FFF) + ((bits >> 16) & u32(1))
    return (bits | u32(0x400000) if number != number else rounded) >> 16


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


@function
def _bits_of_bfloat16(value):
    return to_bfloat16(bitcast(u32, value))


@function
def _bits_of_float16(value):
    return to_float16(bitcast(u32, value))


@function
def _number_of_bfloat16(bits):
    return bitcast(f32, bits << 16)


@function
def _number_of_float16(bits):
    return bitcast(f32, from_float16(bits))


def widening(kind):
    """What makes a number (f32) of the bits (u32) of an f16 or bf16."""
    if kind is bf16:
        return _number_of_bfloat16
    return widened_from_half if is_fast() else _number_of_float16


def narrowing(kind):
    """What rounds a number (f32) to the bits (u32) of an f16 or bf16."""
    if kind is bf16:
        return _bits_of_bfloat16
    return rounded_to_half if is_fast() else _bits_of_float16
