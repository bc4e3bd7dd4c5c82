"""Convolution in all three passes against sums over taps in float64, and against the oracle."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np
import pytest

from rushlight.kernels.convolution import choice as convolution
from rushlight.kernels.gemm import matrix_units
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import memory, threads

compiled_only = pytest.mark.skipif(REFERENCE, reason="the reference computes in float64")

# N, C, spatial, O, kernel, stride, padding, dilation, groups
CASES = {
    "mnist 1": (8, 1, (28, 28), 16, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "mnist 2": (5, 16, (14, 14), 32, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "lenet": (3, 6, (14, 14), 16, (5, 5), (1, 1), (0, 0), (1, 1), 1),
    "winograd even": (3, 32, (8, 10), 64, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "winograd odd": (2, 37, (9, 7), 45, (3, 3), (1, 1), (0, 2), (1, 1), 1),
    "winograd wide": (1, 130, (5, 31), 33, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "winograd batch": (40, 64, (4, 4), 96, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "winograd, parts of an image": (1, 32, (70, 60), 40, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "winograd, many panels": (2, 70, (12, 13), 200, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "winograd, groups of images": (9, 40, (16, 17), 70, (3, 3), (1, 1), (2, 1), (1, 1), 1),
    "resnet stem": (2, 3, (41, 40), 20, (7, 7), (2, 2), (3, 3), (1, 1), 1),
    "1x1": (3, 40, (7, 7), 50, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "1x1 wide": (2, 20, (20, 30), 35, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "1x1 to one channel": (1, 130, (64, 64), 1, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "1x1 by products": (3, 40, (17, 16), 70, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "1x1 groups": (3, 40, (9, 7), 60, (1, 1), (1, 1), (0, 0), (1, 1), 2),
    "outputs in parts": (1, 20, (11, 13), 70, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "1x1, parts of channels": (3, 401, (15, 14), 36, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "strided, parts of channels": (4, 131, (21, 22), 40, (3, 3), (2, 2), (1, 1), (1, 1), 1),
    "parts of channels, wide stride": (2, 150, (40, 33), 35, (2, 3), (5, 4), (0, 1), (2, 1), 1),
    "1x1 strided": (2, 128, (9, 8), 20, (1, 1), (2, 2), (0, 0), (1, 1), 1),
    "1x1 padded": (2, 5, (4, 4), 6, (1, 1), (1, 1), (1, 1), (1, 1), 1),
    "7 wide, strided": (2, 20, (14, 14), 40, (3, 3), (2, 2), (1, 1), (1, 1), 1),
    "stride 3": (2, 4, (10, 13), 6, (2, 3), (3, 3), (1, 1), (1, 1), 1),
    "stride over kernel": (2, 4, (11, 12), 6, (2, 2), (3, 3), (0, 0), (1, 1), 1),
    "unequal": (2, 5, (12, 9), 7, (3, 2), (2, 1), (1, 0), (1, 1), 1),
    "dilated": (2, 5, (13, 12), 7, (3, 3), (1, 1), (2, 2), (2, 2), 1),
    "dilated, strided": (2, 4, (13, 12), 6, (3, 3), (2, 2), (2, 1), (2, 3), 1),
    "dilated, sub-images": (2, 33, (23, 30), 40, (3, 3), (1, 1), (2, 2), (2, 2), 1),
    "dilated, odd sub-images": (3, 36, (35, 41), 32, (3, 3), (1, 1), (0, 4), (4, 4), 1),
    "dilated, small sub-images": (8, 128, (8, 10), 130, (3, 3), (1, 1), (3, 3), (3, 3), 1),
    "dilated, large padding": (4, 34, (25, 24), 35, (3, 3), (1, 1), (4, 2), (2, 2), 1),
    "dilated unequally": (2, 33, (23, 30), 40, (3, 3), (1, 1), (2, 3), (2, 3), 1),
    "dilated, other padding": (2, 33, (23, 30), 40, (3, 3), (1, 1), (1, 1), (2, 2), 1),
    "live taps, one": (3, 70, (2, 2), 64, (3, 3), (1, 1), (3, 3), (3, 3), 1),
    "live taps, one at the edge": (2, 65, (1, 1), 66, (2, 3), (2, 1), (1, 1), (1, 1), 1),
    "live taps": (2, 65, (16, 19), 70, (3, 3), (1, 1), (12, 12), (12, 12), 1),
    "live taps, other padding": (1, 66, (19, 16), 64, (3, 3), (1, 1), (9, 14), (11, 13), 1),
    "live taps, strided": (2, 64, (33, 70), 68, (3, 4), (2, 3), (22, 30), (24, 17), 1),
    "live taps, some of them gone": (1, 130, (16, 15), 129, (5, 3), (1, 1), (20, 9), (10, 9), 1),
    "live taps, 1 dim": (2, 64, (600,), 66, (5,), (2,), (480,), (240,), 1),
    "dilated groups": (2, 64, (23, 30), 80, (3, 3), (1, 1), (2, 2), (2, 2), 2),
    "groups": (3, 12, (9, 9), 8, (3, 3), (1, 1), (1, 1), (1, 1), 4),
    "groups, strided": (3, 6, (9, 8), 9, (3, 3), (2, 2), (1, 1), (1, 1), 3),
    "groups, many": (5, 24, (13, 11), 36, (3, 2), (1, 1), (2, 1), (2, 1), 6),
    "groups of many channels": (2, 40, (9, 9), 60, (3, 3), (1, 1), (1, 1), (1, 1), 2),
    "groups of many channels, strided": (2, 40, (9, 9), 60, (3, 3), (2, 2), (1, 1), (1, 1), 2),
    "depthwise": (2, 10, (8, 9), 10, (3, 3), (1, 1), (1, 1), (1, 1), 10),
    "depthwise, whole planes": (2, 10, (7, 8), 10, (3, 3), (1, 1), (1, 1), (1, 1), 10),
    "depthwise, whole planes of 49": (17, 3, (7, 7), 6, (3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise, whole planes, dilated": (2, 3, (6, 9), 3, (3, 5), (1, 1), (2, 2), (2, 1), 3),
    "depthwise, one pixel": (2, 4, (1, 1), 4, (3, 3), (1, 1), (1, 1), (1, 1), 4),
    "depthwise times 2": (2, 5, (8, 9), 10, (3, 3), (2, 2), (1, 1), (1, 1), 5),
    "depthwise, stride 2": (2, 6, (11, 14), 6, (3, 3), (2, 2), (1, 1), (1, 1), 6),
    "depthwise, stride 3": (2, 6, (11, 13), 12, (2, 3), (3, 2), (2, 1), (1, 1), 6),
    "depthwise, dilated": (2, 6, (13, 12), 6, (3, 3), (2, 1), (2, 3), (2, 3), 6),
    "depthwise, large kernel": (2, 6, (15, 13), 6, (7, 6), (2, 1), (3, 2), (1, 2), 6),
    "depthwise, large padding": (2, 6, (5, 6), 6, (2, 2), (3, 2), (4, 3), (1, 1), 6),
    "depthwise, large map": (2, 3, (37, 50), 3, (3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise, large map, stride 2": (2, 4, (35, 70), 4, (5, 5), (2, 2), (2, 2), (1, 1), 4),
    "2 outputs": (3, 3, (17, 13), 2, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "3 outputs, strided": (2, 4, (21, 30), 3, (5, 3), (2, 2), (2, 1), (1, 1), 1),
    "4 outputs of 2 channels": (2, 2, (9, 40), 4, (3, 3), (1, 1), (0, 1), (1, 1), 1),
    "depthwise, rows of one vector and a column": (
        2,
        3,
        (9, 17),
        3,
        (3, 3),
        (1, 1),
        (1, 1),
        (1, 1),
        3,
    ),
    "depthwise, short rows": (2, 5, (23, 5), 5, (3, 3), (1, 1), (1, 1), (1, 1), 5),
    "depthwise, short rows, stride 2": (2, 5, (41, 6), 5, (3, 3), (2, 2), (1, 1), (1, 1), 5),
    "depthwise, no padding": (2, 3, (10, 67), 3, (3, 3), (1, 1), (0, 0), (1, 1), 3),
    "depthwise, 7 x 7": (1, 4, (29, 37), 4, (7, 7), (1, 1), (3, 3), (1, 1), 4),
    "depthwise, 7 x 7, 14 rows": (2, 3, (14, 14), 3, (7, 7), (1, 1), (3, 3), (1, 1), 3),
    "depthwise, stride 2, 3 columns apart": (2, 3, (19, 75), 3, (5, 4), (2, 2), (4, 4), (2, 3), 3),
    "depthwise, one row of a window": (2, 3, (9, 40), 3, (1, 5), (1, 1), (0, 2), (1, 1), 3),
    "depthwise, 17 rows of a window": (1, 3, (40, 20), 3, (17, 3), (2, 1), (8, 1), (1, 1), 3),
    "depthwise, many images": (35, 3, (5, 6), 6, (3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise, padding over reach": (2, 3, (7, 8), 3, (2, 2), (1, 1), (2, 3), (1, 1), 3),
    "depthwise, 1 dim": (3, 6, (31,), 12, (5,), (2,), (2,), (2,), 6),
    "patches": (3, 3, (18, 33), 70, (8, 8), (8, 8), (0, 0), (1, 1), 1),
    "patches, wide rows": (3, 3, (19, 140), 45, (8, 8), (8, 8), (0, 0), (1, 1), 1),
    "patches, unequal": (2, 5, (19, 47), 9, (3, 11), (3, 11), (0, 0), (1, 1), 1),
    "patches, one output": (5, 2, (14, 30), 1, (7, 7), (7, 7), (0, 0), (1, 1), 1),
    "patches, one of each image": (5, 2, (9, 9), 70, (8, 8), (8, 8), (0, 0), (1, 1), 1),
    "patches, narrow": (3, 6, (12, 17), 33, (4, 4), (4, 4), (0, 0), (1, 1), 1),
    "patches, 1 dim": (3, 2, (59,), 17, (9,), (9,), (0,), (1,), 1),
    "patches, 3 dims": (2, 3, (5, 16, 17), 20, (2, 8, 8), (2, 8, 8), (0, 0, 0), (1, 1, 1), 1),
    "large padding": (2, 3, (5, 6), 4, (2, 2), (1, 1), (3, 3), (1, 1), 1),
    "one window": (16, 12, (4, 4), 5, (4, 4), (1, 1), (0, 0), (1, 1), 1),
    "one window, strided": (3, 64, (3, 5), 70, (3, 5), (2, 3), (0, 0), (1, 1), 1),
    "one window of one output": (16, 128, (4, 4), 1, (4, 4), (1, 1), (0, 0), (1, 1), 1),
    "one row, dilated": (3, 4, (1, 5), 6, (1, 5), (1, 1), (0, 0), (2, 1), 1),
    "one window, groups": (3, 8, (3, 3), 6, (3, 3), (1, 1), (0, 0), (1, 1), 2),
    "single pixels": (5, 40, (1, 1), 30, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "tall image": (1, 40, (150, 60), 8, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "1 dim": (3, 5, (30,), 7, (5,), (1,), (2,), (1,), 1),
    "1 dim, all": (3, 6, (31,), 8, (3,), (2,), (2,), (2,), 2),
    "3 dims": (2, 3, (5, 6, 7), 4, (3, 2, 3), (1, 2, 1), (1, 0, 1), (1, 1, 2), 1),
    "3 dims, groups": (2, 4, (5, 6, 5), 6, (3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 2),
    "3 dims, small": (2, 8, (8, 8, 8), 8, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    "3 dims, strided": (2, 5, (7, 9, 8), 7, (3, 3, 2), (2, 2, 2), (1, 1, 0), (1, 1, 1), 1),
    "3 dims, stride over kernel": (2, 3, (9, 7, 8), 4, (2, 2, 2), (3, 3, 3), (0,) * 3, (1,) * 3, 1),
    "3 dims, dilated": (1, 4, (9, 8, 11), 6, (3, 2, 3), (1, 2, 1), (2, 0, 3), (2, 3, 2), 1),
    "3 dims, dilated and strided": (
        2,
        4,
        (11, 7, 8),
        6,
        (3, 3, 3),
        (3, 2, 1),
        (2, 2, 1),
        (2, 1, 2),
        2,
    ),
    "3 dims, padding over kernel": (
        2,
        2,
        (3, 5, 4),
        3,
        (2, 2, 2),
        (1, 1, 1),
        (3, 2, 3),
        (1, 1, 1),
        1,
    ),
    "3 dims, winograd": (2, 12, (3, 9, 10), 35, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    "3 dims, planes alone": (2, 5, (4, 9, 7), 6, (1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1), 1),
    "3 dims, planes left out": (2, 5, (9, 6, 7), 6, (1, 3, 3), (2, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    "3 dims, depth alone": (2, 5, (9, 4, 5), 6, (3, 1, 1), (2, 1, 1), (1, 0, 0), (1, 1, 1), 1),
    "3 dims, width alone": (2, 5, (3, 4, 11), 6, (1, 1, 3), (1, 1, 2), (0, 0, 1), (1, 1, 1), 1),
    "3 dims, 1x1x1": (2, 5, (3, 4, 5), 6, (1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1),
    "3 dims, 1x1x1 padded": (2, 5, (3, 4, 5), 6, (1, 1, 1), (2, 1, 2), (1, 0, 1), (1, 1, 1), 1),
    "3 dims, single plane": (2, 3, (1, 8, 9), 4, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    "3 dims, single output": (2, 3, (4, 8, 9), 1, (4, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1), 1),
    "3 dims, depthwise": (2, 4, (5, 6, 7), 8, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 4),
    "3 dims, depthwise, strided": (
        2,
        4,
        (7, 6, 7),
        4,
        (3, 3, 3),
        (2, 2, 1),
        (1, 1, 1),
        (1, 1, 1),
        4,
    ),
    "3 dims, depthwise, dilated": (
        2,
        3,
        (9, 6, 7),
        6,
        (2, 3, 3),
        (3, 1, 1),
        (2, 1, 1),
        (3, 2, 1),
        3,
    ),
    "3 dims, depthwise, depth alone": (
        2,
        4,
        (7, 6, 7),
        4,
        (3, 1, 1),
        (2, 1, 1),
        (1, 0, 0),
        (1, 1, 1),
        4,
    ),
    "1 x 1, many channels": (3, 300, (5, 7), 37, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "1 x 1, one image": (1, 257, (3, 3), 257, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "3 dims, depthwise planes": (2, 4, (5, 6, 7), 4, (1, 3, 3), (1, 2, 2), (0, 1, 1), (1, 1, 1), 4),
}


def arrays(rng, case, dtype=np.float32):
    n, c, size, o, kernel, stride, padding, dilation, groups = case
    x = rng.standard_normal((n, c, *size)).astype(dtype)
    w = rng.standard_normal((o, c // groups, *kernel)).astype(dtype)
    b = rng.standard_normal(o).astype(dtype)
    out = convolution.output_size(size, kernel, stride, padding, dilation)
    dy = rng.standard_normal((n, o, *out)).astype(dtype)
    return x, w, b, dy, (stride, padding, dilation, groups)


def scattered(array):
    """The same values at other strides, with NaN between them."""
    big = np.full((*array.shape[:-1], 2 * array.shape[-1] + 1), np.nan, array.dtype)
    view = big[..., 1::2]
    view[...] = array
    return view


def check(got, exact, scale, bound):
    assert got.shape == exact.shape
    assert np.isfinite(got).all()
    # `scale` is the same sum over absolute values: the natural measure of rounding
    assert (np.abs(got - exact) <= bound * (scale + scale.max() * 0.05)).all()


@pytest.fixture(params=["planes where they fit", "no planes"])
def ways(request, monkeypatch):
    """Convolutions with few channels run by planes; everything must also run without."""
    if request.param == "no planes":
        if REFERENCE:
            pytest.skip("the reference has one way only")
        from rushlight.kernels.convolution import planes as plane_convolution

        monkeypatch.setattr(plane_convolution, "fits", lambda *shape: False)
    convolution.forget_plans()
    yield
    convolution.forget_plans()


@pytest.fixture(params=[4, 2, 0])
def largest_tile(request, monkeypatch):
    """Winograd tiles of 4 x 4 outputs, of 2 x 2 only, and none."""
    if REFERENCE:
        pytest.skip("the reference has one way only")
    monkeypatch.setattr(convolution, "_WINOGRAD", request.param)
    convolution.forget_plans()
    yield request.param
    convolution.forget_plans()


@functools.cache
def expected(name, dtype):
    """Inputs of a case, and the exact results of its passes with their scales."""
    x, w, b, dy, args = given = arrays(np.random.default_rng(1234), CASES[name], dtype)
    wide = [v.astype(np.float64) for v in (x, w, b, dy)]
    forward, back, weights = (
        function.reference
        for function in (
            convolution.convolution_forward,
            convolution.convolution_input_gradient,
            convolution.convolution_weight_gradient,
        )
    )
    passes = []
    for x64, w64, b64, dy64 in (wide, [np.abs(v) for v in wide]):
        passes.append((
            forward(x64, w64, b64, *args), forward(x64, w64, None, *args),
            back(dy64, w64, x.shape, *args), weights(dy64, x64, w.shape, *args),
        ))  # fmt: skip
    return given, *zip(*passes, strict=True)


@pytest.mark.parametrize("name", CASES)
def test_all_passes(dtype, name, ways):
    (x, w, b, dy, args), biased, plain, of_input, of_weight = expected(name, dtype)
    bound = 3e-6 if dtype == np.float32 else 1e-14
    check(convolution.convolution_forward(x, w, b, *args), *biased, bound)
    got = convolution.convolution_forward(scattered(x), scattered(w), b, *args)
    check(got, *biased, bound)
    check(convolution.convolution_forward(x, w, None, *args), plain[0], biased[1], bound)
    check(convolution.convolution_input_gradient(dy, w, x.shape, *args), *of_input, bound)
    got = convolution.convolution_input_gradient(scattered(dy), scattered(w), x.shape, *args)
    check(got, *of_input, bound)
    check(convolution.convolution_weight_gradient(dy, x, w.shape, *args), *of_weight, bound)
    got = convolution.convolution_weight_gradient(scattered(dy), scattered(x), w.shape, *args)
    check(got, *of_weight, bound)


@pytest.mark.parametrize("channels, size, d", [(64, 16, 1), (256, 8, 1), (64, 4, 1), (64, 31, 2)])
def test_rounding_errors_against_the_oracle(rng, largest_tile, channels, size, d):
    """Root mean squares of the errors, ours over PyTorch's: the documented bounds."""
    torch = pytest.importorskip("torch")
    case = (8, channels, (size, size), channels, (3, 3), (1, 1), (d, d), (d, d), 1)
    x, w, b, dy, args = arrays(rng, case)

    def passes(kind):
        tx, tw = (torch.tensor(v, dtype=kind, requires_grad=True) for v in (x, w))
        y = torch.conv2d(tx, tw, torch.tensor(b, dtype=kind), padding=d, dilation=d)
        y.backward(torch.tensor(dy, dtype=kind))
        return [t.detach().numpy() for t in (y, tx.grad, tw.grad)]

    exact, theirs = passes(torch.float64), passes(torch.float32)
    ours = [
        convolution.convolution_forward(x, w, b, *args),
        convolution.convolution_input_gradient(dy, w, x.shape, *args),
        convolution.convolution_weight_gradient(dy, x, w.shape, *args),
    ]
    for got, want, true in zip(ours, theirs, exact, strict=True):
        ratio = np.sqrt(np.square(got - true).mean() / np.square(want - true).mean())
        assert ratio < (3.5 if largest_tile == 4 else 2)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_infinities_and_nan_stay_where_they_belong(rng, largest_tile, value, d):
    """They reach the outputs whose windows hold them, not all of a tile."""
    case = (3, 40, (13, 14), 36, (3, 3), (1, 1), (d, d), (d, d), 1)
    x, w, b, dy, args = arrays(rng, case)
    x[1, 7, 4, 5] = dy[2, 3, 0, 13] = value
    with np.errstate(invalid="ignore"):
        for function, operands in (
            (convolution.convolution_forward, (x, w, b)),
            (convolution.convolution_input_gradient, (dy, w, x.shape)),
        ):
            got, want = function(*operands, *args), function.reference(*operands, *args)
            assert np.array_equal(np.isnan(got), np.isnan(want))
            assert np.array_equal(np.isinf(got), np.isinf(want))
            finite = np.isfinite(want)
            assert 0 < want.size - finite.sum() <= 9 * want.shape[1]
            assert np.allclose(got[finite], want[finite], 1e-3, 1e-3)


