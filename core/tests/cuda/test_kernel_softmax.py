"""Softmax kernels on the emulator."""

import numpy as np
import pytest
from kernel_cases import FLOATS, both_orders, close, on_device, wide

from rushlight.kernels.reduction import cuda_softmax as softmax

SHAPES = [((7, 1), 1), ((5, 33), 1), ((3, 1025), 1), ((2, 4096), 1), ((4, 31, 5), 1), ((0, 3), 1)]


def reference(x, axis):
    x = wide(x)
    e = np.exp(x - x.max(axis, keepdims=True)) if x.size else x
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_forward_and_backward(shape, axis, dtype):
    generator = np.random.default_rng(0)
    x = (generator.standard_normal(shape) * 4).astype(dtype)
    g = generator.standard_normal(shape).astype(dtype)
    y = both_orders(lambda: softmax.softmax_forward(on_device(x), axis))
    expected = reference(x, axis)
    close(y, expected, dtype)
    z = both_orders(lambda: softmax.log_softmax_forward(on_device(x), axis))
    close(z, np.log(expected), dtype)
    dx = both_orders(lambda: softmax.softmax_backward(on_device(g), on_device(y), axis))
    y64, g64 = wide(y), wide(g)
    close(dx, (g64 - (g64 * y64).sum(axis, keepdims=True)) * y64, dtype, 4)
    dx = both_orders(lambda: softmax.log_softmax_backward(on_device(g), on_device(z), axis))
    close(dx, g64 - np.exp(wide(z)) * g64.sum(axis, keepdims=True), dtype, 4)


def test_special_rows():
    x = np.array([[np.inf, 1, 2], [-np.inf, 0, 0], [np.nan, 1, 1], [-np.inf] * 3], np.float32)
    y = both_orders(lambda: softmax.softmax_forward(on_device(x), 1))
    assert np.isnan(y[0]).any() and np.isnan(y[2]).all() and np.isnan(y[3]).all()
    np.testing.assert_allclose(y[1], [0, 0.5, 0.5])
