"""The most probable alignment of labels with steps, blanks between them. (Viterbi, 1967.)"""

from __future__ import annotations

from rushlight.kernels.launch.execution import REFERENCE, chunk, compute_array, language_type
from rushlight.kernels.launch.prepared import Remembered, called, prepared
from rushlight.kernels.losses import best_alignment_kernels as native
from rushlight.kernels.losses.alignment import labelled_states
from rushlight.machine import np

__all__ = ["best_paths", "best_paths_reference"]

_STATE_WORK = 4  # units of work of a state and step
_calls = Remembered()


def best_paths_reference(scores, labels, input_lengths, target_lengths, blank):
    """What is emitted at each step (N, T), blanks past the end, of scores (N, T, C); sums have the
    scores' dtype, so that equal ones are equal in every implementation."""
    samples, steps, _ = scores.shape
    paths = np.full((samples, steps), blank, np.int64)
    for n in range(samples):
        length, count = int(input_lengths[n]), int(target_lengths[n])
        states, skips = labelled_states(labels[n : n + 1, :count], blank)
        paths[n, :length] = _best_path(scores[n, :length][:, states[0]], states[0], skips[0])
    return paths


def _best_path(emissions, states, skips):
    """The states of the best path of emissions (T, S)."""
    if not len(emissions):
        return []
    none = emissions.dtype.type(-np.inf)
    best = np.full(len(states), none)
    best[:2] = emissions[0, :2]
    origins = np.zeros(emissions.shape, np.int64)
    for t in range(1, len(emissions)):
        one = np.concatenate([[none], best[:-1]])
        two = np.where(skips, np.concatenate([[none, none], best[:-2]])[: len(best)], none)
        jumps, comes = (two > one) & (two > best), (one > best) & (one > two)
        origins[t] = np.where(jumps, 2, np.where(comes, 1, 0))
        best = np.where(jumps, two, np.where(comes, one, best)) + emissions[t]
    state, found = len(states) - 1, []
    if state and not best[state] > best[state - 1]:
        state -= 1
    for t in range(len(emissions) - 1, -1, -1):
        found.append(states[state])
        state -= origins[t, state]
    return found[::-1]


def _prepare(x, labels, lengths, blank):
    samples, steps, classes = x.shape
    code = native.best_paths.address(real=language_type(x.dtype))
    grain = chunk(samples, steps * (2 * labels.shape[1] + 1) * _STATE_WORK)
    outputs, words = [((samples, steps), labels.dtype)], [steps, classes, labels.shape[1], blank]
    return prepared(
        code, samples, grain, [x, labels, lengths, lengths], outputs, words, scratch=True
    )


def best_paths(scores, labels, input_lengths, target_lengths, blank):
    """:func:`best_paths_reference`, compiled. Labels are int64 and within range."""
    if REFERENCE or not scores.size:
        return best_paths_reference(scores, labels, input_lengths, target_lengths, blank)
    x = compute_array(scores)
    key = x.shape, x.dtype, labels.shape, blank
    found = _calls.get(key)
    if found is None:
        found = _calls.keep(key, _prepare(x, labels, input_lengths, blank))
    return called(found, (x, labels, input_lengths, target_lengths))