@compiled_only
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_infinities_and_nan_of_live_taps(rng, value):
    """An infinite pixel reaches the outputs of the taps that meet it and no others."""
    x, w, b, dy, args = arrays(rng, CASES["live taps"])
    x[1, 7, 4, 5] = dy[1, 3, 0, 13] = value
    with np.errstate(invalid="ignore"):
        for function, operands in (
            (convolution.convolution_forward, (x, w, b)),
            (convolution.convolution_input_gradient, (dy, w, x.shape)),
        ):
            got, want = function(*operands, *args), function.reference(*operands, *args)
            assert np.array_equal(np.isfinite(got), np.isfinite(want))
            finite = np.isfinite(want)
            assert 0 < want.size - finite.sum() <= 4 * want.shape[1]
            assert np.allclose(got[finite], want[finite], 1e-3, 1e-3)
        got = convolution.convolution_weight_gradient(dy, x, w.shape, *args)
    wrong = ~np.isfinite(got)
    assert wrong[3].any() and wrong[:, 7].any()
    wrong[3] = wrong[:, 7] = False
    assert not wrong.any()


@compiled_only
def test_small_shares_run_by_taps():
    """Plans are by live taps where padding is most of what windows meet, and not elsewhere."""
    from rushlight.kernels.convolution import live_taps

    def fits(c, o, side, d):
        image = (side, side)
        return live_taps.fits(c, image, o, image, ((3, 3), (1, 1), (d, d), (d, d)))

    assert fits(256, 256, 28, 12) and fits(64, 64, 28, 24) and fits(64, 64, 1, 1)
    assert not fits(256, 256, 28, 4) and not fits(64, 64, 2, 1) and not fits(32, 64, 28, 24)


