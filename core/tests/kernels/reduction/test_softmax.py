"""Softmax and log-softmax over every dim and layout, with special values."""

from __future__ import annotations

import math
import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from layouts import reversed_axes, scattered  # noqa: E402

from rushlight.kernels.launch.execution import REFERENCE, floating_types  # noqa: E402
from rushlight.kernels.reduction import softmax  # noqa: E402
from rushlight.machine import threads  # noqa: E402

compiled_only = pytest.mark.skipif(REFERENCE, reason="the reference computes in float64")

PAIRS = [
    (softmax.softmax_forward, softmax.softmax_backward),
    (softmax.log_softmax_forward, softmax.log_softmax_backward),
]
SHAPES = [((64, 10), 1), ((64, 10), 0), ((3, 5, 70), 1), ((3, 5, 70), -3), ((5, 1025), -1),
          ((7,), 0), ((2, 3, 4, 130), 1), ((2, 7, 2203), 1), ((1, 1), 0), ((), 0), ((0, 5), 1),
          ((5, 0), 1), ((5, 0), 0)]  # fmt: skip


@pytest.mark.parametrize(("forward", "backward"), PAIRS)
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("change", [np.array, scattered, reversed_axes])
def test_against_float64(rng, dtype, forward, backward, shape, dim, change):
    if change is scattered and not shape:
        change = np.array
    x = (rng.standard_normal(shape) * 4).astype(dtype)
    x, grad = np.asarray(x), np.asarray(rng.standard_normal(shape).astype(dtype))
    bound = 4e-7 if dtype == np.float32 else 1e-15
    y, want = forward(change(x), dim), forward.reference(x.astype(np.float64), dim)
    assert y.dtype == dtype
    assert y.shape == shape
    assert (np.abs(y - want) <= bound * (1 + np.abs(want))).all()
    got = backward(change(grad), change(y), dim)
    want = backward.reference(grad.astype(np.float64), y.astype(np.float64), dim)
    scale = 1 + (np.abs(grad).sum(axis=dim, keepdims=True) if x.size else 0)
    assert (np.abs(got - want) <= 2 * bound * scale).all()


@compiled_only
@pytest.mark.parametrize("rows", [softmax.softmax_rows, softmax.log_softmax_rows])
def test_rows_do_not_depend_on_addresses(rng, dtype, rows):
    code, memory = rows.address(**floating_types(np.dtype(dtype))), np.zeros(500, dtype)
    for n in range(1, 40):
        values, found = rng.random((2, n)).astype(dtype), set()
        for at in [*range(201 - 4 * n, 201 - 2 * n), *range(200 + 2 * n, 201 + 4 * n)]:
            x, y = (memory[start : start + 2 * n].reshape(2, n) for start in (200, at))
            x[...] = values
            threads.run(threads.plan(code, 2, 2, [0, 0, 0, 0, n, 1]), None, y, x)
            found.add(y.tobytes())
        assert len(found) == 1


@pytest.mark.parametrize(("forward", "backward"), PAIRS)
@pytest.mark.parametrize("dim", [0, 1])
def test_special_values_agree_with_numpy(dtype, forward, backward, dim):
    rows = np.array(
        [
            [1, 2, np.nan, 4, 5],
            [1, -np.inf, 3, 4, 5],
            [-np.inf] * 5,
            [1, np.inf, 3, 4, 5],
            [1e30, 1e30, -1e30, 0, 0],
            [-1e4, -2e4, -1e4, -3e4, -1e4],
        ],
        dtype,
    )
    x = rows if dim == 1 else rows.T
    with np.errstate(invalid="ignore", divide="ignore"):
        want = forward.reference(x, dim)
    got = forward(x, dim)
    assert np.allclose(got, want, rtol=1e-6, atol=0, equal_nan=True)


@compiled_only
@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_low_precision_rounds_once(rng, kind):
    x = rng.standard_normal((5, 33)).astype(kind)
    want = softmax.softmax_forward(x.astype(np.float32), 1).astype(kind)
    assert np.array_equal(softmax.softmax_forward(x, 1), want)


def test_exponential_in_units_in_the_last_place(rng):
    x = np.linspace(-87, 0, 200_001, dtype=np.float32).reshape(-1, 1)
    # with a partner of 0, the ratio of the two results is exp(x)
    both = softmax.softmax_forward(np.concatenate([x, np.zeros_like(x)], 1), 1)
    exact = np.exp(x[:, 0].astype(np.float64))
    want = exact / (1 + exact)
    assert (np.abs(both[:, 0] - want) <= 4 * np.spacing(want.astype(np.float32))).all()


