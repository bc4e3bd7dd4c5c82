"""Which numbers a program is captured with where it reads them from tensors."""

from __future__ import annotations

import random

from rushlight.export.dynamic.drawn import UnfitError
from rushlight.export.dynamic.drawn_floats import FloatDraws
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from rushlight.fx.locations import raised_at

CAPTURES = 6  # with different numbers
_TRIES, _GUESSES = 24, 3000
_SPREAD = 40  # how far from the least possible number others are tried
# What a program may raise with numbers that it does not take.
REFUSALS = (
    RuntimeError, ValueError, IndexError, AssertionError, TypeError, ArithmeticError,
)  # fmt: skip


class Values:
    """Chooses numbers that keep to what the program says of them, other ones for each capture."""

    def __init__(self, taken=()):
        self.taken = frozenset(taken)  # symbols that are sizes of inputs
        self.known: FloatDraws | None = None
        self.random = random.Random(0)
        self.used: dict[str, set] = {}
        self.sides: set = set()  # of choices that captures have made

    def captured(self, trace):
        """``trace(draws)`` with numbers that fit, and these."""
        last: Exception | None = None
        for _ in range(_TRIES):
            draws = FloatDraws(self.plan(), self.taken)
            try:
                found = trace(draws)
            except GuardOnDataDependentSymNode:
                raise
            except REFUSALS as error:
                if not draws.numbers:
                    raise
                if not isinstance(error, UnfitError):
                    last = error
                self.known = draws
                for name in draws.plain:  # not to be tried first again
                    self.used.setdefault(name, set()).add(draws.values[name])
                continue
            self._used(draws)
            return found, draws
        raise GuardOnDataDependentSymNode(
            f"Could not find numbers with which the program runs ({self.known.described()}): "
            + (f"{type(last).__name__}: {last} {raised_at(last)}. " if last else "")
            + f"Say what always holds of {', '.join(self.known.numbers)} with rushlight._check(...)"
        )

    def _used(self, draws):
        self.known = draws
        for name, value in draws.values.items():
            self.used.setdefault(name, set()).add(value)
        self.sides |= _sides(draws, draws.values)

    def plan(self) -> dict[str, int]:
        """Numbers that keep to all known conditions, others than before where there are some."""
        if self.known is None:
            return {}
        best: tuple[int, dict[str, int]] = (-1, {})
        free = sum(low < high for low, high in self.known.limits.values())
        free += len(self.known.floats.keys() - self.known.pinned)
        for _ in range(_GUESSES):
            plan = {name: self._guess(name) for name in self.known.values}
            plan |= {name: self._guess_float(name) for name in self.known.floats}
            if not self._fits(plan):
                continue
            fresh = sum(value not in self.used.get(name, ()) for name, value in plan.items())
            sides = len(_sides(self.known, plan) - self.sides)
            best = max(best, (fresh + sides, plan), key=lambda pair: pair[0])
            if fresh >= free and sides == len(self.known.choices):
                break
        return best[1]

    def _guess(self, name):
        low, high = self.known.limits[name]
        # of sizes 0 and 1 programs often do something else, and negative ones are seldom meant:
        # they are tried where few others are left, or where the program itself chooses
        if self.known.choices or (low <= 2 and high - 2 < CAPTURES):
            low = max(low, min(high, _SPREAD) - 2 * _SPREAD)
        else:
            low = max(low, 2)
        # comparisons of plain numbers are not seen: the least of them is tried in any case
        if name in self.known.plain and low not in self.used.get(name, ()):
            return int(low)
        high = min(high, low + (2 * _SPREAD if self.known.choices else _SPREAD))
        return self.random.randint(int(low), max(int(high), int(low)))

    def _guess_float(self, name):
        """A float near zero, or near one that the program compares with."""
        if name in self.known.pinned:
            return self.known.floats[name]
        sides = [side for fact in self.known.facts.values() for side in fact.sides()]
        near = [0.0, *(side.parts[0] for side in sides if side.kind == "number")]
        spread = self.random.choice((0.1, 1.0, 10.0, 100.0))
        return self.random.choice(near) + self.random.uniform(-spread, spread)

    def _fits(self, plan):
        if not all(fact.fits(plan) for fact in self.known.facts.values()):
            return False
        for condition in self.known.conditions:
            left, right = condition.sides()
            if not (left.symbols() | right.symbols()) <= plan.keys():
                continue
            try:
                if not condition.kind(left.value(plan), right.value(plan)):
                    return False
            except ZeroDivisionError:
                return False
        return True


def _sides(draws, values):
    """Which of two numbers the program takes at some values, for each of its choices."""
    return {
        (turn, left.value(values) < right.value(values))
        for turn, (left, right) in enumerate(draws.choices)
        if (left.symbols() | right.symbols()) <= values.keys()
    }
