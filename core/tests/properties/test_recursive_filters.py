"""Filters with feedback, transducers and best paths of any size, against their references."""

from __future__ import annotations

import numpy as np
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st

from rushlight.kernels.losses import best_alignment, transducer
from rushlight.kernels.signal import recursion

SEEDS = st.integers(0, 2**32 - 1)
DTYPES = st.sampled_from((np.float32, np.float64))


def near(found, expected, dtype, scale):
    tolerance = (2e-6 if dtype is np.float32 else 1e-12) * scale
    np.testing.assert_allclose(found, expected, tolerance, tolerance)


@given(
    st.integers(0, 3), st.integers(1, 4), st.integers(0, 2100), st.integers(1, 9),
    st.integers(1, 9), DTYPES, SEEDS,
)  # fmt: skip
@examples(60)
def test_filters(rows, channels, length, order, taps, dtype, seed):
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, channels, length)).astype(dtype)
    a = (random.uniform(-1, 1, (channels, order)) / order).astype(dtype)
    b = random.standard_normal((channels, taps)).astype(dtype)
    found = recursion.filtered(x, a, b)
    near(found, recursion.filtered_reference(x, a, b), dtype, 30.0 * taps)


@given(
    st.integers(0, 3), st.integers(1, 3), st.integers(0, 300), st.integers(1, 4), st.booleans(),
    DTYPES, SEEDS,
)  # fmt: skip
@examples(40)
def test_delayed_feedback(rows, channels, length, terms, backward, dtype, seed):
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, channels, length)).astype(dtype)
    gains = (random.uniform(-0.9, 0.9, (channels, length, terms)) / terms).astype(dtype)
    delays = random.integers(1, length + 3, (channels, length, terms))
    found = recursion.fed_back(x, gains, delays, backward)
    near(found, recursion.fed_back_reference(x, gains, delays, backward), dtype, 100.0)


@given(
    st.integers(1, 3), st.integers(1, 30), st.integers(0, 20), st.integers(2, 40), st.booleans(),
    DTYPES, SEEDS,
)  # fmt: skip
@examples(40)
def test_transducers(samples, steps, width, classes, fused, dtype, seed):
    random = np.random.default_rng(seed)
    scores = (3 * random.standard_normal((samples, steps, width + 1, classes))).astype(dtype)
    if not fused:
        scores -= np.log(np.exp(scores).sum(-1, keepdims=True))
    labels = random.integers(0, classes, (samples, width))
    lengths = random.integers(1, steps + 1, samples), random.integers(0, width + 1, samples)
    options = int(random.integers(classes)), 0.0, fused
    found = transducer.transducer_compiled(scores, labels, *lengths, *options, True)
    expected = transducer.transducer(scores, labels, *lengths, *options)
    for ours, theirs in zip(found or expected, expected, strict=True):
        near(ours, theirs, dtype, 10.0)


@given(
    st.integers(1, 3), st.integers(1, 40), st.integers(0, 12), st.integers(2, 9),
    st.sampled_from((1.0, 4.0, 1e6)), DTYPES, SEEDS,
)  # fmt: skip
@examples(60)
def test_best_paths(samples, steps, width, classes, precision, dtype, seed):
    random = np.random.default_rng(seed)
    scores = np.round(random.standard_normal((samples, steps, classes)) * precision) / precision
    labels = random.integers(1, classes, (samples, width))
    targets = random.integers(0, width + 1, samples)
    pairs = zip(labels, targets, strict=True)
    repeats = [int((row[1:n] == row[: max(n - 1, 0)]).sum()) for row, n in pairs]
    least = np.minimum(targets + repeats, steps)
    targets = np.where(targets + repeats > steps, 0, targets)
    inputs = np.maximum(least, random.integers(0, steps + 1, samples))
    given = scores.astype(dtype), labels, inputs, targets, 0
    expected = best_alignment.best_paths_reference(*given)
    np.testing.assert_array_equal(best_alignment.best_paths(*given), expected)
