"""float32 numbers as floats of eight bits, rounded to nearest even by PyTorch's rules."""

from __future__ import annotations

import ml_dtypes
import numpy as np

_LARGEST = np.float32(448.0)  # of e4m3fn, which has no infinities


def to_eight_bits(array, target):
    """A float32 array in a dtype of eight bits.

    float8_e4m3fn takes numbers beyond its largest, infinities too, for the largest; the other
    formats have infinities or NaN for them. float8_e8m0fnu drops the sign.
    """
    if target == ml_dtypes.float8_e8m0fnu:
        return _powers_of_two(array).view(target)
    if target == ml_dtypes.float8_e4m3fn:
        array = np.clip(array, -_LARGEST, _LARGEST)  # NaN stays
    with np.errstate(all="ignore"):
        return array.astype(target)


def _powers_of_two(array):
    """The biased exponents of numbers rounded to powers of two, 255 for NaN and infinities."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).reshape(array.shape)
    exponent = (bits >> 23) & 0xFF
    above_half = (bits & 0x3FFFFF) != 0
    up = ((bits & 0x400000) != 0) & (above_half | (exponent > 0)) & (exponent < 0xFF)
    return (exponent + up).astype(np.uint8)