@pytest.mark.parametrize("images", [3, 1])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_infinities_and_nan_of_weight_gradients(rng, largest_tile, value, d, images):
    """An infinite gradient belongs to one output's weights, an infinite input to one input's."""
    case = (images, 40, (13, 14), 36, (3, 3), (1, 1), (d, d), (d, d), 1)
    x, w, _b, dy, args = arrays(rng, case)
    gradient = convolution.convolution_weight_gradient
    for array in (dy, x):
        before = array[0, 7, 4, 5]
        array[0, 7, 4, 5] = value
        with np.errstate(invalid="ignore"):
            got = gradient(dy, x, w.shape, *args)
            want = gradient.reference(dy, x, w.shape, *args)
        array[0, 7, 4, 5] = before
        assert np.array_equal(np.isnan(got), np.isnan(want))
        assert np.array_equal(got[~np.isfinite(want)], want[~np.isfinite(want)], equal_nan=True)
        finite = np.isfinite(want)
        assert 0 < want.size - finite.sum() <= want.size // 36
        assert np.allclose(got[finite], want[finite], 1e-3, 1e-3)


@compiled_only
def test_sub_images_take_the_place_of_dilations(rng, monkeypatch):
    """Where the padding is a multiple of the dilation and a Winograd plan is in use. Matrix units
    are quicker for some of them."""
    monkeypatch.setattr(matrix_units, "available", lambda: False)
    from rushlight.kernels.convolution.dilated import Forward, WeightGradient

    for name, case in CASES.items():
        if not name.startswith("dilated"):
            continue
        convolution.forget_plans()
        x, w, _b, dy, args = arrays(rng, case)
        convolution.convolution_forward(x, w, None, *args)
        convolution.convolution_weight_gradient(dy, x, w.shape, *args)
        parted = [isinstance(p, (Forward, WeightGradient)) for p in convolution._plans.values()]
        whole = convolution._WINOGRAD > 0 and ("images" in name or "large" in name)
        assert all(parted) if whole else not any(parted), name


