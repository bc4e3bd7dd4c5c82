"""Cross-entropy against float64 and the oracle."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.losses import cross_entropy as losses
from rushlight.machine import threads

SHAPES = [(64, 10), (5, 1000), (4, 7, 3, 5), (3, 2, 11), (6,), (0, 4), (1, 1)]


def problem(rng, shape, dtype, weighted):
    x = (rng.standard_normal(shape) * 3).astype(dtype)
    samples = () if len(shape) == 1 else (shape[0], *shape[2:])
    classes = shape[0] if len(shape) == 1 else shape[1]
    target = np.asarray(rng.integers(0, classes, samples), np.int64)
    if target.size > 2:
        target.reshape(-1)[1] = -100
    weight = rng.random(classes).astype(dtype) if weighted else None
    return x, target, weight


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_against_float64(rng, dtype, shape, weighted, smoothing):
    x, target, weight = problem(rng, shape, dtype, weighted)
    args = (target, weight, -100, smoothing)
    bound = 1e-5 if dtype == np.float32 else 1e-13
    loss, sums, kept = losses.cross_entropy_forward(x, *args)
    wide = x.astype(np.float64)
    want, want_sums, want_kept = losses.cross_entropy_forward.reference(wide, *args)
    assert kept.shape == () and np.allclose(kept, want_kept, rtol=1e-6)
    assert loss.dtype == dtype
    assert loss.shape == target.shape == sums.shape
    assert np.allclose(loss, want, rtol=bound, atol=bound)
    assert np.allclose(sums, want_sums, rtol=bound, atol=bound)
    grad = np.asarray(rng.standard_normal(target.shape), dtype)
    got = losses.cross_entropy_backward(grad, x, *args, sums)
    want = losses.cross_entropy_backward.reference(grad, wide, *args, want_sums)
    assert got.dtype == dtype
    assert np.allclose(got, want, rtol=bound, atol=bound)


@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_oracle(rng, shape, weighted, smoothing):
    torch = pytest.importorskip("torch")
    x, target, weight = problem(rng, shape, np.dtype(np.float32), weighted)
    tx = torch.tensor(x, requires_grad=True)
    want = torch.nn.functional.cross_entropy(
        tx,
        torch.tensor(target),
        None if weight is None else torch.tensor(weight),
        reduction="none",
        label_smoothing=smoothing,
    )
    want.sum().backward()
    loss, sums, _ = losses.cross_entropy_forward(x, target, weight, -100, smoothing)
    assert np.allclose(loss, want.detach().numpy(), atol=1e-5)
    got = losses.cross_entropy_backward(
        np.ones_like(loss), x, target, weight, -100, smoothing, sums
    )
    assert np.allclose(got, tx.grad.numpy(), atol=1e-5)


def test_strided_and_low_precision(rng):
    x, target, _ = problem(rng, (20, 15), np.dtype(np.float32), False)
    loss, sums, _ = losses.cross_entropy_forward(x, target, None, -100, 0.0)
    other, *_ = losses.cross_entropy_forward(np.ascontiguousarray(x.T).T, target, None, -100, 0.0)
    assert np.array_equal(loss, other)
    low = x.astype(ml_dtypes.bfloat16)
    got, *_ = losses.cross_entropy_forward(low, target, None, -100, 0.0)
    want, *_ = losses.cross_entropy_forward(low.astype(np.float32), target, None, -100, 0.0)
    assert got.dtype == low.dtype
    assert np.array_equal(got, want.astype(low.dtype))


def test_nan_and_other_ignored_index(rng):
    x = np.zeros((3, 4), np.float32)
    x[1, 2] = np.nan
    target = np.array([0, 1, 3], np.int64)
    loss, sums, _ = losses.cross_entropy_forward(x, target, None, 3, 0.0)
    assert np.isnan(loss[1])
    assert np.isfinite(loss[0])
    assert loss[2] == 0
    grad = losses.cross_entropy_backward(np.ones(3, "f"), x, target, None, 3, 0.0, sums)
    assert np.isnan(grad[1]).all()
    assert np.array_equal(grad[2], np.zeros(4))


@pytest.mark.parametrize("bad", [12, -1])
def test_target_out_of_bounds(bad):
    x, target = np.zeros((3, 4), np.float32), np.array([0, bad, 2], np.int64)
    with pytest.raises(IndexError, match=rf"^Target {bad} is out of bounds\.$"):
        losses.cross_entropy_forward(x, target, None, -100, 0.0)
    with pytest.raises(IndexError, match=rf"^Target {bad} is out of bounds\.$"):
        losses.cross_entropy_forward.reference(x, target, None, -100, 0.0)


def test_shape_errors():
    x, target = np.zeros((3, 4), np.float32), np.zeros(4, np.int64)
    with pytest.raises(ValueError, match=r"expects target of shape \(3,\), got \(4,\)"):
        losses.cross_entropy_forward(x, target, None, -100, 0.0)
    with pytest.raises(ValueError, match="one value for each of 4 classes"):
        losses.cross_entropy_forward(x, target[:3], np.ones(3, np.float32), -100, 0.0)


def test_same_bits_for_any_number_of_threads(rng):
    x, target, _ = problem(rng, (1000, 100), np.dtype(np.float32), False)
    before, results = threads.get_num_threads(), []
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        loss, sums, _ = losses.cross_entropy_forward(x, target, None, -100, 0.1)
        results.append(losses.cross_entropy_backward(loss, x, target, None, -100, 0.1, sums))
    threads.set_num_threads(before)
    assert all(np.array_equal(results[0], other) for other in results)


@pytest.mark.skipif(REFERENCE, reason="the reference has no short way")
@pytest.mark.parametrize("shape", [(64, 10), (5, 1000), (1, 1), (7, 65)])
@pytest.mark.parametrize("ignored", [-100, 0])
def test_gradient_of_the_mean_by_one_call(rng, dtype, shape, ignored):
    x, target, _ = problem(rng, shape, dtype, False)
    target[target == -100] = ignored
    _, sums, kept = losses.cross_entropy_forward(x, target, None, ignored, 0.0)
    target[0] = 1 << 40  # an error on the way forward; nothing is written there on the way back
    grad = np.asarray(1.7, dtype)
    for _ in range(3):
        found = losses.mean_backward(grad, x, target, sums, kept, ignored)
        with np.errstate(all="ignore"):
            scales = np.full(target.shape, grad / kept, dtype)
        want = losses.cross_entropy_backward(scales, x, target, None, ignored, 0.0, sums)
        assert found.dtype == dtype and np.array_equal(found, want, equal_nan=True)


def test_gradients_of_other_means_go_the_general_way(rng):
    x, target, _ = problem(rng, (6, 4), np.float32, False)
    _, sums, kept = losses.cross_entropy_forward(x, target, None, -100, 0.0)
    grad = np.float32(1).reshape(())
    assert losses.mean_backward(grad, x.T.copy().T, target, sums, kept, -100) is None
    assert losses.mean_backward(grad, x.astype(np.float16), target, sums, kept, -100) is None
    assert losses.mean_backward(grad.astype(np.float64), x, target, sums, kept, -100) is None
    assert losses.mean_backward(np.ones(6, np.float32), x, target, sums, kept, -100) is None
