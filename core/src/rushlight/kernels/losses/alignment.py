"""The forward-backward algorithm of connectionist temporal classification, in float64.

Labels are interleaved with blanks; ``alpha[t, s]`` and ``beta[t, s]`` are the log-probabilities of
all beginnings that end, and of all endings that begin, in state s at step t. (Graves et al., 2006,
section 4.1.) In the reference all samples of a batch advance together; the compiled kernel does
sample by sample, with probabilities whose exponents are kept apart instead of logarithms.
"""

from __future__ import annotations

import ctypes

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.indexing.indices import failures
from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import Remembered, called, prepared
from rushlight.machine import np

__all__ = ["ctc", "ctc_compiled", "labelled_states"]

_INT64 = np.dtype(np.int64)
_STATE_WORK = 20  # units of work of a state and step


def labelled_states(labels, blank):
    """Labels with blanks around each (N, 2S + 1), and where a blank may be skipped."""
    batch, count = labels.shape
    states = np.full((batch, 2 * count + 1), blank, np.int64)
    states[:, 1::2] = labels
    skips = np.zeros(states.shape, bool)
    skips[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    return states, skips


def _shifted(values, by):
    """Values moved `by` states to the right (left if negative), minus infinity moved in."""
    out = np.full(values.shape, -np.inf)
    if abs(by) < values.shape[1]:
        if by > 0:
            out[:, by:] = values[:, :-by]
        else:
            out[:, :by] = values[:, -by:]
    return out


def _beginnings(emissions, skips):
    alpha = np.full(emissions.shape, -np.inf)
    if len(emissions):
        alpha[0, :, :2] = emissions[0, :, :2]
    for t in range(1, len(emissions)):
        last = alpha[t - 1]
        jump = np.where(skips, _shifted(last, 2), -np.inf)
        alpha[t] = np.logaddexp(np.logaddexp(last, _shifted(last, 1)), jump) + emissions[t]
    return alpha


def _endings(emissions, skips, input_lengths, target_lengths):
    beta = np.full(emissions.shape, -np.inf)
    states = np.arange(emissions.shape[2])
    final = (states == 2 * target_lengths[:, None]) | (states == 2 * target_lengths[:, None] - 1)
    reach = states <= 2 * target_lengths[:, None]
    jumps = np.zeros(skips.shape, bool)
    jumps[:, :-2] = skips[:, 2:]
    last = np.full(emissions.shape[1:], -np.inf)
    for t in range(len(emissions) - 1, -1, -1):
        jump = np.where(jumps, _shifted(last, -2), -np.inf)
        found = np.logaddexp(np.logaddexp(last, _shifted(last, -1)), jump)
        ends = (t == input_lengths - 1)[:, None]
        found = np.where(ends, np.where(final, 0.0, -np.inf), found) + emissions[t]
        last = beta[t] = np.where(reach, found, -np.inf)
    return beta


def ctc(log_probs, labels, input_lengths, target_lengths, blank):
    """Losses (N,) of float64 (T, N, C), and ``exp(log_probs) - posterior`` (T, N, C): the
    derivative with respect to scores whose log-softmax `log_probs` is; zero past each length."""
    steps, batch, classes = log_probs.shape
    states, skips = labelled_states(labels, blank)
    with np.errstate(all="ignore"):
        wide = np.broadcast_to(states, (steps, *states.shape))
        emissions = np.take_along_axis(log_probs, wide, 2)
        alpha = _beginnings(emissions, skips)
        beta = _endings(emissions, skips, input_lengths, target_lengths)
        losses = _losses(alpha, input_lengths, target_lengths)
        paths = alpha + beta
        posterior = np.exp(paths + losses[:, None] - emissions)
        impossible = np.isneginf(paths) & np.isfinite(losses)[:, None]
        posterior = np.where(impossible, 0.0, posterior)
        derivative = np.exp(log_probs)
        rows = np.arange(batch)[:, None]
        for t in range(steps):
            np.subtract.at(derivative[t], (rows, states), posterior[t])
        derivative[np.arange(steps)[:, None] >= input_lengths] = 0.0
    return losses, derivative


def _losses(alpha, input_lengths, target_lengths):
    rows = np.arange(len(input_lengths))
    if not len(alpha):
        return np.where(target_lengths == 0, 0.0, np.inf)
    last = alpha[np.maximum(input_lengths, 1) - 1, rows]
    end = last[rows, 2 * target_lengths]
    before = last[rows, np.maximum(2 * target_lengths - 1, 0)]
    total = np.where(target_lengths > 0, np.logaddexp(end, before), end)
    empty = np.where(target_lengths == 0, 0.0, np.inf)
    return np.where(input_lengths > 0, -total, empty)


_calls = Remembered()


def _prepare(x, labels, lengths, blank, derived):
    """``f(x, labels, input lengths, target lengths)`` for these shapes."""
    from rushlight.kernels.losses import alignment_kernels as native

    (steps, samples, classes), dtype = x.shape, x.dtype
    code = native.align.address(real=language_type(dtype), derived=int(derived))
    states = 2 * (labels.shape[1] if labels.ndim == 2 else labels.size // max(samples, 1)) + 1
    work = steps * states * _STATE_WORK * (3 if derived else 1)
    stride = max(labels.shape[1], 1) if labels.ndim == 2 else 0
    words = [steps, samples, classes, blank, stride, ctypes.addressof(failures)]
    outputs = [((samples,), dtype)] + [(x.shape, dtype)] * derived
    arrays = [x, labels, lengths, lengths]
    return prepared(code, samples, chunk(samples, work), arrays, outputs, words, scratch=True)


def ctc_compiled(log_probs, labels, input_lengths, target_lengths, blank, derived):
    """:func:`ctc` of float32 or float64 in its own dtype; `labels` are int64 (N, S), or all labels
    one after the other. Without `derived` the losses alone. None where the kernel does not apply
    or a label is out of range."""
    if REFERENCE or log_probs.dtype not in COMPILED_DTYPES or not log_probs.size:
        return None
    x = by_rows(log_probs)
    labels = np.ascontiguousarray(labels, _INT64)
    key = x.shape, x.dtype, labels.shape, blank, derived
    found = _calls.get(key)
    if found is None:
        found = _calls.keep(key, _prepare(x, labels, input_lengths, blank, derived))
    before = failures.value
    results = called(found, (x, labels, input_lengths, target_lengths))
    return results if failures.value == before else None
