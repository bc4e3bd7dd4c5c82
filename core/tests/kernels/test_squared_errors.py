"""The mean and the sum of squared differences against float64: odd sizes, threads, alignment."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.backends import threads
from rushlight.kernels import squared_errors

SIZES = [1, 2, 15, 17, 4095, 4096, 4097, 65_535, 65_536, 65_537, 200_003]


def pair(size, dtype, offset=0):
    """Two arrays of numbers far from zero; `offset` elements behind aligned memory."""
    draw = np.random.default_rng(size)
    return [(draw.random(size + offset) + k).astype(dtype)[offset:] for k in (0.5, 3)]


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("offset", [0, 1, 3])
@pytest.mark.parametrize("size", SIZES)
def test_against_float64(size, offset, dtype):
    x, y = pair(size, dtype, offset)
    exact = ((x.astype("f8") - y) ** 2).sum()
    bound = 3e-7 if dtype == np.float32 else 1e-15 * np.sqrt(size) + 1e-15
    for mean in (False, True):
        call, before = squared_errors.total(x, y, mean), threads.get_num_threads()
        results = []
        try:
            for count in (1, 2, 5):
                threads.set_num_threads(count)
                results.append(call(x, y))
        finally:
            threads.set_num_threads(before)
        assert results[0].shape == () and results[0].dtype == dtype
        assert results[0] == results[1] == results[2]
        np.testing.assert_allclose(results[0], exact / (size if mean else 1), rtol=bound)


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
def test_what_is_left_to_others():
    x, y = pair(12, np.float32)
    total = squared_errors.total
    assert total(x, y, True) is not None
    x, y = x.reshape(4, 3), y.reshape(4, 3)
    for a, b in ((x, y.astype("f8")), (x, y[:1]), (x.T, y.T), (x[:0], y[:0]), (x > 0, y > 0)):
        assert total(a, b, True) is None
