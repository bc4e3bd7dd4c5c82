"""Normalizations of half-width numbers: computed in float32, rounded once."""

from __future__ import annotations

import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from layouts import reversed_axes  # noqa: E402

from rushlight.kernels.launch.execution import REFERENCE  # noqa: E402
from rushlight.kernels.normalization import batch_and_layer as normalization  # noqa: E402
from rushlight.kernels.normalization import groups  # noqa: E402
from rushlight.kernels.normalization import root_mean_square as rms  # noqa: E402
from rushlight.machine.language.functions import (  # noqa: E402
    array,
    bf16,
    element,
    f16,
    f32,
    i64,
    range_kernel,
)

compiled_only = pytest.mark.skipif(REFERENCE, reason="the reference computes in float64")
KINDS = [np.float16, ml_dtypes.bfloat16]
SHAPES = [(9, 300), (3, 23, 5, 5), (2, 2, 90, 100), (40, 70, 2, 2), (3, 20, 7, 9), (2, 1, 3)]


def rounded(got, exact, kind, slack=2e-5):
    """Whether these are numbers of a kind next to such that are nearly the exact ones."""
    assert got.dtype == kind
    exact, got = exact.astype(np.float64), got.astype(np.float64)
    step = float(ml_dtypes.finfo(kind).eps) / 2 * np.abs(exact)
    assert got.shape == exact.shape
    scale = max(1.0, float(np.abs(exact).max(initial=0)))
    assert (np.abs(got - exact) <= step * 1.001 + slack * scale).all()


def drawn(rng, shape, kind, rows):
    x, grad = (rng.standard_normal((2, *shape)) * 2 + 3).astype(kind)
    weight, bias, mean, var = (rng.random((4, shape[1])) + 0.5).astype(rows)
    return x, grad, weight, bias, mean, var


@compiled_only
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("change", [np.array, reversed_axes])
def test_batches(rng, kind, shape, wide, change):
    rows = np.float32 if wide else kind
    x, grad, weight, bias, mean, var = drawn(rng, shape, kind, rows)
    f, b = normalization.batch_norm_train_forward, normalization.batch_norm_train_backward
    out, means, invstd = f(change(x), weight, bias, 1e-3)
    want = f.reference(x.astype(np.float64), weight, bias, 1e-3)
    rounded(out, want[0], kind)
    assert means.dtype == invstd.dtype == np.float32
    found = b(change(grad), change(x), weight, means, invstd)
    exact = b.reference(*(v.astype(np.float64) for v in (grad, x, weight)), *want[1:])
    for got, one, dtype in zip(found, exact, (kind, rows, rows), strict=True):
        rounded(got, one, dtype, 1e-4)
    e = normalization.batch_norm_eval
    got = e(change(x), weight, bias, mean, var, 1e-3)
    rounded(got, e.reference(x.astype(np.float64), weight, bias, mean, var, 1e-3), kind)
    assert f(x, None, None, 1e-3)[0].dtype == kind


@compiled_only
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("size", [1, 7, 64, 5000])
def test_rows(rng, kind, wide, size):
    rows = np.float32 if wide else kind
    x, grad = (rng.standard_normal((2, 6, size)) * 2 + 3).astype(kind)
    weight, bias = (rng.random((2, size)) + 0.5).astype(rows)
    f, b = normalization.layer_norm_forward, normalization.layer_norm_backward
    for scale, shift in ((weight, bias), (weight, None), (None, bias), (None, None)):
        out, mean, rstd = f(x, size, scale, shift, 1e-2)
        want = f.reference(x.astype(np.float64), size, scale, shift, 1e-2)
        rounded(out, want[0], kind)
        found = b(grad, x, scale, mean, rstd, size)
        exact = b.reference(grad, x.astype(np.float64), scale, *want[1:], size)
        last = kind if scale is None else rows
        for got, one, dtype in zip(found, exact, (kind, last, last), strict=True):
            rounded(got, one, dtype, 1e-4)
    out, rstd = rms.rms_norm_forward(x, size, weight, 1e-2)
    exact, inverse = rms.rms_norm_forward.reference(x.astype(np.float64), size, weight, 1e-2)
    rounded(out, exact, kind)
    found = rms.rms_norm_backward(grad, x, weight, rstd, size)
    exact = rms.rms_norm_backward.reference(grad, x.astype(np.float64), weight, inverse, size)
    for got, one, dtype in zip(found, exact, (kind, rows), strict=True):
        rounded(got, one, dtype, 1e-4)