@compiled_only
@pytest.mark.parametrize("outputs", [2, 4])
def test_winograd_matrices_are_exact(outputs):
    """outputs = A' [(G g) * (B' d)], in fractions, for every unit tap and input."""
    from rushlight.kernels.convolution import winograd_transforms

    at, g, bt = winograd_transforms.matrices(winograd_transforms.POINTS[outputs])
    edge = outputs + 2
    assert [len(at), len(g), len(bt)] == [outputs, edge, edge]
    for tap, place in np.ndindex(3, edge):
        for row in range(outputs):
            total = sum(at[row][k] * g[k][tap] * bt[k][place] for k in range(edge))
            assert total == (row + tap == place)


@compiled_only
@pytest.mark.parametrize("stride", [(1, 1), (2, 2), (2, 1)])
@pytest.mark.parametrize("name", ["depthwise", "depthwise, whole planes"])
def test_depthwise_taps_beside_the_image_are_not_counted(rng, name, stride, dtype):
    """NaN in the last column and row reaches exactly what the definition says it reaches."""
    x, w, b, _, _ = arrays(rng, CASES[name], dtype)
    args = (stride, (1, 1), (1, 1), 10)
    out = convolution.convolution_forward(x, w, b, *args)
    dy = rng.standard_normal(out.shape).astype(dtype)
    x[0, 2, :, -1], x[1, 3, -1] = np.nan, np.inf
    broken = dy.copy()
    broken[0, 4, :, -1], broken[1, 5, -1] = np.nan, np.inf
    for function, operands in (
        (convolution.convolution_forward, (x, w, b)),
        (convolution.convolution_input_gradient, (broken, w, x.shape)),
        (convolution.convolution_weight_gradient, (dy, x, w.shape)),
    ):
        with np.errstate(invalid="ignore"):
            got, want = function(*operands, *args), _by_taps(function, operands, args)
        assert np.array_equal(np.isfinite(got), np.isfinite(want))
        finite = np.isfinite(want)
        assert np.allclose(got[finite], want[finite], 1e-4, 1e-4)


