"""The direct way with rows that do not fit a block: span by span, forward and both gradients."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.kernels.convolution import direct, direct_weight_gradient, reference
from rushlight.kernels.launch.execution import REFERENCE

if REFERENCE:
    pytest.skip("the reference mode has no plans", allow_module_level=True)

# channels, (height, width), outputs, kernel, stride, padding, dilation
CASES = {
    "one dim": (5, (1, 211), 7, (1, 3), (1, 1), (0, 0), (1, 1)),
    "padding": (20, (1, 150), 40, (1, 5), (1, 1), (0, 3), (1, 1)),
    "stride": (16, (1, 301), 33, (1, 3), (1, 2), (0, 0), (1, 1)),
    "stride beyond the kernel": (3, (1, 400), 5, (1, 2), (1, 3), (0, 1), (1, 1)),
    "dilation": (8, (1, 180), 9, (1, 3), (1, 1), (0, 4), (1, 3)),
    "several rows": (24, (4, 130), 18, (3, 3), (1, 1), (1, 1), (1, 1)),
    "several rows, strides": (24, (5, 260), 18, (2, 3), (2, 2), (1, 2), (1, 1)),
    "padding wider than a span": (4, (1, 90), 6, (1, 41), (1, 1), (0, 40), (1, 1)),
}


@pytest.fixture(params=[(1, 5), (700, 40)], ids=["spans of 5", "spans by bytes"])
def small_blocks(request, monkeypatch):
    """Blocks of few bytes, and how many outputs a span has at least."""
    (size, fewest), divide = request.param, direct.divide_rows
    monkeypatch.setattr(direct, "BLOCK_BYTES", size)
    for module in (direct, direct_weight_gradient):
        monkeypatch.setattr(
            module, "divide_rows", lambda words, beside=0, least=0: divide(words, beside, fewest)
        )


def _arrays(rng, case):
    c, image, o, kernel, *windows = case
    x = rng.standard_normal((2, c, *image)).astype(np.float32)
    w = rng.standard_normal((o, c, *kernel)).astype(np.float32)
    y = reference.forward_reference(x.astype(np.float64), w.astype(np.float64), None, *windows, 1)
    return x, w, y


def _close(found, exact):
    np.testing.assert_allclose(found, exact, rtol=0, atol=3e-6 * np.abs(exact).max())


@pytest.mark.parametrize("name", CASES)
def test_forward(rng, small_blocks, name):
    c, image, o, kernel, *windows = CASES[name]
    x, w, exact = _arrays(rng, CASES[name])
    plan = direct.Forward(2, c, image, o, kernel, *windows, False, c, o)
    found, bias = np.full(exact.shape, np.nan, np.float32), np.arange(o, dtype=np.float32)
    plan.run(x, w, found, bias)
    _close(found, exact + bias[:, None, None])


@pytest.mark.parametrize("name", [name for name in CASES if "stride" not in name])
def test_input_gradient(rng, small_blocks, name):
    c, image, o, kernel, stride, padding, dilation = CASES[name]
    x, w, y = _arrays(rng, CASES[name])
    dy = rng.standard_normal(y.shape).astype(np.float32)
    exact = reference.input_gradient_reference(
        dy.astype(np.float64), w.astype(np.float64), x.shape, stride, padding, dilation, 1
    )
    around = tuple(
        d * (k - 1) - p for k, p, d in zip(kernel, padding, dilation, strict=True)
    )  # of the convolution that this gradient is
    plan = direct.Forward(2, o, y.shape[2:], c, kernel, stride, around, dilation, True, o, c)
    found = np.full(x.shape, np.nan, np.float32)
    plan.run(dy, w, found, None)
    _close(found, exact)


@pytest.mark.parametrize("name", CASES)
def test_weight_gradient(rng, small_blocks, name):
    c, image, o, kernel, *windows = CASES[name]
    x, w, y = _arrays(rng, CASES[name])
    dy = rng.standard_normal(y.shape).astype(np.float32)
    exact = reference.weight_gradient_reference(
        dy.astype(np.float64), x.astype(np.float64), w.shape, *windows, 1
    )
    found = np.full(w.shape, np.nan, np.float32)
    direct_weight_gradient.WeightGradient(2, c, image, o, kernel, *windows, 1).run(x, dy, found)
    _close(found, exact)


def test_rows_that_are_divided(small_blocks):
    """The cases above divide rows; a row that fits twice a block stays whole."""
    words = direct.geometry(1, 5, (1, 211), 7, (1, 3), (1, 1), (0, 0), (1, 1))
    direct.divide_rows(words)
    assert words[direct.SPANS] > 4
    words = direct.geometry(1, 5, (1, 10), 7, (1, 3), (1, 1), (0, 0), (1, 1))
    direct.divide_rows(words)
    assert words[direct.SPANS] == 1 and words[direct.PADDED] == 10
