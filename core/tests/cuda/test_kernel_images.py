"""Pooling, resizing and convolution on the emulator, against the CPU's kernels in float64."""

import numpy as np
import pytest
from kernel_cases import (
    BFLOAT16,
    FLOAT32,
    FLOATS,
    INT64,
    both_orders,
    close,
    on_device,
    on_host,
    wide,
)

from rushlight.kernels.convolution import choice as cpu_convolution
from rushlight.kernels.convolution import cuda as convolution
from rushlight.kernels.pooling import cuda as pooling
from rushlight.kernels.pooling import windows as cpu_pooling
from rushlight.kernels.resampling import cuda as resampling
from rushlight.kernels.resampling import taps as cpu_resampling


def draw(shape, dtype=FLOAT32, seed=0):
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iub":
        return generator.integers(0, 90, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


POOLS = [
    ((2, 3, 11), (3,), (2,), (1,), (1,), False),
    ((2, 3, 9, 7), (3, 2), (2, 2), (1, 0), (1, 2), True),
    ((1, 2, 5, 6, 4), (2, 3, 2), (1, 2, 2), (1, 1, 0), (1, 1, 1), False),
]


@pytest.mark.parametrize("dtype", [*FLOATS, INT64], ids=str)
@pytest.mark.parametrize("case", POOLS, ids=lambda case: str(case[0]))
def test_max_pool(case, dtype):
    shape, *settings = case
    x = draw(shape, dtype)
    if dtype == FLOAT32:
        x.reshape(-1)[5] = np.nan
    found = both_orders(lambda: pooling.max_pool_forward(on_device(x), *settings))
    expected = cpu_pooling.max_pool_forward(x, *settings)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    if dtype != INT64:
        grad = draw(found[0].shape, dtype, 1)
        got = both_orders(
            lambda: pooling.max_pool_backward(on_device(grad), on_device(found[1]), shape)
        )
        close(got, cpu_pooling.max_pool_backward(wide(grad), found[1], shape), dtype, 2)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("case", [
    ((2, 3, 1, 40), (2, 2), (1, 1), (1, 0), (2, 1)),
    ((1, 2, 30, 1), (3, 2), (1, 1), (1, 1), (1, 2)),
    ((1, 2, 1, 2, 30), (2, 2, 2), (1, 1, 1), (1, 1, 0), (2, 2, 1)),
], ids=lambda case: str(case[0]))  # fmt: skip
def test_windows_beside_the_image(case, dtype):
    """They give the lowest number, and where they would begin."""
    shape, *settings = case
    x = draw(shape, dtype)
    found = both_orders(lambda: pooling.max_pool_forward(on_device(x), *settings, False))
    expected = cpu_pooling.max_pool_forward(x, *settings, False)
    assert np.isneginf(expected[0].astype(np.float32)).any()
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("case", POOLS, ids=lambda case: str(case[0]))
@pytest.mark.parametrize(("counts", "divisor"), [(True, None), (False, None), (True, 3)])
def test_average_pool(case, dtype, counts, divisor):
    shape, kernel, stride, padding, _, ceil = case
    settings = (kernel, stride, padding, ceil, counts, divisor)
    x = draw(shape, dtype)
    found = both_orders(lambda: pooling.avg_pool_forward(on_device(x), *settings))
    close(found, cpu_pooling.avg_pool_forward(wide(x), *settings), dtype)
    grad = draw(found.shape, dtype, 1)
    got = both_orders(lambda: pooling.avg_pool_backward(on_device(grad), shape, *settings))
    close(got, cpu_pooling.avg_pool_backward(wide(grad), shape, *settings), dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("shape", "out"), [((2, 3, 11), (4,)), ((2, 3, 7, 9), (3, 12))])
def test_adaptive_pool(shape, out, dtype):
    x = draw(shape, dtype)
    found = both_orders(lambda: pooling.adaptive_avg_pool_forward(on_device(x), out))
    close(found, cpu_pooling.adaptive_avg_pool_forward(wide(x), out), dtype)
    grad = draw(found.shape, dtype, 1)
    got = both_orders(lambda: pooling.adaptive_avg_pool_backward(on_device(grad), shape))
    close(got, cpu_pooling.adaptive_avg_pool_backward(wide(grad), shape), dtype)
    found = both_orders(lambda: pooling.adaptive_max_pool_forward(on_device(x), out))
    expected = cpu_pooling.adaptive_max_pool_forward(x, out)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def maps(size, out, mode):
    if mode == "nearest":
        return [cpu_resampling.nearest(n, m, None, False) for n, m in zip(size, out, strict=True)]
    if mode == "antialiased":
        return [
            cpu_resampling.antialiased(n, m, False, None, True, 1)
            for n, m in zip(size, out, strict=True)
        ]
    pick = {"linear": cpu_resampling.linear, "cubic": cpu_resampling.cubic}[mode]
    return [pick(n, m, False, None, True) for n, m in zip(size, out, strict=True)]


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.uint8)], ids=str)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic", "antialiased"])
def test_resize(mode, dtype):
    for size, out in (((7, 9), (12, 5)), ((6, 6), (6, 11))):
        x, taps = draw((2, 3, *size), dtype), maps(size, out, mode)
        found = both_orders(lambda x=x, t=taps: resampling.resample(on_device(x), t))
        reference = x.astype(np.float64) if dtype == np.uint8 else wide(x)
        expected = cpu_resampling.resample(reference, taps)
        if dtype == np.uint8:  # the CPU's own are in whole numbers, a level further off at times
            expected = np.clip(np.rint(expected), 0, 255)
            assert np.abs(found.astype(int) - expected).max() <= (mode != "nearest")
        else:
            close(found, expected, dtype, 2)
        if dtype != np.uint8:
            grad = draw(found.shape, dtype, 1)
            back = [None if t is None else t.transposed() for t in taps]
            got = both_orders(lambda g=grad, t=back: resampling.resample(on_device(g), t))
            close(got, cpu_resampling.resample(wide(grad), back), dtype, 2)