def test_same_bits_for_any_number_of_threads(rng, dtype):
    x = rng.standard_normal((257, 300)).astype(dtype)
    before, results = threads.get_num_threads(), []
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        results.append((softmax.softmax_forward(x, 1), softmax.log_softmax_forward(x, 0)))
    threads.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_errors():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(IndexError, match=r"dim 2 is out of range .* \(2, 3\)"):
        softmax.softmax_forward(x, 2)
    with pytest.raises(ValueError, match="grad has shape"):
        softmax.softmax_backward(x[:1], x, 1)


@compiled_only
def test_rows_of_every_length(rng, dtype):
    """Masked vectors neither read nor write beside a row."""
    bound = 4e-7 if dtype == np.float32 else 1e-15
    for n in (*range(1, 70), 100, 127, 128, 130, 255, 256, 257, 300, 321):
        memory = np.full(3 * n + 64, np.nan, dtype)
        x = memory[32 : 32 + 3 * n].reshape(3, n)
        x[...] = rng.standard_normal((3, n)) * 4
        x[1] = -np.inf if n > 1 else 0
        x[1, n // 2] = 2
        for forward, _ in PAIRS:
            got, want = forward(x, 1), forward.reference(x, 1)
            assert np.allclose(got, want, rtol=bound, atol=bound)
        x[2, n - 1] = np.nan
        assert np.isnan(softmax.softmax_forward(x, 1)).any(1).tolist() == [False, False, True]
        x[2, n - 1] = np.copysign(np.nan, -1)
        assert np.isnan(softmax.softmax_forward(x, 1)[2]).all()


@compiled_only
def test_columns_of_every_count(rng, dtype):
    """Neither a column's neighbours nor how many go together change it; NaN stays in its column."""
    x = rng.standard_normal((9, 2203)).astype(dtype) * 4
    grad = rng.standard_normal(x.shape).astype(dtype)
    for forward, backward in PAIRS:
        whole = forward(x, 0)
        change = backward(grad, whole, 0)
        for n in (*range(2, 70), 100, 127, 129, 255, 256, 257, 321, 1100):
            some = np.ascontiguousarray(x[:, -n:])
            assert np.array_equal(forward(some, 0), whole[:, -n:])
            found = backward(np.ascontiguousarray(grad[:, -n:]), forward(some, 0), 0)
            assert np.array_equal(found, change[:, -n:])
            for sign in (1, -1):
                some[3, n // 2] = np.copysign(np.nan, sign)
                wrong = np.isnan(forward(some, 0))
                assert wrong[:, n // 2].all()
                assert wrong.sum() == len(x)


@pytest.mark.parametrize(("forward", "backward"), PAIRS)
@pytest.mark.parametrize(("shape", "dim"), [*SHAPES, ((3, 5001), 1), ((5001, 3), 0)])
@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_half_width_is_rounded_once(rng, forward, backward, shape, dim, kind):
    x = np.asarray(rng.standard_normal(shape) * 4).astype(kind)
    grad = np.asarray(rng.standard_normal(shape)).astype(kind)
    y, want = forward(x, dim), forward(x.astype(np.float32), dim)
    assert y.dtype == kind
    # one rounding: where float32 results differ in their last place, that may end elsewhere
    last = 2.0**-11 if kind is np.float16 else 2.0**-8
    near = last * np.abs(want) * 1.01 + 2.0**-24
    assert (np.abs(y.astype(np.float32) - want) <= near).all()
    assert (y == want.astype(kind)).mean() > 0.99 if x.size else True
    got, wide = backward(grad, y, dim), backward(grad.astype(np.float32), y.astype(np.float32), dim)
    assert got.dtype == kind
    error = np.abs(got.astype(np.float32) - wide)
    assert (error <= last * np.abs(wide) * 1.01 + 1e-5 * math.sqrt(max(x.size, 1))).all()


@compiled_only
@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("forward", "backward"), PAIRS)
@pytest.mark.parametrize("dim", [0, 1])
def test_special_values_of_half_width(forward, backward, dim, kind):
    rows = np.array([[1, 2, np.nan, 4, 5], [1, -np.inf, 3, 4, 5], [-np.inf] * 5,
                     [1, np.inf, 3, 4, 5], [6e4, 6e4, -6e4, 0, 0],
                     [1e-7, 0, -0.0, 1, 2]])  # fmt: skip
    x = (rows if dim == 1 else rows.T).astype(kind)
    with np.errstate(all="ignore"):
        want = forward.reference(x.astype(np.float64), dim).astype(kind).astype(np.float64)
    assert np.allclose(forward(x, dim).astype(np.float64), want, 1e-2, 1e-6, equal_nan=True)
