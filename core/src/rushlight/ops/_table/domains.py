"""Where test inputs are drawn: ``(low, high)``, or points to stay off; and how tests call functions
of symmetric matrices (a declaration's ``compared``)."""

from __future__ import annotations

real = (-3.0, 3.0)
positive = (0.1, 4.0)
unit = (-0.9, 0.9)
above_one = (1.1, 4.0)
above_minus_one = (-0.9, 3.0)
probability = (0.05, 0.95)


class away_from:  # noqa: N801 - reads as a phrase in declarations
    """The reals without a neighbourhood of some points, where an op has a kink or a pole."""

    def __init__(self, *points, low=-3.0, high=3.0, gap=0.15):
        self.points, self.low, self.high, self.gap = points, low, high, gap


nonzero = away_from(0.0)


def symmetrized(function):
    """The function of ``input + input.mH``: finite differences then stay symmetric."""

    def call(input, *args, **kwargs):
        return function(input + input.mH, *args, **kwargs)

    return call
