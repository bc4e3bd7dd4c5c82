"""Weight gradients of depthwise convolution where the input holds infinities."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.kernels.convolution import choice as convolution


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", range(15))
def test_taps_that_miss_an_infinity_stay_finite(dtype, place):
    x = np.arange(30, dtype=dtype).reshape(1, 2, 3, 5) + 1
    x[0, 0, place // 5, place % 5] = np.inf
    dy = np.ones((1, 2, 3, 1), dtype)
    args = ((1, 3), (0, 0), (1, 1), 2)
    dw = convolution.convolution_weight_gradient(dy, x, (2, 1, 1, 5), *args)
    assert np.array_equal(dw.reshape(2, 5), x[0].sum(1))
