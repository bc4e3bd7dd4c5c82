"""Batch and layer normalisation against float64 and the oracle."""

from __future__ import annotations

import importlib
import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from layouts import reversed_axes, scattered  # noqa: E402

from rushlight.kernels.launch.execution import REFERENCE  # noqa: E402
from rushlight.kernels.normalization import batch_and_layer as normalization  # noqa: E402
from rushlight.machine import threads  # noqa: E402

compiled_only = pytest.mark.skipif(REFERENCE, reason="the reference computes in float64")

SHAPES = [
    # channels that are not divided: blocks of columns, with a rest, and planes
    (9, 300),
    (40, 70, 2, 2),
    (3, 23, 5, 5),
    (2, 261, 3),
    (3, 20, 7, 9),
    (6, 5),
    (4, 3, 7),
    (3, 20, 5, 7),
    (2, 1, 3, 4, 5),
    (9, 33, 1, 1),
    (2, 2, 90, 100),
    (1, 3, 8),
]


def batch_problem(rng, shape, dtype, affine):
    # a large mean: the variance must not be a difference of large numbers
    x = (rng.standard_normal(shape) * 2 + 30).astype(dtype)
    weight, bias = (rng.standard_normal(shape[1]).astype(dtype) for _ in range(2))
    return x, *((weight, bias) if affine else (None, None))


def close(got, want, bound):
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    return got.shape == want.shape and (np.abs(got - want) <= bound * scale).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("change", [np.array, scattered, reversed_axes])
def test_batch_norm(rng, dtype, shape, affine, change):
    x, weight, bias = batch_problem(rng, shape, dtype, affine)
    bound = 2e-5 if dtype == np.float32 else 1e-11
    out, mean, invstd = normalization.batch_norm_train_forward(change(x), weight, bias, 1e-5)
    wide = x.astype(np.float64)
    want, want_mean, want_invstd = normalization.batch_norm_train_forward.reference(
        wide, weight, bias, 1e-5
    )
    assert out.dtype == mean.dtype == invstd.dtype == dtype
    assert close(out, want, bound)
    assert close(mean, want_mean, bound)
    assert close(invstd, want_invstd, bound)
    grad = rng.standard_normal(shape).astype(dtype)
    got = normalization.batch_norm_train_backward(change(grad), change(x), weight, mean, invstd)
    want = normalization.batch_norm_train_backward.reference(
        grad, wide, weight, want_mean, want_invstd
    )
    assert all(close(a, b, bound * 10) for a, b in zip(got, want, strict=True))
    var = rng.random(shape[1]).astype(dtype) + 0.1
    got = normalization.batch_norm_eval(change(x), weight, bias, mean, var, 1e-5)
    want = normalization.batch_norm_eval.reference(wide, weight, bias, mean, var, 1e-5)
    assert close(got, want, bound)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("rectified", [1, 6])
