"""Half-width floats in registers, for kernels. Import at first kernel need."""

from __future__ import annotations

import functools

from llvmlite import ir

from rushlight.backends.kernel_language import Emitted, bf16, f32, u32

__all__ = ["is_fast", "narrowed", "rounded_to_half", "widened", "widened_from_half"]

_HALF, _SINGLE, _SHORT, _WORD = ir.HalfType(), ir.FloatType(), ir.IntType(16), ir.IntType(32)


@functools.cache
def is_fast() -> bool:
    """Whether one instruction converts a vector of float16; else a call would convert each
    element."""
    from rushlight.backends.machine_code import engine

    return bool(engine().features.get("f16c"))


def widened(builder, kind, bits):
    """The float32 of 16 bits, those of a number of `kind` (f16 or bf16)."""
    if kind is bf16:
        word = builder.shl(builder.zext(bits, _WORD), _WORD(16))
        return builder.bitcast(word, _SINGLE)
    return builder.fpext(builder.bitcast(bits, _HALF), _SINGLE)


def narrowed(builder, kind, value):
    """The 16 bits of the number of `kind` nearest to a float32; NaN stays one.

    The processor's instruction for bfloat16 takes subnormal numbers for zero: bits are added
    instead.
    """
    if kind is not bf16:
        return builder.bitcast(builder.fptrunc(value, _HALF), _SHORT)
    word = builder.bitcast(value, _WORD)
    upper = builder.lshr(word, _WORD(16))
    odd = builder.and_(upper, _WORD(1))
    rounded = builder.lshr(builder.add(builder.add(word, _WORD(0x7FFF)), odd), _WORD(16))
    quiet = builder.or_(upper, _WORD(0x40))
    found = builder.select(builder.fcmp_unordered("uno", value, value), quiet, rounded)
    return builder.trunc(found, _SHORT)


def _narrow(builder, values):
    bits = builder.bitcast(builder.fptrunc(values[0], _HALF), _SHORT)
    return builder.zext(bits, _WORD)


def _widen(builder, values):
    bits = builder.trunc(values[0], _SHORT)
    return builder.fpext(builder.bitcast(bits, _HALF), _SINGLE)


rounded_to_half = Emitted("rl_rounded_to_half", u32, (f32,), _narrow)  # the 16 bits of the nearest
widened_from_half = Emitted("rl_widened_from_half", f32, (u32,), _widen)
