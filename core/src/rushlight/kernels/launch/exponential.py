"""Exponential and logarithm for kernels, in the kernel's floating type.

The exponential reduces x = n ln 2 + r with ln 2 in two parts (Cody and Waite) and evaluates a
polynomial on |r| <= 0.35; the float32 coefficients are those of Cephes. Worst error about 1 unit
in the last place. It has no branches: LLVM runs it on whole vectors. NaN stays NaN, overflow is
infinity, results below the smallest normal number lose bits gradually.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    External,
    bitcast,
    f32,
    f64,
    function,
    fused_multiply_add,
    i32,
    i64,
    infinity,
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
def logarithm_above(x):
    """log(x) for x >= 1 on whole vectors; NaN stays NaN. With x = 2^k (1 + f) and s = f / (2 + f)
    it is k ln 2 + 2 artanh(s), whose even part is a polynomial (the coefficients are fdlibm's);
    worst error about 1 unit in the last place."""
    if real is f32:
        return _logarithm32(x)
    return logarithm64(x)


@function
def _logarithm32(x):
    bits = bitcast(i32, x) - 0x3F3504F3  # the bits of sqrt(1/2)
    f = bitcast(f32, (bits & 0x7FFFFF) + 0x3F3504F3) - f32(1)
    n, s = f32(bits >> 23), f / (f32(2) + f)
    z = s * s
    w = z * z
    odd = w * fused_multiply_add(w, f32(0.24279078841), f32(0.40000972152))
    even = z * fused_multiply_add(w, f32(0.28498786688), f32(0.66666662693))
    half = f32(0.5) * f * f
    low = fused_multiply_add(n, f32(9.0580006145e-06), s * (half + (odd + even)))
    value = fused_multiply_add(n, f32(6.9313812256e-01), f - (half - low))
    return value if x < infinity(f32) else x


@function
def logarithm64(x):
    """log(x) in float64 of numbers that are normal and positive; infinity and NaN stay."""
    bits = bitcast(i64, x) - 0x3FE6A09E667F3BCD
    f = bitcast(f64, (bits & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD) - f64(1)
    n, s = f64(bits >> 52), f / (f64(2) + f)
    z = s * s
    w = z * z
    odd = fused_multiply_add(w, f64(1.531383769920937332e-01), f64(2.222219843214978396e-01))
    odd = w * fused_multiply_add(w, odd, f64(3.999999999940941908e-01))
    even = fused_multiply_add(w, f64(1.479819860511658591e-01), f64(1.818357216161805012e-01))
    even = fused_multiply_add(w, even, f64(2.857142874366239149e-01))
    even = z * fused_multiply_add(w, even, f64(6.666666666666735130e-01))
    half = f64(0.5) * f * f
    low = fused_multiply_add(n, f64(1.90821492927058770002e-10), s * (half + (odd + even)))
    value = fused_multiply_add(n, f64(6.93147180369123816490e-01), f - (half - low))
    return value if x < infinity(f64) else x


@function
def logarithm(x):
    """log(x), one value at a time."""
    return real(_log(f64(x)))
