"""Random numbers of transforms, by Rushlight's generator: workers and seeds govern them."""

from __future__ import annotations

import rushlight as rl


def between(low: float, high: float) -> float:
    """A number between two, uniformly."""
    return low + (high - low) * float(rl.rand(()))


def whole(low: int, high: int) -> int:
    """An integer from `low` to `high`, both included."""
    return int(rl.randint(low, high + 1, ()))


def chance(p: float) -> bool:
    """True with probability `p`."""
    return p >= 1 or float(rl.rand(())) < p
