"""The forward-backward algorithm of transducers. (Graves, 2012.)

A node (t, u) of the lattice has seen t steps and given u labels; a blank leads to (t + 1, u), the
next label to (t, u + 1).
"""

from __future__ import annotations

import ctypes

from rushlight.kernels.indexing.indices import failures
from rushlight.kernels.launch.execution import REFERENCE, chunk, compute_array, language_type
from rushlight.kernels.launch.prepared import Remembered, called, prepared, word_of
from rushlight.kernels.losses import transducer_kernels as native
from rushlight.machine import np

__all__ = ["transducer", "transducer_compiled"]

_CLASS_WORK = 6  # units of work of a class at a node
_calls = Remembered()


def transducer(scores, labels, input_lengths, target_lengths, blank, clamp, fused):
    """Costs (N,) of scores (N, T, U + 1, C) and their derivative of that shape, bounded by `clamp`
    where that is positive, in float64. `fused`: the log-softmax of the scores is what counts."""
    wide, costs = scores.astype(np.float64), np.zeros(len(scores))
    derivative = np.zeros(scores.shape)
    with np.errstate(all="ignore"):
        for n in range(len(scores)):
            length, count = int(input_lengths[n]), int(target_lengths[n])
            x = wide[n, :length, : count + 1]
            norms = np.logaddexp.reduce(x, 2) if fused else np.zeros(x.shape[:2])
            found = _lattice(x, norms, labels[n, :count], blank)
            costs[n], *shares = found
            out = derivative[n, :length, : count + 1]
            if fused:
                out += np.exp(x - norms[..., None]) * (shares[0] + shares[1])[..., None]
            out[..., blank] -= shares[0]
            for u in range(count):
                out[:, u, labels[n, u]] -= shares[1][:, u]
    if clamp > 0:
        derivative = derivative.clip(-clamp, clamp)
    return costs, derivative


def _lattice(x, norms, labels, blank):
    """The cost of a sample, and the shares of paths (T, U + 1) that leave each node by a blank and
    by a label."""
    steps, nodes = norms.shape
    blanks = x[..., blank] - norms
    given = np.full(norms.shape, -np.inf)
    given[:, :-1] = x[:, np.arange(nodes - 1), labels] - norms[:, :-1]
    alpha, beta = np.full((steps, nodes), -np.inf), np.full((steps + 1, nodes + 1), -np.inf)
    for t in range(steps):
        for u in range(nodes):
            before = 0.0 if t == u == 0 else -np.inf
            if t:
                before = alpha[t - 1, u] + blanks[t - 1, u]
            if u:
                before = np.logaddexp(before, alpha[t, u - 1] + given[t, u - 1])
            alpha[t, u] = before
    beta[steps, nodes - 1] = 0.0
    for t in range(steps - 1, -1, -1):
        for u in range(nodes - 1, -1, -1):
            by_blank = beta[t + 1, u] + blanks[t, u]
            beta[t, u] = np.logaddexp(by_blank, beta[t, u + 1] + given[t, u])
    whole = alpha[-1, -1] + blanks[-1, -1]
    by_blank = np.exp(alpha + blanks + beta[1:, :-1] - whole)
    return -whole, by_blank, np.exp(alpha + given + beta[:-1, 1:] - whole)


def _prepare(x, labels, lengths, blank, clamp, fused, derived):
    samples, steps, nodes, classes = x.shape
    code = native.transduce.address(
        real=language_type(x.dtype), derived=int(derived), fused=int(fused)
    )
    work = steps * nodes * classes * _CLASS_WORK
    bound = word_of(float(clamp) if clamp > 0 else 0.0)
    words = [steps, nodes - 1, classes, blank, bound, ctypes.addressof(failures)]
    outputs = [((samples,), x.dtype)] + [(x.shape, x.dtype)] * derived
    arrays = [x, labels, lengths, lengths]
    return prepared(code, samples, chunk(samples, work), arrays, outputs, words, scratch=True)


def transducer_compiled(
    scores, labels, input_lengths, target_lengths, blank, clamp, fused, derived
):  # fmt: skip
    """:func:`transducer` of float32 or float64 in its own dtype; without `derived` the costs alone.
    None where the kernel does not apply or a label is out of range."""
    if REFERENCE or not scores.size:
        return None
    x = compute_array(scores)
    key = x.shape, x.dtype, blank, clamp, fused, derived
    found = _calls.get(key)
    if found is None:
        plan = _prepare(x, labels, input_lengths, blank, clamp, fused, derived)
        found = _calls.keep(key, plan)
    before = failures.value
    results = called(found, (x, labels, input_lengths, target_lengths))
    return results if failures.value == before else None
