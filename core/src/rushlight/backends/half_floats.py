"""float16 in the processor's own instructions, for kernels. Import at first kernel need."""

from __future__ import annotations

import functools

from llvmlite import ir

from rushlight.backends.kernel_language import Emitted, f32, u32

__all__ = ["is_fast", "rounded_to_half", "widened_from_half"]


@functools.cache
def is_fast() -> bool:
    """Whether one instruction converts a vector; else a call would convert each element."""
    from rushlight.backends.machine_code import engine

    return bool(engine().features.get("f16c"))


def _narrow(builder, values):
    bits = builder.bitcast(builder.fptrunc(values[0], ir.HalfType()), ir.IntType(16))
    return builder.zext(bits, ir.IntType(32))


def _widen(builder, values):
    bits = builder.trunc(values[0], ir.IntType(16))
    return builder.fpext(builder.bitcast(bits, ir.HalfType()), ir.FloatType())


rounded_to_half = Emitted("rl_rounded_to_half", u32, (f32,), _narrow)  # the 16 bits of the nearest
widened_from_half = Emitted("rl_widened_from_half", f32, (u32,), _widen)
