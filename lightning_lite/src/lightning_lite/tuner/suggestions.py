"""Where on the curve of loss over learning rate a good rate is: five rules.

Each takes rates and losses, as plain lists of the same length, and returns a position in them.
`valley`, `slide`, `minimum` and `steep` are fastai's rules; `gradient` is Lightning's.
"""

from __future__ import annotations

import math


def slopes(values: list[float]) -> list[float]:
    """Central differences; one-sided ones at both ends."""
    inner = [(after - before) / 2 for before, after in zip(values, values[2:], strict=False)]
    return [values[1] - values[0], *inner, values[-1] - values[-2]]


def gradient(rates: list[float], losses: list[float]) -> int:
    """Where the loss falls most from one step to the next."""
    found = slopes(losses)
    return found.index(min(found))


def steep(rates: list[float], losses: list[float]) -> int:
    """Where the loss falls most over the logarithm of the rate."""
    logs = [math.log(rate) for rate in rates]
    found = [(losses[n + 1] - losses[n]) / (logs[n + 1] - logs[n]) for n in range(len(losses) - 1)]
    return found.index(min(found))


def minimum(rates: list[float], losses: list[float]) -> int:
    """Where the loss is least; the rate that is suggested is a tenth of this one."""
    return losses.index(min(losses))


def valley(rates: list[float], losses: list[float]) -> int:
    """In the middle of the longest run of falling losses, where rises in between may be skipped."""
    lengths = [1] * len(losses)
    start = end = longest = 0
    for here in range(1, len(losses)):
        for before in range(here):
            if losses[here] < losses[before] and lengths[here] < lengths[before] + 1:
                lengths[here] = lengths[before] + 1
        if longest < lengths[here]:
            longest, end = lengths[here], here
            start = end - longest
    third = (end - start) / 3
    return start + int(third) + int(third / 2)


def slide(
    rates: list[float], losses: list[float], width: int = 15, threshold: float = 0.005
) -> int:
    """Left of where, seen from the right, the slope of the loss settles: the window `width` steps
    wide moves left until the slopes at its ends differ by less than `threshold`."""
    found = slopes(losses)
    right = len(losses) - 1
    left = right - width
    best = max(left, 0)
    while left >= 0 and abs(found[right] - found[left]) > threshold:
        best = left
        left, right = left - 1, right - 1
    return best


RULES = {
    "gradient": gradient,
    "valley": valley,
    "slide": slide,
    "minimum": minimum,
    "steep": steep,
}


def suggest(rates: list[float], losses: list[float], rule: str) -> float:
    """The rate that a rule finds. Raises ValueError for an unknown rule."""
    if rule not in RULES:
        raise ValueError(f"lr_find: method {rule!r}; expected one of {sorted(RULES)}")
    rate = rates[RULES[rule](rates, losses)]
    return rate / 10 if rule == "minimum" else rate
