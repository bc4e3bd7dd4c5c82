"""Conversions to and from half-width floats: every 16-bit number, and float32 around each."""

import ml_dtypes
import numpy as np
import pytest

from rushlight.kernels.copying import conversion
from rushlight.kernels.launch.execution import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="the reference leaves all of it to NumPy")

HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


def same(a, b):
    """Equal bits, but for the bits of a NaN."""
    nan = np.isnan(a.astype(np.float32))
    assert np.array_equal(nan, np.isnan(b.astype(np.float32)))
    kind = np.uint16 if a.dtype.itemsize == 2 else np.uint32
    assert np.array_equal(a.view(kind)[~nan], b.view(kind)[~nan])


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_every_half(half):
    x = np.arange(1 << 16, dtype=np.uint16).view(half)
    found = conversion.converted(x, np.dtype(np.float32))
    assert found.dtype == np.float32
    same(found, x.astype(np.float32))


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_float32_around_every_half(half):
    with np.errstate(all="ignore"):
        middle = np.arange(1 << 16, dtype=np.uint16).view(half).astype(np.float32).view(np.uint32)
        shift = 12 if half == np.float16 else 15
        steps = [0, 1, -1, 1 << shift, (1 << shift) - 1, (1 << shift) + 1, 3 << shift]
        bits = np.concatenate([middle + np.uint32(s & 0xFFFFFFFF) for s in steps])
        x = bits.view(np.float32)
        found, wanted = conversion.converted(x, half), x.astype(half)
    assert found.dtype == half
    same(found, wanted)


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_random_bits(rng, half):
    x = rng.integers(0, 1 << 32, 300_001, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        same(conversion.converted(x, half), x.astype(half))


def test_what_is_left_to_numpy(rng):
    x = rng.standard_normal((40, 50)).astype(np.float32)
    assert conversion.converted(x.T, HALVES[0]) is None
    assert conversion.converted(x, np.dtype(np.float64)) is None
    assert conversion.converted(x[:2], HALVES[0]) is None
    assert conversion.converted(x.astype(np.float16), HALVES[1]) is None