def test_resize_of_one_and_three_dims():
    for size, out in (((9,), (5,)), ((3, 4, 5), (4, 4, 7))):
        x, taps = draw((2, 3, *size)), maps(size, out, "linear")
        found = both_orders(lambda x=x, t=taps: resampling.resample(on_device(x), t))
        close(found, cpu_resampling.resample(wide(x), taps), FLOAT32, 2)


CONVOLUTIONS = [
    ((2, 4, 9, 8), (6, 4, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((3, 4, 7, 7), (6, 4, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 6, 10, 9), (4, 3, 3, 2), (2, 1), (1, 0), (2, 1), 2),
    ((2, 4, 9, 8), (8, 1, 3, 3), (2, 2), (1, 1), (1, 1), 4),
    ((2, 3, 15), (5, 3, 4), (3,), (2,), (1,), 1),
    ((1, 2, 5, 6, 4), (3, 2, 2, 3, 2), (1, 2, 1), (1, 1, 0), (1, 1, 1), 1),
]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda case: str(case[1]))
def test_convolution(case, dtype, monkeypatch):
    shape, weight_shape, *settings = case
    x, w = draw(shape, dtype), draw(weight_shape, dtype, 1)
    bias = draw((weight_shape[0],), dtype, 2)
    found = both_orders(
        lambda: convolution.convolution_forward(*map(on_device, (x, w, bias)), *settings)
    )
    expected = cpu_convolution.convolution_forward(wide(x), wide(w), wide(bias), *settings)
    close(found, expected, dtype, 4)
    grad = draw(found.shape, dtype, 3)
    got = both_orders(
        lambda: convolution.convolution_input_gradient(
            on_device(grad), on_device(w), shape, *settings
        )
    )
    expected = cpu_convolution.convolution_input_gradient(wide(grad), wide(w), shape, *settings)
    close(got, expected, dtype, 4)
    monkeypatch.setattr(convolution, "WORKSPACE", 1)  # one sample at a time
    got = both_orders(
        lambda: convolution.convolution_weight_gradient(
            on_device(grad), on_device(x), weight_shape, *settings
        )
    )
    expected = cpu_convolution.convolution_weight_gradient(
        wide(grad), wide(x), weight_shape, *settings
    )
    close(got, expected, dtype, 4)
    again = convolution.convolution_forward(*map(on_device, (x, w, bias)), *settings)
    np.testing.assert_array_equal(on_host(again), found)


def test_nothing_to_convolve():
    out = convolution.convolution_forward(
        on_device(draw((0, 2, 4), BFLOAT16)), on_device(draw((3, 2, 2), BFLOAT16)), None, (1,),
        (0,), (1,), 1,
    )  # fmt: skip
    assert out.shape == (0, 3, 3)
