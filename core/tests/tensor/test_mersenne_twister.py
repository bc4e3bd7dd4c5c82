"""Compiled draws against NumPy's generator: the same words, and the same state afterwards."""

import numpy as np
import pytest

from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.random import mersenne_twister
from rushlight.kernels.random.engine import MersenneTwister

pytestmark = pytest.mark.skipif(REFERENCE, reason="the reference draws by NumPy")


def bits(skipped):
    found = np.random.MT19937(7)
    found.random_raw(skipped)
    return found


@pytest.mark.parametrize("skipped", [1, 300, 623, 624, 625])
@pytest.mark.parametrize("count", [0, 1, 5, 623, 624, 625, 1300, 5001])
def test_words_and_floats(skipped, count):
    for way, kind, draws in ((0, np.uint64, 1), (1, np.float32, 1), (2, np.float64, 2)):
        ours, theirs = bits(skipped), bits(skipped)
        out = np.empty(count, kind)
        mersenne_twister.fill(ours, out, way)
        words = theirs.random_raw(draws * count) if count else np.empty(0, np.uint64)
        if way == 1:
            words = (words & np.uint64(0xFFFFFF)).astype(np.float32) * np.float32(2.0**-24)
        if way == 2:
            whole = (words[::2] << np.uint64(32) | words[1::2]) & np.uint64((1 << 53) - 1)
            words = whole.astype(np.float64) * 2.0**-53
        assert np.array_equal(out, words)
        assert ours.random_raw(700).tolist() == theirs.random_raw(700).tolist()


def test_long_and_short_draws_are_one_stream():
    a, b = MersenneTwister(3), MersenneTwister(3)
    long = a.uniform(3000, False)
    short = np.concatenate([b.uniform(n, False) for n in (10, 1500, 990, 500)])
    assert np.array_equal(long, short)
    assert a.get_state() == b.get_state()