@compiled_only
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("shape", [(3, 6, 4, 9), (5, 12), (1, 6, 7)])
def test_groups(rng, kind, wide, shape):
    rows = np.float32 if wide else kind
    x, grad, weight, bias, *_ = drawn(rng, shape, kind, rows)
    f, b = groups.group_norm_forward, groups.group_norm_backward
    for scale, shift in ((weight, bias), (weight, None), (None, bias), (None, None)):
        want = f.reference(x.astype(np.float64), 3, scale, shift, 1e-2)
        for _ in range(2):  # planned, then known
            out, mean, rstd = f(x, 3, scale, shift, 1e-2)
            rounded(out, want[0], kind)
        found = b(grad, x, 3, scale, mean, rstd)
        exact = b.reference(grad, x.astype(np.float64), 3, scale, *want[1:])
        last = kind if scale is None else rows
        for got, one, dtype in zip(found, exact, (kind, last, last), strict=True):
            rounded(got, one, dtype, 1e-4)


@range_kernel
def turned(args, lo, hi, tid):
    """Half-width numbers to float32, and float32 numbers to half-width ones."""
    g = array(i64, args)
    narrow, wide = array(element, g[0]), array(f32, g[1])
    x, out = array(f32, g[2]), array(element, g[3])
    for i in range(lo, hi):
        wide[i] = narrow[i]
        out[i] = x[i]


@compiled_only
@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_read_and_every_halfway_one_rounded_to_even(kind):
    from rushlight.machine import threads
    from rushlight.machine.language import half_floats

    if kind is np.float16 and not half_floats.is_fast():
        pytest.skip("float16 is converted beforehand on this processor")
    narrow = np.arange(1 << 16, dtype=np.uint16).view(kind)
    with np.errstate(all="ignore"):
        exact = narrow.astype(np.float32)
        bits = exact.view(np.uint32)
        half = np.uint32(1 << (15 if kind is not np.float16 else 12))
        x = np.concatenate([(bits + k).view(np.float32) for k in (0, half - 1, half, half + 1)])
        x = np.concatenate([x, np.float32([1e-42, 3e38, 65520, 65519.9, -1e-8, 6e-8])])
        want = x.astype(kind)
    given = np.zeros(len(x), kind)
    given[: 1 << 16] = narrow
    wide, out = np.empty(len(x), np.float32), np.empty(len(x), kind)
    code = turned.address(element=f16 if kind is np.float16 else bf16)
    threads.run(threads.plan(code, len(x), len(x), [0] * 4), given, wide, x, out)
    assert np.array_equal(wide[: 1 << 16], exact, equal_nan=True)
    nan = np.isnan(want.astype(np.float32))
    assert np.isnan(out.astype(np.float32)[nan]).all()
    assert np.array_equal(out.view(np.uint16)[~nan], want.view(np.uint16)[~nan])


@compiled_only
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wide", [False, True])
def test_small_batches_by_one_call(rng, kind, shape, wide):
    from rushlight.kernels.normalization import small

    rows = np.float32 if wide else kind
    x, _, weight, bias, mean, var = drawn(rng, shape, kind, rows)
    for scale, shift in ((weight, bias), (weight, None), (None, bias), (None, None)):
        got = small.batch_eval(x, scale, shift, mean, var, 1e-3)
        exact = normalization.batch_norm_eval.reference(
            x.astype(np.float64), scale, shift, mean, var, 1e-3
        )
        rounded(got, exact, kind)
        found = small.batch_train(x, scale, shift, 1e-3)
        want = normalization.batch_norm_train_forward(x, scale, shift, 1e-3)
        assert (found is None) == (x.size > small.MOST)
        assert found is None or all(np.array_equal(a, b) for a, b in zip(found, want, strict=True))
    means, invstd = want[1:]
    running = mean.copy(), var.copy()
    assert small.fold(*running, means, invstd, 0.25, 1e-3, 10)
    rounded(running[0], mean.astype(np.float64) * 0.75 + 0.25 * means, np.dtype(rows), 1e-6)
    unbiased = (1 / invstd.astype(np.float64) ** 2 - 1e-3) * 10 / 9
    rounded(running[1], var.astype(np.float64) * 0.75 + 0.25 * unbiased, np.dtype(rows), 1e-6)
