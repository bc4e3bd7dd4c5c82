"""optim_metric: the best value of a metric over one of its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

GOLDEN = (3 - math.sqrt(5)) / 2  # where a golden section divides an interval
STEPS = 500


def optim_metric(
    f: Callable[..., Any],
    argname: str,
    bounds: tuple[float, float],
    tol: float = 0.01,
    do_neg: bool = True,
    get_x: bool = False,
) -> Callable[[Any, Any], Any]:
    """A metric that is the best value of `f(outputs, targets, argname=x)` for `x` within `bounds`,
    such as the best threshold's.

    The largest value, with `do_neg=False` the smallest, to `tol` of `x`; with `get_x` the pair of
    value and `x`. It is searched for by Brent's method, which finds an extreme of functions that
    have one; fastai's `tol` is 0.01 whatever is given. ValueError for bounds that are no interval.

    Reference: R. P. Brent, Algorithms for Minimization without Derivatives, 1973, chapter 5.

    >>> import rushlight as rl
    >>> def share(outputs, targets, thresh):
    ...     return ((outputs > thresh) == targets.bool()).float().mean()
    >>> outputs = rl.tensor([0.1, 0.2, 0.35, 0.8])
    >>> optim_metric(share, "thresh", (0.0, 0.6))(outputs, rl.tensor([0, 0, 1, 1]))
    1.0
    """
    low, high = bounds
    if not low <= high:
        raise ValueError(f"optim_metric: bounds={bounds!r}; expected a pair, the lower one first")
    sign = -1.0 if do_neg else 1.0

    def best(outputs: Any, targets: Any) -> Any:
        def value(x: float) -> float:
            return sign * float(f(outputs, targets, **{argname: x}))

        found = _Search(value, low, high, tol).run()
        return (sign * found[0], found[1]) if get_x else sign * found[0]

    best.__name__ = f"opt_{f.__name__}"
    return best


class _Search:
    """Brent's search: the interval `low` to `high`, and the three best points `(x, value)` so
    far."""

    def __init__(
        self, function: Callable[[float], float], low: float, high: float, tol: float
    ) -> None:
        self.function, self.low, self.high, self.tol = function, low, high, tol
        x = low + GOLDEN * (high - low)
        self.best = self.second = self.third = (x, function(x))
        self.step = self.earlier = 0.0  # the last step, and the one before it

    def run(self) -> tuple[float, float]:
        """The least value and where it is."""
        for _ in range(STEPS):
            x, middle = self.best[0], (self.low + self.high) / 2
            least = 1.5e-8 * abs(x) + self.tol / 3
            if abs(x - middle) <= 2 * least - (self.high - self.low) / 2:
                break
            if not self._parabola(least):
                self.earlier = (self.low if x >= middle else self.high) - x
                self.step = GOLDEN * self.earlier
            at = x + math.copysign(max(abs(self.step), least), self.step or 1.0)
            self._take(at, self.function(at))
        return self.best[1], self.best[0]

    def _parabola(self, least: float) -> bool:
        """Let the step be to the bottom of the parabola through the three points; False where it
        leaves the interval, or is no shorter than half the step before the last."""
        if abs(self.earlier) <= least:
            return False
        (x, fx), (w, fw), (v, fv) = self.best, self.second, self.third
        one, two = (x - w) * (fx - fv), (x - v) * (fx - fw)
        part, whole = (x - v) * two - (x - w) * one, 2 * (two - one)
        part, whole = (-part if whole > 0 else part), abs(whole)
        before, self.earlier = self.earlier, self.step
        inside = whole * (self.low - x) < part < whole * (self.high - x)
        if not (inside and abs(part) < abs(whole * before / 2)):
            return False
        self.step = part / whole
        if x + self.step - self.low < 2 * least or self.high - x - self.step < 2 * least:
            self.step = math.copysign(least, (self.low + self.high) / 2 - x or 1.0)
        return True

    def _take(self, at: float, value: float) -> None:
        """Narrow the interval by one more point."""
        x = self.best[0]
        if value <= self.best[1]:
            self.low, self.high = (x, self.high) if at >= x else (self.low, x)
            self.best, self.second, self.third = (at, value), self.best, self.second
            return
        self.low, self.high = (at, self.high) if at < x else (self.low, at)
        if value <= self.second[1] or self.second[0] == x:
            self.second, self.third = (at, value), self.second
        elif value <= self.third[1] or self.third[0] in (x, self.second[0]):
            self.third = (at, value)
