"""Group and RMS normalization against float64."""

from __future__ import annotations

import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from layouts import reversed_axes, scattered  # noqa: E402

from rushlight.kernels.launch.execution import REFERENCE  # noqa: E402
from rushlight.kernels.normalization import groups  # noqa: E402
from rushlight.kernels.normalization import root_mean_square as rms  # noqa: E402
from rushlight.machine import threads  # noqa: E402

compiled_only = pytest.mark.skipif(REFERENCE, reason="the reference computes in float64")
GIVEN = [(True, True), (True, False), (False, True), (False, False)]


def unaligned(array):
    """The same values one byte off every multiple of the element size."""
    memory = np.empty(array.nbytes + 1, np.uint8)
    found = memory[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


CHANGES = [np.array, scattered, reversed_axes, unaligned]


def close(got, want, dtype, factor=1):
    bound = factor * {np.dtype(np.float32): 3e-6, np.dtype(np.float64): 1e-11}.get(dtype, 2e-2)
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    assert got.shape == want.shape
    assert (np.abs(got.astype(np.float64) - want) <= bound * scale).all()


def wide(*arrays):
    return [None if a is None else a.astype(np.float64) for a in arrays]


@pytest.mark.parametrize("shape", [(2, 6, 3, 5), (3, 4), (5, 132), (1, 6, 700), (5, 12, 17, 2, 3)])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("change", CHANGES)
def test_groups(rng, dtype, shape, given, change):
    dtype = np.dtype(dtype)
    x, grad = (rng.standard_normal((2, *shape)) * 2 + 3).astype(dtype)
    rows = rng.standard_normal((2, shape[1])).astype(dtype)
    weight, bias = (row if there else None for row, there in zip(rows, given, strict=True))
    for count in (1, 2, shape[1]):
        if x[0].size == count:
            continue
        exact = groups.group_norm_forward.reference(*wide(x), count, *wide(weight, bias), 1e-2)
        for _ in range(2):  # planned, then known
            got = groups.group_norm_forward(change(x), count, weight, bias, 1e-2)
            assert [v.dtype for v in got] == [dtype] * 3
            for value, want in zip(got, exact, strict=True):
                close(value, want, dtype, 2)
        want = groups.group_norm_backward.reference(
            *wide(grad, x), count, *wide(weight), *exact[1:]
        )
        found = groups.group_norm_backward(change(grad), change(x), count, weight, *got[1:])
        assert [v.dtype for v in found] == [dtype] * 3
        for value, expected in zip(found, want, strict=True):
            close(value, expected, dtype, 8)


@pytest.mark.parametrize("shape", [(2, 6), (3, 5, 7), (1, 700), (300, 33), (64, 1)])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_rms(rng, dtype, shape, affine, change):
    dtype, n = np.dtype(dtype), shape[-1]
    x, grad = (rng.standard_normal((2, *shape)) * 2 + 1).astype(dtype)
    weight = rng.standard_normal(n).astype(dtype) if affine else None
    exact = rms.rms_norm_forward.reference(*wide(x), n, *wide(weight), 1e-2)
    want = rms.rms_norm_backward.reference(*wide(grad, x, weight), exact[1], n)
    for _ in range(2):
        got = rms.rms_norm_forward(change(x), n, weight, 1e-2)
        found = rms.rms_norm_backward(change(grad), change(x), weight, got[1], n)
        assert [v.dtype for v in (*got, *found)] == [dtype] * 4
        for value, expected in zip(got, exact, strict=True):
            close(value, expected, dtype, 2)
        close(found[0], want[0], dtype, 8)
        if affine:
            close(found[1], want[1], dtype, 8)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_low_precision_is_rounded_once(rng, kind):
    x, weight = rng.standard_normal((3, 4, 5)).astype(kind), rng.standard_normal(4).astype("f")
    out, mean, rstd = groups.group_norm_forward(x, 2, weight, None, 1e-5)
    assert out.dtype == kind and mean.dtype == rstd.dtype == np.float32
    exact = groups.group_norm_forward.reference(*wide(x), 2, *wide(weight), None, 1e-5)[0]
    assert (out == exact.astype(kind)).mean() > 0.97
    row, scale = rms.rms_norm_forward(x, 5, None, 1e-5)
    assert row.dtype == kind and scale.dtype == np.float32
    exact = rms.rms_norm_forward.reference(*wide(x), 5, None, 1e-5)[0]
    assert (row == exact.astype(kind)).mean() > 0.97


def test_a_large_mean_does_not_cancel(rng):
    x = (rng.standard_normal((2, 4, 50)) + 3000).astype(np.float32)
    out = groups.group_norm_forward(x, 2, None, None, 1e-5)[0]
    close(out, groups.group_norm_forward.reference(*wide(x), 2, None, None, 1e-5)[0], x.dtype, 200)


def test_what_is_not_finite_stays_in_its_group(rng):
    x = rng.standard_normal((2, 4, 9)).astype(np.float32)
    x[0, 1, 3], x[1, 2, 0] = np.nan, np.inf
    out = groups.group_norm_forward(x, 2, None, None, 1e-5)[0]
    assert np.isnan(out[0, :2]).all() and np.isnan(out[1, 2:]).all()
    assert np.isfinite(out[0, 2:]).all() and np.isfinite(out[1, :2]).all()
    rows = rms.rms_norm_forward(x, 9, None, 1e-5)[0]
    assert np.isnan(rows[0, 1]).all() and np.isfinite(rows[0, 0]).all()


@compiled_only
def test_same_bits_for_any_number_of_threads(rng):
    x, grad = rng.standard_normal((2, 16, 24, 20, 20)).astype(np.float32)
    weight = rng.standard_normal(24).astype(np.float32)
    row = rng.standard_normal(20).astype(np.float32)
    results = []
    before = threads.get_num_threads()
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            out, *saved = groups.group_norm_forward(x, 3, weight, None, 1e-5)
            more = groups.group_norm_backward(grad, x, 3, weight, *saved)
            scaled, rstd = rms.rms_norm_forward(x, 20, row, 1e-5)
            last = rms.rms_norm_backward(grad, x, row, rstd, 20)
            results.append((out, *saved, *more, scaled, rstd, *last))
    finally:
        threads.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_errors_name_the_shapes():
    x = np.zeros((2, 6, 3), np.float32)
    with pytest.raises(ValueError, match=r"4 groups do not divide .* got shape \(2, 6, 3\)"):
        groups.group_norm_forward.compiled(x, 4, None, None, 1e-5)
    with pytest.raises(ValueError, match=r"weight must have one value for each of 6 channels"):
        groups.group_norm_forward.compiled(x, 3, np.ones(5, np.float32), None, 1e-5)
    with pytest.raises(ValueError, match="normalized_size 5 does not divide"):
        rms.rms_norm_forward.compiled(x, 5, None, 1e-5)
    with pytest.raises(ValueError, match="weight has 2 values, expected 3"):
        rms.rms_norm_forward.compiled(x, 3, np.ones(2, np.float32), 1e-5)
