"""Batch normalization by given statistics: its gradients against float64."""

from __future__ import annotations

import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from layouts import reversed_axes, scattered  # noqa: E402

from rushlight.kernels.launch.execution import REFERENCE  # noqa: E402
from rushlight.kernels.normalization import given_statistics as given  # noqa: E402
from rushlight.machine import threads  # noqa: E402

compiled_only = pytest.mark.skipif(REFERENCE, reason="the reference computes in float64")
SHAPES = [
    (9, 300), (1, 7), (700, 3), (40, 70, 2, 2), (3, 23, 5, 5), (3, 20, 7, 9), (2, 1, 3, 4, 5),
    (2, 2, 90, 100), (5, 40, 33, 35), (64, 1100),
]  # fmt: skip
NEEDS = [(a, b, c) for a in (True, False) for b in (True, False) for c in (True, False)][:-1]


def channels_last(array):
    """The same numbers, channels last in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def drawn(rng, shape, kind, rows):
    x, grad = (rng.standard_normal((2, *shape)) * 2 + 3).astype(kind)
    weight, bias, mean, var = (rng.random((4, shape[1])) + 0.5).astype(rows)
    return x, grad, weight, bias, mean, var


def close(got, want, bound):
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    assert got.shape == want.shape
    return (np.abs(got.astype(np.float64) - want) <= bound * scale).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("change", [np.array, scattered, reversed_axes, channels_last])
def test_gradients(rng, dtype, shape, affine, change):
    x, grad, weight, bias, mean, var = drawn(rng, shape, dtype, dtype)
    if not affine:
        weight = bias = None
    bound = 1e-5 if dtype == np.float32 else 1e-12
    wide = x.astype(np.float64)
    out = given.given_forward(change(x), weight, bias, mean, var, 1e-3)
    want = given.batch_norm_eval.reference(wide, weight, bias, mean, var, 1e-3)
    assert out.dtype == dtype
    assert close(out, want, bound)
    if change is channels_last and x.ndim in (4, 5):
        assert out.strides == change(x).strides
    reference = given.given_backward.reference
    exact = reference(grad.astype(np.float64), wide, weight, mean, var, 1e-3, (True,) * 3)
    for needs in NEEDS:
        for other in (np.array, change):
            found = given.given_backward(other(grad), change(x), weight, mean, var, 1e-3, needs)
            for got, one, need in zip(found, exact, needs, strict=True):
                assert (got is not None) == need
                assert not need or (got.dtype == dtype and close(got, one, bound))


@compiled_only
@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wide", [False, True])
def test_half_width(rng, kind, shape, wide):
    rows = np.float32 if wide else kind
    x, grad, weight, _, mean, var = drawn(rng, shape, kind, rows)
    grad -= 3  # sums that float16 holds
    exact = given.given_backward.reference(
        *(v.astype(np.float64) for v in (grad, x, weight, mean, var)), 1e-3, (True,) * 3
    )
    found = given.given_backward(grad, x, weight, mean, var, 1e-3, (True,) * 3)
    for got, one, dtype in zip(found, exact, (kind, rows, rows), strict=True):
        assert got.dtype == dtype
        step = np.abs(one) * float(ml_dtypes.finfo(dtype).eps) / 2
        limit = step * 1.001 + 2e-5 * max(1.0, np.abs(one).max())
        assert (np.abs(got.astype(np.float64) - one) <= limit).all()


def test_what_is_not_finite_stays_in_its_channel(rng):
    x, grad, weight, _, mean, var = drawn(rng, (3, 4, 6, 7), np.float32, np.float32)
    x[1, 2, 3, 4], grad[0, 1, 2, 3] = np.nan, np.inf
    first, row, last = given.given_backward(grad, x, weight, mean, var, 1e-3, (True,) * 3)
    assert np.isnan(row[2])
    assert np.isinf(row[1])
    assert np.isinf(last[1])
    assert np.isfinite(row[[0, 3]]).all()
    assert np.isfinite(last[[0, 2, 3]]).all()
    assert np.argwhere(~np.isfinite(first)).tolist() == [[0, 1, 2, 3]]


def test_same_bits_for_any_number_of_threads(rng):
    before, results = threads.get_num_threads(), []
    problems = [drawn(rng, shape, np.float32, np.float32) for shape in ((24, 6, 40, 40), (640, 99))]
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        results.append([
            part
            for x, grad, weight, _, mean, var in problems
            for part in given.given_backward(grad, x, weight, mean, var, 1e-3, (True,) * 3)
        ])  # fmt: skip
    threads.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))