def _by_taps(function, operands, args):
    """A depthwise pass over pairs of an input and an output that meet, and no others."""
    (sy, sx), (py, px) = args[:2]
    if function is convolution.convolution_forward:
        x, w, b = operands
        dy = np.zeros((*x.shape[:2], *convolution.output_size(x.shape[2:], (3, 3), *args[:3])))
        result = dy + b.reshape(1, -1, 1, 1)
    elif function is convolution.convolution_input_gradient:
        dy, w, shape = operands
        result = np.zeros(shape)
        x = result
    else:
        dy, x, shape = operands
        result = np.zeros(shape)
    for i, j, ky, kx in np.ndindex(*dy.shape[2:], 3, 3):
        r, c = i * sy + ky - py, j * sx + kx - px
        if not (0 <= r < x.shape[2] and 0 <= c < x.shape[3]):
            continue
        if function is convolution.convolution_forward:
            result[:, :, i, j] += x[:, :, r, c] * w[:, 0, ky, kx]
        elif function is convolution.convolution_input_gradient:
            result[:, :, r, c] += dy[:, :, i, j] * w[:, 0, ky, kx]
        else:
            result[:, 0, ky, kx] += (dy[:, :, i, j] * x[:, :, r, c]).sum(axis=0)
    return result


@compiled_only
@pytest.mark.parametrize("name", ["mnist 2", "winograd odd", "winograd, many panels",
                                  "winograd, groups of images", "7 wide, strided", "groups",
                                  "1 dim", "strided, parts of channels",
                                  "lenet",
                                  "depthwise",
                                  "depthwise, whole planes of 49",
                                  "3 dims, strided",
                                  "patches", "patches, wide rows",
                                  "groups, many",
                                  "3 dims, depthwise, strided",
                                  "3 dims, winograd"])  # fmt: skip
