"""The gradient of the transducer's loss written with ops, for ``create_graph``.

The kernel gives the derivative as plain numbers. Where that must have derivatives of its own, the
loss is computed once more step by step in float64, and differentiated.
"""

from __future__ import annotations

from rushlight.dtypes import float64
from rushlight.ops._transforms.differentiation import pullback
from rushlight.ops.creation.tensors import arange, beside, ones, zeros
from rushlight.ops.neural.softmax import log_softmax
from rushlight.ops.shape.joining import cat, stack


def costs(logits, labels, input_lengths, target_lengths, blank, fused):
    """The costs (N,) of logits (N, T, U + 1, C), float64."""
    samples, steps, nodes, _ = logits.shape
    wide = log_softmax(logits.double(), 3) if fused else logits.double()
    blanks, names = wide[..., blank], beside(logits, labels)[:, None, :, None]
    given = wide[:, :, :-1].gather(3, names.expand(samples, steps, nodes - 1, 1)).squeeze(3)
    none = zeros((samples, steps, 1), dtype=float64, device=logits.device)
    # Within a step labels follow each other: the way to a node from an earlier one is a difference.
    passed = cat([none, given.cumsum(2)], 2)
    rows = [passed[:, 0]]
    for t in range(1, steps):
        before = rows[-1] + blanks[:, t - 1]
        rows.append((before - passed[:, t]).logcumsumexp(1) + passed[:, t])
    ends = beside(logits, input_lengths) - 1, beside(logits, target_lengths)
    return -(stack(rows, 1) + blanks)[arange(samples, device=logits.device), *ends]


def derivative(logits, labels, input_lengths, target_lengths, blank, clamp, fused):
    """The derivative (N, T, U + 1, C) of each cost, bounded by `clamp` where that is positive."""

    def outputs(x):
        return (costs(x, labels, input_lengths, target_lengths, blank, fused),)

    _, pull = pullback(outputs, [logits])
    (found,) = pull([ones((logits.shape[0],), dtype=float64, device=logits.device)])
    return found.clamp(-clamp, clamp) if clamp > 0 else found
