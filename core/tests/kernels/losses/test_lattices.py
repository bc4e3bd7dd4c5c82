"""The kernels of transducers and best paths against their references."""

import numpy as np
import pytest

from rushlight.kernels.losses import best_alignment, transducer


def batch(steps=7, width=4, classes=9, samples=4, seed=0, dtype=np.float64):
    random = np.random.default_rng(seed)
    scores = random.standard_normal((samples, steps, width + 1, classes)).astype(dtype)
    labels = random.integers(0, classes - 1, (samples, width))
    inputs, targets = random.integers(1, steps + 1, samples), random.integers(0, width + 1, samples)
    inputs[0], targets[0], inputs[1], targets[1] = steps, width, 1, 0
    return scores, labels, inputs, targets


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("clamp", [-1.0, 0.1])
@pytest.mark.parametrize("steps, width, classes", [(7, 4, 9), (3, 12, 5), (40, 25, 70), (1, 1, 2)])
def test_kernel_agrees_with_the_reference(steps, width, classes, clamp, fused, dtype):
    scores, *labelled = batch(steps, width, classes, dtype=dtype)
    if not fused:
        scores -= np.log(np.exp(scores).sum(-1, keepdims=True))
    options = classes - 1, clamp, fused
    expected = transducer.transducer(scores, *labelled, *options)
    found = transducer.transducer_compiled(scores, *labelled, *options, True)
    if found is None:
        pytest.skip("there is no kernel then")
    tolerance = 1e-5 if dtype is np.float32 else 1e-11
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance / 10)
    alone = transducer.transducer_compiled(scores, *labelled, *options, False)
    np.testing.assert_array_equal(alone, found[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("precision", [1, 2, 1e6])  # coarse numbers are often equal
def test_best_paths_agree_with_the_reference(precision, dtype):
    random = np.random.default_rng(0)
    for _ in range(20):
        scores = random.standard_normal((5, 14, 6))
        scores = (np.round(scores * precision) / precision).astype(dtype)
        labels = random.integers(1, 6, (5, 6))
        inputs, targets = np.array([14, 12, 11, 1, 7]), np.array([6, 5, 1, 0, 3])
        given = scores, labels, inputs, targets, 0
        expected = best_alignment.best_paths_reference(*given)
        np.testing.assert_array_equal(best_alignment.best_paths(*given), expected)