def test_nothing_is_written_behind_the_output(rng, name, ways, monkeypatch):
    x, w, b, dy, args = arrays(rng, CASES[name])
    guarded = []
    plain = np.empty

    def empty(shape, dtype=np.float64):
        count = int(np.prod(shape))
        block = plain(count + 64, dtype)
        block[...] = np.nan
        guarded.append((block, count))
        return block[:count].reshape(shape)

    monkeypatch.setattr(convolution.np, "empty", empty)
    monkeypatch.setattr(memory, "room", lambda *arguments: NotImplemented)
    monkeypatch.setattr(memory, "_aligned", lambda make, shape, dtype: empty(shape, dtype))
    convolution.convolution_forward(x, w, b, *args)
    convolution.convolution_input_gradient(dy, w, x.shape, *args)
    convolution.convolution_weight_gradient(dy, x, w.shape, *args)
    monkeypatch.undo()
    assert len(guarded) >= 3  # the three results; more where weights are packed
    assert all(np.isnan(block[count:]).all() for block, count in guarded)


@pytest.mark.parametrize("name", CASES)
def test_oracle(rng, name):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    x, w, b, dy, args = arrays(rng, CASES[name])
    tx, tw, tb = (torch.tensor(v, requires_grad=True) for v in (x, w, b))
    function = [torch.conv1d, torch.conv2d, torch.conv3d][x.ndim - 3]
    y = function(tx, tw, tb, *args)
    y.backward(torch.tensor(dy))
    tolerance = {"rtol": 1e-4, "atol": 1e-4 * max(1.0, float(tw.grad.abs().max()) / 50)}
    got = convolution.convolution_forward(x, w, b, *args)
    assert np.allclose(got, y.detach().numpy(), **tolerance)
    got = convolution.convolution_input_gradient(dy, w, x.shape, *args)
    assert np.allclose(got, tx.grad.numpy(), **tolerance)
    got = convolution.convolution_weight_gradient(dy, x, w.shape, *args)
    assert np.allclose(got, tw.grad.numpy(), **tolerance)


