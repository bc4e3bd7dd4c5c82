"""The gradient of connectionist temporal classification written with ops, for ``create_graph``.

The kernel gives the derivative as plain numbers. Where that must have derivatives of its own, the
forward-backward algorithm runs here step by step in float64, all samples of a batch together.
Impossible states have :data:`LOWEST` for minus infinity: differences of it are numbers, and so are
all derivatives.
"""

from __future__ import annotations

from rushlight.dtypes import float64
from rushlight.kernels.losses.alignment import labelled_states
from rushlight.machine import np
from rushlight.ops.creation.tensors import beside, full, zeros
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.neural.softmax import logsumexp, softmax
from rushlight.ops.shape.joining import cat, stack

LOWEST = -1e300  # a path of 1e8 such steps is still finite in float64


def _sources(skips, step):
    """Which states lead to each, (3, N, M): itself, the next one in the direction `step`, and the
    one behind it where `skips`; M, which stands for none, elsewhere."""
    samples, count = skips.shape
    states = np.arange(count)
    found = np.stack([states, states - step, states - 2 * step])
    found[(found < 0) | (found >= count)] = count
    found = np.repeat(found[:, None], samples, 1)
    found[2][~skips] = count
    return found


def _advanced(last, sources, none):
    """The log-probabilities (N, M) of arriving in each state from those that lead to it."""
    padded = cat([last, none], 1)
    return logsumexp(padded.expand(3, *padded.shape).gather(2, sources), 0)


def _alphas(emissions, skips):
    """Log-probabilities (T, N, M) of all beginnings of paths that end in a state at a step."""
    first = emissions[0]
    none = full((first.shape[0], 1), LOWEST, dtype=float64, device=first.device)
    sources = beside(first, _sources(skips, 1))
    begins = beside(first, np.arange(first.shape[1]) < 2)
    found = [where(begins, first, LOWEST)]
    for emission in emissions[1:]:
        found.append(_advanced(found[-1], sources, none) + emission)
    return stack(found)


def _betas(emissions, skips, input_lengths, target_lengths):
    """The same (T, N, M) of all endings that begin there, what is emitted there not counted."""
    first = emissions[0]
    none = full((first.shape[0], 1), LOWEST, dtype=float64, device=first.device)
    ahead = np.zeros_like(skips)
    ahead[:, :-2] = skips[:, 2:]
    sources = beside(first, _sources(ahead, -1))
    ends, states = 2 * target_lengths[:, None], np.arange(first.shape[1])
    ends = np.where((states == ends) | (states == ends - 1), 0.0, LOWEST)
    found, ends = [], beside(first, ends)
    for t in range(len(emissions) - 1, -1, -1):
        here = ends
        if found:
            later = _advanced(found[-1] + emissions[t + 1], sources, none)
            last = beside(first, (t >= input_lengths - 1)[:, None])
            here = where(last, ends, later)
        found.append(here)
    return stack(found[::-1])


def derivative(log_probs, labels, input_lengths, target_lengths, blank):
    """``exp(log_probs) - posterior`` (T, N, C) in float64, zero past each length, and which samples
    (N, 1) have an alignment; `labels` are (N, S)."""
    states, skips = labelled_states(labels, blank)
    steps, samples, classes = log_probs.shape
    wide = log_probs.double().clamp(min=LOWEST)
    places = beside(log_probs, states).expand(steps, *states.shape)
    emissions = wide.gather(2, places)
    paths = _alphas(emissions, skips) + _betas(emissions, skips, input_lengths, target_lengths)
    none = zeros((steps, samples, classes), dtype=float64, device=log_probs.device)
    posterior = none.scatter_add(2, places, softmax(paths, 2))
    possible = paths[0].detach().amax(1, True) > LOWEST / 2
    counts = beside(log_probs, np.arange(steps)[:, None, None] < input_lengths[:, None])
    return where(counts, wide.exp() - posterior, 0.0), possible
