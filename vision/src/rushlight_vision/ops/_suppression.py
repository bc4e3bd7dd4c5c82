"""Greedy suppression of boxes that overlap a better one, by the core's kernels."""

from __future__ import annotations

import rushlight as rl


@rl.no_grad()
def kept_boxes(
    boxes: rl.Tensor, scores: rl.Tensor, threshold: float, groups: rl.Tensor | None = None
) -> rl.Tensor:
    """Indices of the boxes that stay, best first; boxes of different groups do not compete."""
    order = scores.sort(stable=True, descending=True)[1]
    if groups is None:
        return order[_stay(boxes[order], None, threshold)]
    sorted_groups, grouped = groups[order].sort(stable=True)
    chosen = order[grouped]
    stays = _stay(boxes[chosen], sorted_groups, threshold)
    alive = rl.zeros_like(stays)
    alive[grouped] = stays
    return order[alive]


def _stay(boxes: rl.Tensor, groups: rl.Tensor | None, threshold: float) -> rl.Tensor:
    """Which boxes stay (N,), best first within the sorted groups (N,)."""
    if groups is not None and groups.is_floating_point():
        groups = rl.searchsorted(groups, groups)  # a whole number for each class
    return rl.signal.non_maximum_suppression(boxes, threshold, groups)
