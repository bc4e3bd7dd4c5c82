"""A line search for steps that meet the strong Wolfe conditions.

Bracketing and zooming after Nocedal and Wright (2006), algorithms 3.5 and 3.6, with the cubic
interpolation and the safeguards of Schmidt's minFunc, as in PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.9
SMALLEST_BRACKET = 1e-9


@dataclass
class Point:
    """A step size with the loss, the gradient and the slope along the direction there."""

    size: Any
    loss: Any
    gradient: Any
    slope: Any


def cubic_minimum(a, b, bounds=None):
    """The minimum of the cubic through two points with their slopes, kept within bounds."""
    low, high = bounds or (min(a.size, b.size), max(a.size, b.size))
    turn = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.size - b.size)
    squared = turn**2 - a.slope * b.slope
    if not squared >= 0:
        return (low + high) / 2.0
    root = squared**0.5
    left, right = (a, b) if a.size <= b.size else (b, a)
    share = (right.slope + root - turn) / (right.slope - left.slope + 2 * root)
    return min(max(right.size - (right.size - left.size) * share, low), high)


class Search:
    """One search: the start, the direction, and how many evaluations are left."""

    def __init__(self, evaluate, direction, start, most):
        self.evaluate, self.direction, self.start, self.most = evaluate, direction, start, most
        self.evaluations, self.rounds = 0, 0

    def at(self, size):
        """The point of a step size."""
        loss, gradient = self.evaluate(size)
        self.evaluations += 1
        return Point(size, loss, gradient.clone(), gradient.dot(self.direction))

    def too_high(self, point):
        """Whether the loss is above the line of sufficient decrease."""
        line = self.start.loss + SUFFICIENT_DECREASE * point.size * self.start.slope
        return point.loss > line

    def flat(self, point):
        """Whether the slope is small enough."""
        return abs(point.slope) <= -CURVATURE * self.start.slope

    def bracket(self, size):
        """An acceptable point (alone), or two points that enclose one."""
        before, now = self.start, self.at(size)
        while self.rounds < self.most:
            if self.too_high(now) or (self.rounds > 1 and now.loss >= before.loss):
                return [before, now]
            if self.flat(now):
                return [now]
            if now.slope >= 0:
                return [before, now]
            bounds = (now.size + 0.01 * (now.size - before.size), now.size * 10)
            before, now = now, self.at(cubic_minimum(before, now, bounds))
            self.rounds += 1
        return [self.start, now]

    def zoom(self, points):
        """Narrow two points down until the better one is acceptable; returns it."""
        width = self.direction.abs().max()
        low, high = (0, 1) if points[0].loss <= points[1].loss else (1, 0)
        slow = False
        while self.rounds < self.most:
            if abs(points[1].size - points[0].size) * width < SMALLEST_BRACKET:
                break
            size, slow = self.inside(points, slow)
            now = self.at(size)
            self.rounds += 1
            if self.too_high(now) or now.loss >= points[low].loss:
                points[high] = now
                low, high = (0, 1) if points[0].loss <= points[1].loss else (1, 0)
                continue
            if self.flat(now):
                return now
            if now.slope * (points[high].size - points[low].size) >= 0:
                points[high] = points[low]
            points[low] = now
        return points[low]

    @staticmethod
    def inside(points, slow):
        """The next size within a bracket, moved off its ends when progress is slow."""
        size = cubic_minimum(*points)
        least, most = sorted((points[0].size, points[1].size))
        margin = 0.1 * (most - least)
        if min(most - size, size - least) >= margin:
            return size, False
        if not (slow or size >= most or size <= least):
            return size, True
        return (most - margin if abs(size - most) < abs(size - least) else least + margin), False


def strong_wolfe(evaluate, size, direction, known, most):
    """Search along a direction from a first step size.

    `evaluate` maps a step size to loss and gradient, `known` is ``(loss, gradient, slope)`` at
    size 0, `most` the number of rounds. Returns loss, gradient, size and number of evaluations.
    """
    loss, gradient, slope = known
    search = Search(evaluate, direction, Point(0, loss, gradient, slope), most)
    points = search.bracket(size)
    best = points[0] if len(points) == 1 else search.zoom(points)
    return best.loss, best.gradient, best.size, search.evaluations
