"""Recursive filters, transducers and alignments on the emulator, against the references of the
CPU's kernels."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import BFLOAT16, FLOAT32, FLOATS, both_orders, close, on_device, wide

import rushlight
from rushlight.kernels.losses import best_alignment, cuda_alignment, transducer
from rushlight.kernels.signal import cuda, recursion
from rushlight.ops._table.cuda import ran

DTYPES = (FLOAT32, np.dtype(np.float64), np.dtype(np.float16), BFLOAT16)
SHAPES = [(2, 3, 77), (1, 1, 1), (2, 1, 400), (0, 2, 9), (1, 2, 0)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("order", "taps"), [(3, 3), (1, 4), (6, 1), (40, 2)])
def test_filters(shape, order, taps, dtype):
    generator = np.random.default_rng(0)
    x = generator.standard_normal(shape).astype(dtype)
    a = (generator.standard_normal((shape[1], order)) * 0.9 / order).astype(dtype)
    b = generator.standard_normal((shape[1], taps)).astype(dtype)
    found = both_orders(lambda: cuda.filtered(*map(on_device, (x, a, b))))
    expected = recursion.filtered_reference(*map(wide, (x, a, b)))
    close(found, expected, dtype)


def test_a_filter_that_grows_beyond_all_numbers_leaves_silence_silent():
    x, a, b = np.zeros((1, 1, 4000)), np.array([[1.0, -3.0]]), np.ones((1, 1))
    x[..., 3990] = 1.0
    found = both_orders(lambda: cuda.filtered(*map(on_device, (x, a, b))))
    expected = np.zeros(4000)
    expected[3990:] = 3.0 ** np.arange(10)
    np.testing.assert_array_equal(found[0, 0], expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("backward", (False, True))
@pytest.mark.parametrize("least", (1, 9))
def test_feedback_that_changes(least, backward, dtype):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((3, 2, 90)).astype(dtype)
    gains = (generator.standard_normal((2, 90, 2)) * 0.3).astype(dtype)
    delays = generator.integers(least, least + 20, (2, 90, 2))
    arguments = x, gains, delays
    found = both_orders(lambda: cuda.fed_back(*map(on_device, arguments), backward))
    close(found, recursion.fed_back_reference(*map(wide, arguments), backward), dtype)


def labelled(generator, samples, steps, most, classes):
    """Labels from 1 on, some repeated, and lengths."""
    labels = generator.integers(1, classes, (samples, most))
    labels[0, 1] = labels[0, 0]
    lengths = np.array([most, 0, *generator.integers(1, most, samples - 2)])
    return labels, np.array([steps, 1, *generator.integers(most, steps, samples - 2)]), lengths


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("clamp", "fused"), [(-1.0, True), (0.05, True), (-1.0, False)])
def test_transducers(clamp, fused, dtype):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((4, 9, 6, 40)).astype(dtype)
    x = x if fused else (wide(x) - 4).astype(dtype)
    options = (*labelled(generator, 4, 9, 5, 40), 0, clamp, fused)
    costs, derivative = both_orders(lambda: cuda_alignment.transducer(on_device(x), *options))
    expected = transducer.transducer(wide(x), *options)
    close(costs, expected[0], dtype)
    close(derivative, expected[1], dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("steps", (150, 1100))
def test_best_paths(steps, dtype):
    generator = np.random.default_rng(0)
    # whole numbers, many of them equal: ties go the CPU's way
    x = generator.integers(-3, 3, (4, steps // 50 + 8, 6)).astype(dtype)
    given = (*labelled(generator, 4, x.shape[1], 5, 6), 0)
    found = both_orders(lambda: cuda_alignment.best_paths(on_device(x), *given))
    np.testing.assert_array_equal(found, best_alignment.best_paths_reference(wide(x), *given))


def both(function, *tensors):
    """Results and gradients on the CPU and on the device."""
    found = []
    for device in ("cpu", "cuda"):
        leaves = [each.to(device).requires_grad_(each.is_floating_point()) for each in tensors]
        result = function(*leaves)
        assert result.device.type == device
        wanted = [each for each in leaves if each.requires_grad]
        steps = rushlight.linspace(0.5, 1.5, result.numel(), dtype=result.dtype, device=device)
        gradients = rushlight.autograd.grad((result.flatten() * steps).sum(), wanted)
        found.append([each.cpu() for each in (result, *gradients)])
    for ours, expected in zip(*found, strict=True):
        rushlight.testing.assert_close(ours, expected)


def test_tensors_stay_on_the_device():
    rushlight.manual_seed(0)
    x, a, b = rushlight.randn(2, 50), rushlight.tensor([1.0, -0.4, 0.2]), rushlight.randn(2)
    both(rushlight.signal.recursive_filter, x, a, b)
    delays = rushlight.randint(1, 9, (2, 50, 2))
    both(rushlight.signal.varying_feedback, x, 0.3 * rushlight.randn(2, 50, 2), delays)
    labels, steps, lengths = map(rushlight.tensor, ([[1, 2], [3, 3]], [5, 3], [2, 1]))
    logits = rushlight.randn(2, 5, 3, 4)
    both(lambda x: rushlight.signal.transducer_loss(x, labels, steps, lengths, 0), logits)
    scores = rushlight.randn(2, 5, 4)
    path = rushlight.signal.ctc_alignment(scores.cuda(), labels.cuda(), steps, lengths)
    assert path.is_cuda
    expected = rushlight.signal.ctc_alignment(scores, labels, steps, lengths)
    assert path.cpu().tolist() == expected.tolist()
    for name in ("recursive_filter", "varying_feedback", "transducer_loss", "ctc_alignment"):
        assert ran["handwritten"]["_" + name] > 0 and not ran["array code"]["_" + name]


def test_second_gradients_on_the_device():
    logits = rushlight.randn(1, 3, 2, 4, dtype=rushlight.float64)
    counts = rushlight.tensor([[1]]), rushlight.tensor([3]), rushlight.tensor([1])
    found = []
    for device in ("cpu", "cuda"):
        x = logits.to(device).requires_grad_()
        loss = rushlight.signal.transducer_loss(x, *counts, 0)
        (first,) = rushlight.autograd.grad(loss, x, create_graph=True)
        found.append(rushlight.autograd.grad(first.square().sum(), x)[0].cpu())
    rushlight.testing.assert_close(*found)