def test_rectified_batch_norm(rng, dtype, shape, affine, rectified):
    """What comes out is that of the separate steps, bit for bit, and so is the gradient's mask."""
    x, weight, bias = batch_problem(rng, shape, dtype, affine)
    weight = None if weight is None else 4 * weight
    plain, mean, invstd = normalization.batch_norm_train_forward(x, weight, bias, 1e-5)
    out, *_ = normalization.batch_norm_train_forward(x, weight, bias, 1e-5, rectified)
    assert np.array_equal(out, np.clip(plain, 0, 6 if rectified == 6 else None))
    grad = rng.standard_normal(shape).astype(dtype)
    passed = np.where((plain <= 0) | ((rectified == 6) & (plain >= 6)), 0, grad)
    got = normalization.batch_norm_train_backward(grad, x, weight, mean, invstd, bias, rectified)
    want = normalization.batch_norm_train_backward(passed, x, weight, mean, invstd)
    bound = 2e-5 if dtype == np.float32 else 1e-11
    assert all(close(a, b, bound) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize(("size", "leading"), [(768, (5, 3)), (1, (7,)), (10, (64,)), (33, (0,)),
                                               (5000, (3,)), (64, ())])  # fmt: skip
@pytest.mark.parametrize("affine", ["both", "weight", "none", "bias"])
def test_layer_norm(rng, dtype, size, leading, affine):
    x = (rng.standard_normal((*leading, size)) + 20).astype(dtype)
    weight = rng.standard_normal(size).astype(dtype) if affine in ("both", "weight") else None
    bias = rng.standard_normal(size).astype(dtype) if affine in ("both", "bias") else None
    bound = 2e-5 if dtype == np.float32 else 1e-11
    wide = x.astype(np.float64)
    out, mean, rstd = normalization.layer_norm_forward(scattered(x), size, weight, bias, 1e-5)
    want = normalization.layer_norm_forward.reference(wide, size, weight, bias, 1e-5)
    if size == 1:  # the variance is rounding noise: compare what it multiplies
        bound = 1e-2 if dtype == np.float32 else 1e-6
    assert out.dtype == dtype
    assert all(close(a, b, bound) for a, b in zip((out, mean, rstd), want, strict=True))
    grad = rng.standard_normal(x.shape).astype(dtype)
    got = normalization.layer_norm_backward(scattered(grad), x, weight, mean, rstd, size)
    want = normalization.layer_norm_backward.reference(grad, wide, weight, *want[1:], size)
    assert all(close(a, b, bound * 10) for a, b in zip(got, want, strict=True))


def test_layer_norm_over_two_dims(rng):
    x = rng.standard_normal((4, 3, 5)).astype(np.float32)
    weight = rng.standard_normal((3, 5)).astype(np.float32)
    out, mean, _ = normalization.layer_norm_forward(x, 15, weight, None, 1e-5)
    want, _, _ = normalization.layer_norm_forward.reference(x, 15, weight, None, 1e-5)
    assert mean.shape == (4,)
    assert np.allclose(out, want, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_oracle(rng, shape):
    torch = pytest.importorskip("torch")
    x, weight, bias = batch_problem(rng, shape, np.float32, True)
    grad = rng.standard_normal(shape).astype(np.float32)
    tensors = [torch.tensor(v.astype(np.float64), requires_grad=True) for v in (x, weight, bias)]
    y = torch.nn.functional.batch_norm(tensors[0], None, None, *tensors[1:], training=True)
    y.backward(torch.tensor(grad.astype(np.float64)))
    out, mean, invstd = normalization.batch_norm_train_forward(x, weight, bias, 1e-5)
    assert close(out, y.detach().numpy(), 2e-5)
    got = normalization.batch_norm_train_backward(grad, x, weight, mean, invstd)
    for a, tensor in zip(got, tensors, strict=True):
        assert close(a, tensor.grad.numpy(), 2e-4)
    size = shape[-1]
    tensors = [torch.tensor(v.astype(np.float64), requires_grad=True)
               for v in (x, np.linspace(1, 2, size), np.linspace(0, 1, size))]  # fmt: skip
    y = torch.nn.functional.layer_norm(tensors[0], (size,), *tensors[1:])
    y.backward(torch.tensor(grad.astype(np.float64)))
    row = [t.detach().numpy().astype(np.float32) for t in tensors[1:]]
    out, mean, rstd = normalization.layer_norm_forward(x, size, *row, 1e-5)
    if size > 1:
        assert close(out, y.detach().numpy(), 2e-4)
        got = normalization.layer_norm_backward(grad, x, row[0], mean, rstd, size)
        for a, tensor in zip(got, tensors, strict=True):
            assert close(a, tensor.grad.numpy(), 2e-3)


@compiled_only
@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_low_precision_rounds_once(rng, kind):
    x = rng.standard_normal((4, 3, 5)).astype(kind)
    out, mean, _ = normalization.batch_norm_train_forward(x, None, None, 1e-5)
    want, _, _ = normalization.batch_norm_train_forward(x.astype(np.float32), None, None, 1e-5)
    assert mean.dtype == np.float32
    assert np.array_equal(out, want.astype(kind))
    out, _, _ = normalization.layer_norm_forward(x, 5, None, None, 1e-5)
    want, _, _ = normalization.layer_norm_forward(x.astype(np.float32), 5, None, None, 1e-5)
    assert np.array_equal(out, want.astype(kind))


def test_nan_stays_in_its_channel_or_row():
    x = np.ones((2, 3, 4), np.float32)
    x[0, 1, 2] = np.nan
    out, _, _ = normalization.batch_norm_train_forward(x, None, None, 1e-5)
    assert np.isnan(out[:, 1]).all()
    assert np.isfinite(out[:, [0, 2]]).all()
    out, _, _ = normalization.layer_norm_forward(x, 4, None, None, 1e-5)
    assert np.isnan(out[0, 1]).all()
    assert np.isfinite(out[1]).all()


def test_same_bits_for_any_number_of_threads(rng):
    x, weight, bias = batch_problem(rng, (24, 6, 40, 40), np.float32, True)
    rows = rng.standard_normal((999, 300)).astype(np.float32)
    before, results = threads.get_num_threads(), []
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        out, mean, invstd = normalization.batch_norm_train_forward(x, weight, bias, 1e-5)
        batch = normalization.batch_norm_train_backward(out, x, weight, mean, invstd)
        y, m, r = normalization.layer_norm_forward(rows, 300, None, None, 1e-5)
        results.append((*batch, *normalization.layer_norm_backward(y, rows, None, m, r, 300)))
    threads.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_errors():
    x = np.zeros((2, 3, 4), np.float32)
    with pytest.raises(ValueError, match="weight must have one value for each of 3 channels"):
        normalization.batch_norm_train_forward(x, np.ones(2, np.float32), None, 1e-5)
    with pytest.raises(ValueError, match="needs values"):
        normalization.batch_norm_train_forward(x[:0], None, None, 1e-5)
    with pytest.raises(ValueError, match="does not divide"):
        normalization.layer_norm_forward(x, 5, None, None, 1e-5)
    with pytest.raises(ValueError, match="expected 4"):
        normalization.layer_norm_forward(x, 4, np.ones(3, np.float32), None, 1e-5)
    assert normalization.batch_norm_eval(x[:0], None, None, np.zeros(3, "f"), np.ones(3, "f"),
                                         1e-5).shape == (0, 3, 4)  # fmt: skip


@compiled_only
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("given", range(4))
def test_small_batches_are_those_of_the_large_way(rng, dtype, shape, given):
    small = importlib.import_module("rushlight.kernels.normalization.small")
    x, weight, bias = batch_problem(rng, shape, dtype, True)
    weight, bias = (row if given >> i & 1 else None for i, row in enumerate((weight, bias)))
    mean, var = rng.standard_normal(shape[1]).astype(dtype), rng.random(shape[1]).astype(dtype) + 1
    for _ in range(2):
        got = small.batch_train(x, weight, bias, 1e-5)
        inferred = small.batch_eval(x, weight, bias, mean, var, 1e-3)
    want = normalization.batch_norm_eval(x, weight, bias, mean, var, 1e-3)
    assert close(inferred, want, 2e-5 if dtype == np.float32 else 1e-11)
    if x.size > small.MOST:
        assert got is None
        return
    want = normalization.batch_norm_train_forward(x, weight, bias, 1e-5)
    assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
    assert small.batch_train(x.T, weight, bias, 1e-5) is None
    wide = np.zeros(2 * shape[1], dtype)[::2]
    assert shape[1] == 1 or small.batch_train(x, wide, bias, 1e-5) is None
    assert small.batch_eval(x, weight, bias, mean.astype(np.float16), var, 1e-3) is None


@compiled_only
def test_running_statistics_by_one_call(rng, dtype):
    small = importlib.import_module("rushlight.kernels.normalization.small")
    running, mean, invstd = rng.random((2, 9)).astype(dtype), *rng.random((2, 9)).astype(dtype) + 1
    before, count = running.astype(np.float64), 12
    assert small.fold(*running, mean, invstd, 0.3, 1e-5, count)
    assert close(running[0], before[0] * 0.7 + 0.3 * mean, 1e-6)
    variance = (1 / invstd.astype(np.float64) ** 2 - 1e-5) * count / (count - 1)
    assert close(running[1], before[1] * 0.7 + 0.3 * variance, 1e-6)
    kept = running.copy()
    assert not small.fold(running[0], running[1], mean, invstd, None, 1e-5, count)
    assert not small.fold(running[0, ::2], running[1, ::2], mean[:5], invstd[:5], 0.1, 0.0, count)
    running.flags.writeable = False
    assert not small.fold(*running, mean, invstd, 0.3, 1e-5, count)
    assert np.array_equal(running, kept)


@compiled_only
def test_short_rows(rng, dtype):
    bound = 4e-6 if dtype == np.float32 else 1e-13
    for n in (*range(1, 40), 63, 64, 65, 255, 256, 257):
        rows = (3, 16, 17, 35)[n % 4]
        x, (weight, bias) = rng.standard_normal((rows, n)).astype(dtype), rng.random((2, n), dtype)
        for row, other in ((weight, bias), (weight, None), (None, bias), (None, None)):
            got = normalization.layer_norm_forward(x, n, row, other, 1e-2)
            want = normalization.layer_norm_forward.reference(x, n, row, other, 1e-2)
            assert all(close(a, b, bound) for a, b in zip(got, want, strict=True))
