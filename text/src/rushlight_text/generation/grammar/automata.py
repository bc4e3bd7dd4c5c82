"""Deterministic automata over characters."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from rushlight_text.generation.grammar.expressions import (
    LAST,
    Characters,
    Choice,
    Expression,
    Repeat,
    Sequence,
)

__all__ = ["Automaton", "automaton"]

MOST_PARTS = 1 << 18  # of an expression whose repetitions are written out
MOST_STATES = 1 << 14


@dataclass(frozen=True)
class Automaton:
    """A deterministic automaton, of which every state leads to an accepted text.

    Attributes:
        starts: first code points of ranges that behave alike, ascending from 0.
        kinds: the number of the kind of each such range.
        steps: for each state the next one by kind; no entry: none.
        accepting: the states in which a text may end. The first state is 0.

    Example
    -------
    >>> from rushlight_text.generation.grammar import compile_pattern
    >>> compile_pattern("[a-c]+").matches("abba")
    True
    """

    starts: list[int]
    kinds: list[int]
    steps: list[dict[int, int]]
    accepting: frozenset[int]

    def step(self, state: int, code: int) -> int | None:
        """The state after a code point, or None."""
        return self.steps[state].get(self.kinds[bisect_right(self.starts, code) - 1])

    def can_step(self, state: int, low: int, high: int) -> bool:
        """Whether any code point from `low` to `high` goes on."""
        known = self.steps[state]
        first = bisect_right(self.starts, low) - 1
        last = bisect_right(self.starts, high)
        return any(kind in known for kind in self.kinds[first:last])

    def matches(self, text: str) -> bool:
        """Whether the whole text is in the language."""
        state: int | None = 0
        for character in text:
            state = self.step(state, ord(character)) if state is not None else None
        return state in self.accepting


@dataclass
class _Graph:
    """States that may go on without a character, or by one of some."""

    free: list[list[int]] = field(default_factory=list)
    by: list[tuple[Characters, int] | None] = field(default_factory=list)

    def state(self) -> int:
        """A new one."""
        if len(self.free) >= MOST_PARTS:
            raise ValueError(
                f"the language is too large: over {MOST_PARTS:,} parts; repeat less often"
            )
        self.free.append([])
        self.by.append(None)
        return len(self.free) - 1

    def add(self, part: Expression, start: int) -> int:
        """Let an expression follow a state; the state after it."""
        if isinstance(part, Characters):
            end = self.state()
            middle = self.state()
            self.free[start].append(middle)
            self.by[middle] = part, end
            return end
        if isinstance(part, Sequence):
            for each in part.parts:
                start = self.add(each, start)
            return start
        if isinstance(part, Choice):
            end = self.state()
            for each in part.parts:
                self.free[self.add(each, start)].append(end)
            return end
        return self._repeat(part, start)

    def _repeat(self, part: Repeat, start: int) -> int:
        for _ in range(part.low):
            start = self.add(part.part, start)
        end = self.state()
        if part.high is None:
            again = self.state()
            self.free[start].append(again)
            self.free[again].append(end)
            self.free[self.add(part.part, again)].append(again)
            return end
        for _ in range(part.high - part.low):
            self.free[start].append(end)
            start = self.add(part.part, start)
        self.free[start].append(end)
        return end

    def reachable(self, states: list[int]) -> frozenset[int]:
        """These and those that follow without a character; only such as matter later."""
        seen, waiting = set(states), list(states)
        while waiting:
            for state in self.free[waiting.pop()]:
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
        return frozenset(seen)


def automaton(expression: Expression) -> Automaton:
    """The automaton of an expression.

    Raises ValueError where it would have over 16,384 states, or where no text is in the language.
    """
    graph = _Graph()
    first = graph.state()
    last = graph.add(expression, first)
    starts, kinds, members = _alphabet({by[0] for by in graph.by if by is not None})
    numbers = {graph.reachable([first]): 0}
    sets = list(numbers)
    steps: list[dict[int, int]] = []
    while len(steps) < len(sets):
        targets: dict[int, list[int]] = {}
        for state in sets[len(steps)]:
            by = graph.by[state]
            if by is not None:
                for kind in members[by[0]]:
                    targets.setdefault(kind, []).append(by[1])
        row = {}
        known: dict[tuple[int, ...], int] = {}
        for kind, states in targets.items():
            key = tuple(states)
            if key not in known:
                reached = graph.reachable(states)
                if reached not in numbers:
                    numbers[reached] = len(sets)
                    sets.append(reached)
                known[key] = numbers[reached]
            row[kind] = known[key]
        steps.append(row)
        if len(sets) > MOST_STATES:
            raise ValueError(f"the language is too large: over {MOST_STATES:,} states")
    accepting = {number for number, states in enumerate(sets) if last in states}
    return _trimmed(starts, kinds, steps, accepting)


def _alphabet(
    used: set[Characters],
) -> tuple[list[int], list[int], dict[Characters, list[int]]]:
    """Ranges of code points that belong to the same sets: where they start, their kinds, and the
    kinds in each set."""
    ordered = sorted(used, key=lambda each: each.ranges)
    events: dict[int, list[int]] = {0: []}
    for number, each in enumerate(ordered):
        for low, high in each.ranges:
            events.setdefault(low, []).append(number)
            if high < LAST:
                events.setdefault(high + 1, []).append(number)
    starts, kinds = sorted(events), []
    now: frozenset[int] = frozenset()
    numbers: dict[frozenset[int], int] = {}
    for start in starts:
        for number in events[start]:
            now = now ^ {number}
        kinds.append(numbers.setdefault(now, len(numbers)))
    members = {
        each: [kind for group, kind in numbers.items() if number in group]
        for number, each in enumerate(ordered)
    }
    return starts, kinds, members


def _trimmed(
    starts: list[int], kinds: list[int], steps: list[dict[int, int]], accepting: set[int]
) -> Automaton:
    """Without the states from which no text is ever accepted."""
    before: list[set[int]] = [set() for _ in steps]
    for state, row in enumerate(steps):
        for target in row.values():
            before[target].add(state)
    alive, waiting = set(accepting), list(accepting)
    while waiting:
        new = before[waiting.pop()] - alive
        alive |= new
        waiting += new
    if 0 not in alive:
        raise ValueError("the language has no text at all")
    rows = [
        {kind: target for kind, target in row.items() if target in alive} if n in alive else {}
        for n, row in enumerate(steps)
    ]
    return Automaton(starts, kinds, rows, frozenset(accepting))
