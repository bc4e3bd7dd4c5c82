"""Sequences of labels: the loss of transducers, and distances."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as rl

__all__ = ["edit_distance", "frechet_distance", "rnnt_loss"]

_PLAIN = (int, str, bytes)  # what is equal where it is the same key


def rnnt_loss(
    logits: rl.Tensor,
    targets: rl.Tensor,
    logit_lengths: rl.Tensor,
    target_lengths: rl.Tensor,
    blank: int = -1,
    clamp: float = -1,
    reduction: str = "mean",
    fused_log_softmax: bool = True,
) -> rl.Tensor:
    """The loss of a transducer (Graves, 2012), compiled, with its gradient.

    Args:
        logits: ``[N, T, U + 1, C]``, what the joiner gives after t frames and u labels.
        targets: ``[N, U]`` labels, int32 or int64.
        logit_lengths: ``[N]`` frames of each item.
        target_lengths: ``[N]`` labels of each item.
        blank: class of the blank; a negative one counts from the end.
        clamp: bound of the gradient of an item's cost; none where it is not positive.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        fused_log_softmax: the logits are scores, whose log-softmax is taken here.

    Returns:
        the cost of each item ``[N]``, their mean or their sum.
    """
    return rl.signal.transducer_loss(
        logits,
        targets,
        logit_lengths,
        target_lengths,
        blank,
        clamp,
        reduction,
        fused_log_softmax,
    )


def edit_distance(seq1: Sequence, seq2: Sequence) -> int:
    """How many insertions, deletions and substitutions make one sequence the other. (Levenshtein.)

    Example:
        >>> edit_distance("kitten", "sitting")
        3
    """
    if all(type(each) in _PLAIN for seq in (seq1, seq2) for each in seq):
        return _by_bits(seq1, seq2)
    last = list(range(len(seq2) + 1))
    for i, one in enumerate(seq1, 1):
        row = [i]
        for j, other in enumerate(seq2, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + bool(one != other)))
        last = row
    return last[-1]


def _by_bits(one: Sequence, other: Sequence) -> int:
    """The same for things that can be keys, a column of the table at a time: its steps up and down
    are bits of whole numbers. (Myers, 1999; Hyyro, 2003.)"""
    if not one:
        return len(other)
    where: dict[object, int] = {}
    for i, each in enumerate(one):
        where[each] = where.get(each, 0) | 1 << i
    everything, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    up, down, distance = everything, 0, len(one)
    for each in other:
        equal = where.get(each, 0)
        straight = equal | down
        across = (((equal & up) + up) ^ up) | equal
        more, less = down | ~(across | up), up & across
        distance += bool(more & last) - bool(less & last)
        more, less = more << 1 | 1, less << 1
        up, down = (less | ~(straight | more)) & everything, more & straight & everything
    return distance


def frechet_distance(
    mu_x: rl.Tensor, sigma_x: rl.Tensor, mu_y: rl.Tensor, sigma_y: rl.Tensor
) -> rl.Tensor:
    """The Frechet distance of two Gaussian distributions with means ``[C]`` and covariances
    ``[C, C]``."""
    if mu_x.dim() != 1 or sigma_x.dim() != 2:
        raise ValueError(
            "frechet_distance(): expected mu_x [C] and sigma_x [C, C], got "
            f"{list(mu_x.shape)} and {list(sigma_x.shape)}"
        )
    if tuple(sigma_x.shape) != 2 * tuple(mu_x.shape):
        raise ValueError(
            f"frechet_distance(): sigma_x must be [{mu_x.shape[0]}, {mu_x.shape[0]}], got "
            f"{list(sigma_x.shape)}"
        )
    if mu_x.shape != mu_y.shape or sigma_x.shape != sigma_y.shape:
        raise ValueError(
            "frechet_distance(): both distributions must have one size, got "
            f"{list(mu_x.shape)} and {list(mu_y.shape)}"
        )
    means = (mu_x - mu_y).square().sum()
    mixed = rl.linalg.eigvals(sigma_x @ sigma_y).sqrt().real.sum()
    return means + sigma_x.trace() + sigma_y.trace() - 2 * mixed
