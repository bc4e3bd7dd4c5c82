"""The mean and the sum of squared differences against float64: odd sizes, threads, alignment."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.kernels.losses import squared_errors
from rushlight.machine import threads

SIZES = [1, 2, 15, 17, 4095, 4096, 4097, 65_535, 65_536, 65_537, 200_003]


def pair(size, dtype, offset=0):
    """Two arrays of numbers far from zero; `offset` elements behind aligned memory."""
    draw = np.random.default_rng(size)
    return [(draw.random(size + offset) + k).astype(dtype)[offset:] for k in (0.5, 3)]


def agrees(x, y):
    """Hold the sum and the mean of a pair to float64, with one, two and five threads."""
    wide = (x.astype("f8") - y) ** 2
    bound = 3e-7 if x.dtype == np.float32 else 1e-15 * np.sqrt(x.size) + 1e-15
    for mean in (False, True):
        call, before = squared_errors.total(x, y, mean), threads.get_num_threads()
        results = []
        try:
            for count in (1, 2, 5):
                threads.set_num_threads(count)
                results.append(call(x, y))
        finally:
            threads.set_num_threads(before)
        assert results[0].shape == () and results[0].dtype == x.dtype
        assert results[0] == results[1] == results[2]
        np.testing.assert_allclose(results[0], wide.mean() if mean else wide.sum(), rtol=bound)


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("offset", [0, 1, 3])
@pytest.mark.parametrize("size", SIZES)
def test_against_float64(size, offset, dtype):
    agrees(*pair(size, dtype, offset))


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("extents", [(2, 17), (5, 16), (7, 65_536), (1000, 450), (3, 129, 33)])
def test_rows_that_lie_apart(extents, dtype):
    *outer, width = extents
    wider = (*outer, width + 5)
    x, y = (a.reshape(wider) for a in pair(np.prod(wider), dtype))
    for array, beside in ((x, np.s_[..., width:]), (y, np.s_[..., :5])):
        array[beside] = np.nan  # must not be read
    agrees(x[..., :width], y[..., 5:])
    agrees(x[..., :width], y[..., 5:].copy())
    agrees(x[..., :width].copy().T, y[..., 5:].copy().T)


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
def test_what_is_left_to_others():
    x, y = pair(12, np.float32)
    total = squared_errors.total
    assert total(x, y, True) is not None
    x, y = x.reshape(4, 3), y.reshape(4, 3)
    for a, b in ((x, y.astype("f8")), (x, y[:1]), (x, y.T), (x[:0], y[:0]), (x > 0, y > 0)):
        assert total(a, b, True) is None
    x, y = (a.reshape(4, 40) for a in pair(160, np.float32))
    for part in (np.s_[:, :15], np.s_[:, ::2]):  # short rows, elements apart
        assert total(x[part], y[part], True) is None
    assert total(x, y.reshape(40, 4).T, True) is None
    x, y = (a.reshape(2, 65_538) for a in pair(131_076, np.float32))
    assert total(x[:, 1:], y[:, 1:], True) is None  # few long rows
