"""Greedy suppression of boxes that overlap a better one.

Boxes come sorted, best first. On the CPU a kernel decides them one by one. Elsewhere blocks of them
are decided one after the other: first among themselves, then the kept ones against all later boxes
that are still there. Every step works on a matrix of pairs.
"""

from __future__ import annotations

import rushlight as rl

BLOCK = 512  # boxes that are decided together
LATER = 1024  # later boxes that are compared at once: temporaries stay in the cache


def exact_threshold(threshold: float, dtype: rl.dtype) -> float:
    """The largest number of `dtype` that is not above a threshold.

    A ratio in float32 is above a threshold in float64 exactly where it is above this number;
    rounding the threshold to the nearest number could change that.
    """
    rounded = rl.tensor(threshold, dtype=dtype)
    if float(rounded) > threshold:
        rounded = rl.nextafter(rounded, rl.tensor(-rl.inf, dtype=dtype))
    return float(rounded)


class Suppression:
    """Boxes (N, 4) best first; those of one group, (N,) or None, stand together."""

    def __init__(self, boxes: rl.Tensor, groups: rl.Tensor | None, threshold: float) -> None:
        x1, y1, x2, y2 = boxes.unbind(1)
        # Corners and areas as rows: each is read contiguously.
        self.sides = rl.stack((x1, y1, x2, y2, (x2 - x1) * (y2 - y1)))
        self.groups = groups
        self.threshold = exact_threshold(threshold, boxes.dtype)
        self.alive = rl.ones(boxes.shape[0], dtype=rl.bool, device=boxes.device)
        self.ends = None if groups is None else rl.searchsorted(groups, groups, right=True)

    def overlaps(self, later: rl.Tensor, better: rl.Tensor) -> rl.Tensor:
        """Whether boxes at `later` (A,) overlap those at `better` (B,) too much: (A, B)."""
        x1, y1, x2, y2, area = self.sides[:, later].unsqueeze(2)
        u1, v1, u2, v2, area2 = self.sides[:, better]
        width = (rl.minimum(x2, u2) - rl.maximum(x1, u1)).clamp_(min=0)
        height = (rl.minimum(y2, v2) - rl.maximum(y1, v1)).clamp_(min=0)
        inter = width.mul_(height)
        found = inter / (area + area2).sub_(inter) > self.threshold
        if self.groups is not None:
            found &= self.groups[later][:, None] == self.groups[better]
        return found

    def decide(self, start: int, stop: int) -> rl.Tensor:
        """Boxes of a block that stay."""
        rows = start + self.alive[start:stop].nonzero()[:, 0]
        earlier = self.overlaps(rows, rows).tril_(-1)
        kept = rl.ones_like(rows, dtype=rl.bool)
        # A box stays unless an earlier one that stays overlaps it. Each round settles all boxes
        # whose chain of earlier ones is settled, the first one from the start.
        while True:
            found = (earlier & kept).any(1).logical_not_()
            if rl.equal(found, kept):
                break
            kept = found
        self.alive[rows] = kept
        return rows[kept]

    def remove(self, kept: rl.Tensor, start: int, stop: int) -> None:
        """Take away the boxes from `start` to `stop` that overlap kept ones."""
        later = start + self.alive[start:stop].nonzero()[:, 0]
        for part in later.split(LATER):
            self.alive[part] = self.overlaps(part, kept).any(1).logical_not_()

    def run(self) -> rl.Tensor:
        """Which boxes stay: bool (N,)."""
        count = self.alive.shape[0]
        for start in range(0, count, BLOCK):
            stop = min(start + BLOCK, count)
            kept = self.decide(start, stop)
            end = count if self.ends is None else int(self.ends[stop - 1])
            if kept.shape[0] and end > stop:
                self.remove(kept, stop, end)
        return self.alive


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
    if boxes.device.type != "cpu":
        return Suppression(boxes, groups, threshold).run()
    if groups is not None and groups.is_floating_point():
        groups = rl.searchsorted(groups, groups)  # a whole number for each class
    return rl.signal.non_maximum_suppression(boxes, threshold, groups)
