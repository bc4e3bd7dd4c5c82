"""Cross-entropy kernels on the emulator, against formulas in float64."""

import numpy as np
import pytest
from kernel_cases import FLOAT32, FLOATS, both_orders, close, emulator_only, on_device, wide

from rushlight.kernels.losses import cuda
from rushlight.machine.cuda.runtime.emulated import LaunchFault

IGNORED = -100


def reference(x, target, weight, smoothing, grad):
    """Losses, log-sums, count and gradient for rows (N, C)."""
    x, rows, n = wide(x), len(x), x.shape[1]
    w = np.ones(n) if weight is None else wide(weight)
    best = x.max(1, keepdims=True)
    sums = (best + np.log(np.exp(x - best).sum(1, keepdims=True)))[:, 0]
    counts = target != IGNORED
    t = np.where(counts, target, 0)
    at = np.arange(rows)
    share = np.zeros((rows, n))
    share[at, t] = (1 - smoothing) * w[t]
    share += smoothing / n * w
    share *= counts[:, None]
    losses = (share * (sums[:, None] - x)).sum(1)
    softmax = np.exp(x - sums[:, None])
    dx = wide(grad)[:, None] * (share.sum(1, keepdims=True) * softmax - share)
    return losses, sums, (w[t] * counts).sum(), dx


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(6, 10), (5, 1000), (3, 7, 4, 5)], ids=str)
@pytest.mark.parametrize(("weighted", "smoothing"), [(False, 0.0), (True, 0.0), (True, 0.2)])
def test_cross_entropy(shape, dtype, weighted, smoothing):
    generator = np.random.default_rng(0)
    x = (generator.standard_normal(shape) * 3).astype(dtype)
    classes, samples = shape[1], (shape[0], *shape[2:])
    target = generator.integers(0, classes, samples)
    target.reshape(-1)[1] = IGNORED
    weight = generator.random(classes).astype(np.float32) if weighted else None
    grad = generator.standard_normal(samples).astype(dtype)
    rows = np.moveaxis(x, 1, -1).reshape(-1, classes)
    expected = reference(rows, target.reshape(-1), weight, smoothing, grad.reshape(-1))
    found = both_orders(
        lambda: cuda.cross_entropy_forward(*map(on_device, (x, target, weight)), IGNORED, smoothing)
    )
    close(found[0].reshape(-1), expected[0], dtype)
    close(found[1].reshape(-1), expected[1], FLOAT32)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-6)
    got = both_orders(
        lambda: cuda.cross_entropy_backward(
            *map(on_device, (grad, x, target, weight)), IGNORED, smoothing, on_device(found[1])
        )
    )
    close(np.moveaxis(got, 1, -1).reshape(-1, classes), expected[3], dtype, 2)


def test_one_sample_and_none():
    x = np.array([1.0, 2.0, 3.0], np.float32)
    loss, _, kept = both_orders(
        lambda: cuda.cross_entropy_forward(on_device(x), on_device(np.array(2)), None, -100, 0.0)
    )
    np.testing.assert_allclose(loss, np.log(np.exp(x - 3).sum()), rtol=1e-6)
    assert kept == 1
    empty = cuda.cross_entropy_forward(
        on_device(np.empty((0, 3), np.float32)), on_device(np.empty(0, np.int64)), None, -100, 0.0
    )
    assert empty[0].shape == (0,)


@emulator_only
def test_a_target_out_of_range_fails():
    x, target = np.zeros((2, 3), np.float32), np.array([0, 3])
    with pytest.raises(LaunchFault, match="cross_entropy_rows: __trap"):
        cuda.cross_entropy_forward(on_device(x), on_device(target), None, -100, 0.0)