@pytest.mark.parametrize("name", ["mnist 2", "winograd batch", "winograd, many panels",
                                  "winograd, groups of images", "dilated, sub-images",
                                  "dilated, odd sub-images", "resnet stem", "unequal", "patches",
                                  "patches, wide rows",
                                  "groups, many",
                                  "3 dims", "3 dims, small", "3 dims, depthwise",
                                  "3 dims, dilated and strided", "3 dims, winograd",
                                  "1x1 groups", "outputs in parts", "dilated, strided",
                                  "groups of many channels, strided", "1x1 strided",
                                  "strided, parts of channels", "1x1, parts of channels",
                                  "depthwise, whole planes of 49", "depthwise, many images",
                                  "depthwise, large map, stride 2"])  # fmt: skip
def test_same_bits_for_any_number_of_threads(rng, name, dtype):
    x, w, b, dy, args = arrays(rng, CASES[name], dtype)
    before, results = threads.get_num_threads(), []
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        results.append(
            (
                convolution.convolution_forward(x, w, b, *args),
                convolution.convolution_input_gradient(dy, w, x.shape, *args),
                convolution.convolution_weight_gradient(dy, x, w.shape, *args),
            )
        )
    threads.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, c) for a, c in zip(results[0], other, strict=True))


def test_empty_batch():
    x, w = np.zeros((0, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)
    args = ((1, 1), (1, 1), (1, 1), 1)
    y = convolution.convolution_forward(x, w, np.ones(4, np.float32), *args)
    assert y.shape == (0, 4, 8, 8)
    assert convolution.convolution_input_gradient(y, w, x.shape, *args).shape == x.shape
    dw = convolution.convolution_weight_gradient(y, x, w.shape, *args)
    assert np.array_equal(dw, np.zeros(w.shape))


def test_empty_batch_of_bfloat16_pixels():
    x, w = np.zeros((0, 3, 4, 4), ml_dtypes.bfloat16), np.ones((4, 3, 1, 1), ml_dtypes.bfloat16)
    args = ((1, 1), (0, 0), (1, 1), 1)
    y = convolution.convolution_forward(x, w, None, *args)
    assert y.shape == (0, 4, 4, 4)
    assert convolution.convolution_input_gradient(y, w, x.shape, *args).shape == x.shape


@pytest.mark.parametrize("case", [
    ((2, 1, 4), np.float32), ((2, 1, 4), np.float64), ((2, 1, 3, 3, 3), np.float64),
])  # fmt: skip
def test_infinities_of_both_signs_warn_of_nothing(case):
    (n, c, *spatial), dtype = case
    x, one = np.full((n, c, *spatial), np.inf, dtype), (1,) * len(spatial)
    args, w = (one, (0,) * len(spatial), one, 1), np.ones((1, c, *one), dtype)
    x[1] = -np.inf
    y = convolution.convolution_forward(x, w, np.full(1, -np.inf, dtype), *args)
    assert np.isnan(y[0]).all() and np.isneginf(y[1]).all()
    dw = convolution.convolution_weight_gradient(np.ones_like(y), x, w.shape, *args)
    assert np.isnan(dw).all()


@compiled_only
@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_low_precision_rounds_once(rng, kind):
    x, w, b, dy, args = arrays(rng, CASES["lenet"], kind)
    wide = [v.astype(np.float32) for v in (x, w, b, dy)]
    want = convolution.convolution_forward(*wide[:3], *args).astype(kind)
    assert np.array_equal(convolution.convolution_forward(x, w, b, *args), want)
    want = convolution.convolution_weight_gradient(wide[3], wide[0], w.shape, *args).astype(kind)
    assert np.array_equal(convolution.convolution_weight_gradient(dy, x, w.shape, *args), want)


def test_errors_spell_out_the_shapes():
    x, w = np.zeros((2, 3, 8, 8), np.float32), np.zeros((4, 2, 3, 3), np.float32)
    with pytest.raises(ValueError, match="expects input with 2 channels"):
        convolution.convolution_forward(x, w, None, (1, 1), (0, 0), (1, 1), 1)
    with pytest.raises(ValueError, match="same 1, 2 or 3 spatial dims"):
        convolution.convolution_forward(x, w, None, (1,), (0,), (1,), 1)
    w = np.zeros((4, 3, 9, 9), np.float32)
    with pytest.raises(ValueError, match="larger than the padded"):
        convolution.convolution_forward(x, w, None, (1, 1), (0, 0), (1, 1), 1)
    with pytest.raises(ValueError, match="grad has shape"):
        convolution.convolution_weight_gradient(
            np.zeros((2, 4, 5, 5), np.float32), x, (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1
        )


@compiled_only
@pytest.mark.parametrize("case", [
    (5, 1, (28, 28), 6, (5, 5), (1, 1), (2, 2), (1, 1)),
    (3, 2, (9, 7), 13, (3, 2), (2, 1), (1, 0), (1, 1)),
    (2, 3, (20, 33), 7, (3, 3), (2, 2), (1, 1), (1, 2)),
    (33, 1, (4, 4), 1, (3, 3), (1, 1), (1, 1), (1, 1)),
])  # fmt: skip
def test_weight_gradient_by_planes(rng, case):
    """Every number of outputs and taps left over, rows longer and shorter than a vector."""
    from rushlight.kernels.convolution.plane_gradient import WeightGradient

    n, c, image, o, kernel, stride, padding, dilation = case
    size = convolution.output_size(image, kernel, stride, padding, dilation)
    x = rng.standard_normal((n, c, *image)).astype(np.float32)
    dy = rng.standard_normal((n, o, *size)).astype(np.float32)
    shape = (o, c, *kernel)
    room = np.full(int(np.prod(shape)) + 64, np.nan, np.float32)
    dw = room[32:-32].reshape(shape)
    WeightGradient(n, c, image, o, size, kernel, stride, padding, dilation).run(x, dy, dw)
    assert np.isnan(room[:32]).all()
    assert np.isnan(room[-32:]).all()
    reference = convolution.convolution_weight_gradient.reference
    wide, args = (dy.astype(np.float64), x.astype(np.float64)), (stride, padding, dilation, 1)
    exact = reference(*wide, shape, *args)
    check(dw, exact, reference(*map(np.abs, wide), shape, *args), 1e-6)


@compiled_only
@pytest.mark.parametrize(
    "name", ["3 dims, small", "3 dims, dilated and strided", "3 dims, strided"]
)
def test_three_dims_in_parts_of_the_batch(rng, name, monkeypatch):
    """Batches whose lowered images are too many at a time give what whole ones give."""
    from rushlight.kernels.convolution import depth as depth_convolution

    x, w, b, dy, args = arrays(rng, (5, *CASES[name][1:]))

    def passes():
        return (
            convolution.convolution_forward(x, w, b, *args),
            convolution.convolution_input_gradient(dy, w, x.shape, *args),
            convolution.convolution_weight_gradient(dy, x, w.shape, *args),
        )

    whole = passes()
    one = 4 * x.shape[1] * w.shape[2] * x[0, 0].size
    monkeypatch.setattr(depth_convolution, "LOWERED_BYTES", 2 * one)
    for a, c in zip(whole, passes(), strict=True):
        assert np.allclose(a, c, 1e-4, 1e-4)
