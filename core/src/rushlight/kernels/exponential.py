"""Exponential and logarithm for kernels, in the kernel's floating type.

The exponential reduces x = n ln 2 + r with ln 2 in two parts (Cody and Waite) and evaluates a
polynomial on |r| <= 0.35; the float32 coefficients are those of Cephes. Worst error about 1 unit
in the last place. It has no branches: LLVM runs it on whole vectors. NaN stays NaN, overflow is
infinity, results below the smallest normal number lose bits gradually.
"""

from __future__ import annotations

from rushlight.backends.kernel_language import (
    External,
    bitcast,
    f32,
    f64,
    function,
    fused_multiply_add,
    i32,
    i64,
    real,
)

_log = External("log", f64, (f64,))

_ROUND32, _ROUND64 = 12582912.0, 6755399441055744.0  # 1.5 * 2^23, 1.5 * 2^52
_BITS32, _BITS64 = 0x4B400000, 0x4338000000000000
_LOG2_E = 1.4426950408889634


@function
def exponential(x):
    """exp(x)."""
    if real is f32:
        return exponential32(x)
    return exponential64(x)


@function
def exponential_rest(x, n):
    """exp(x - n ln 2) in float32, n the nearest integer to x / ln 2."""
    r = fused_multiply_add(n, f32(-0.693359375), x)
    r = fused_multiply_add(n, f32(2.12194440e-4), r)
    p = fused_multiply_add(r, f32(1.9875691500e-4), f32(1.3981999507e-3))
    p = fused_multiply_add(p, r, f32(8.3334519073e-3))
    p = fused_multiply_add(p, r, f32(4.1665795894e-2))
    p = fused_multiply_add(p, r, f32(1.6666665459e-1))
    p = fused_multiply_add(p, r, f32(5.0000001201e-1))
    return fused_multiply_add(p, r * r, r) + 1.0


@function
def exponential32(x):
    """exp(x) in float32."""
    x = f32(-104.0) if x < -104.0 else x
    x = f32(89.0) if x > 89.0 else x
    shifted = fused_multiply_add(x, f32(_LOG2_E), f32(_ROUND32))
    n = shifted - _ROUND32
    p = exponential_rest(x, n)
    # 2^n in two factors: n reaches -150 and 128, beyond the exponents of one normal number
    exponent = bitcast(i32, shifted) - _BITS32
    half = exponent >> 1
    first = bitcast(f32, (half + 127) << 23)
    second = bitcast(f32, (exponent - half + 127) << 23)
    return p * first * second


@function
def exponential_below(x):
    """exp(x) for x <= 0, and where rounding made it slightly more. In float32 it takes two thirds
    of the instructions, and results below the smallest normal number are zero."""
    if real is f32:
        return exponential_below32(x)
    return exponential64(x)


@function
def exponential_below32(x):
    """The same in float32, whatever `real` is."""
    shifted = fused_multiply_add(x, f32(_LOG2_E), f32(_ROUND32 + 127))
    n = shifted - (_ROUND32 + 127)
    p = exponential_rest(x, n)
    return f32(0) if x < -87.3 else p * bitcast(f32, bitcast(i32, shifted) << 23)


@function
def exponential64(x):
    """exp(x) in float64."""
    x = f64(-746.0) if x < -746.0 else x
    x = f64(710.0) if x > 710.0 else x
    shifted = fused_multiply_add(x, f64(_LOG2_E), f64(_ROUND64))
    n = shifted - _ROUND64
    r = fused_multiply_add(n, f64(-6.93147180369123816490e-01), x)
    r = fused_multiply_add(n, f64(-1.90821492927058770002e-10), r)
    p = f64(1.0 / 6227020800)
    p = fused_multiply_add(p, r, f64(1.0 / 479001600))
    p = fused_multiply_add(p, r, f64(1.0 / 39916800))
    p = fused_multiply_add(p, r, f64(1.0 / 3628800))
    p = fused_multiply_add(p, r, f64(1.0 / 362880))
    p = fused_multiply_add(p, r, f64(1.0 / 40320))
    p = fused_multiply_add(p, r, f64(1.0 / 5040))
    p = fused_multiply_add(p, r, f64(1.0 / 720))
    p = fused_multiply_add(p, r, f64(1.0 / 120))
    p = fused_multiply_add(p, r, f64(1.0 / 24))
    p = fused_multiply_add(p, r, f64(1.0 / 6))
    p = fused_multiply_add(p, r, f64(0.5))
    p = fused_multiply_add(p, r * r, r) + 1.0
    exponent = bitcast(i64, shifted) - _BITS64
    half = exponent >> 1
    first = bitcast(f64, (half + 1023) << 52)
    second = bitcast(f64, (exponent - half + 1023) << 52)
    return p * first * second


@function
def logarithm(x):
    """log(x), one value at a time."""
    return real(_log(f64(x)))
