"""Deterministic automata over characters."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from rushlight_text.generation.grammar.expressions import (
    LAST,
    Characters,
    Choice,
    Expression,
    Machine,
    Range,
    Repeat,
    Sequence,
    Shared,
    united,
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
        if isinstance(part, Repeat):
            return self._repeat(part, start)
        return self._machine(_product(part) if isinstance(part, Shared) else part, start)

    def _machine(self, part: Machine, start: int) -> int:
        states, end = [self.state() for _ in part.edges], self.state()
        self.free[start].append(states[0])
        for state, edges in zip(states, part.edges, strict=True):
            for each, target in edges:
                self.free[self.add(each, state)].append(states[target])
        for number in part.accepting:
            self.free[states[number]].append(end)
        return end

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
    return _trimmed(_determined(expression))


def _determined(expression: Expression) -> Automaton:
    """The automaton, with the states from which no text is accepted."""
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
    accepting = frozenset(number for number, states in enumerate(sets) if last in states)
    return Automaton(starts, kinds, steps, accepting)


@functools.lru_cache(maxsize=16)  # repetitions are written out
def _product(part: Shared) -> Machine:
    """The pairs of states of two automata; of the second one it may be None, past its end."""
    one, other = _smallest(_determined(part.one)), _smallest(_determined(part.other))
    pieces = list(_pieces(one, other))
    numbers: dict[tuple[int, int | None], int] = {(0, 0): 0}
    pairs = list(numbers)
    edges: list[tuple[tuple[Expression, int], ...]] = []
    while len(edges) < len(pairs):
        state, beside = pairs[len(edges)]
        row: dict[int, list[Range]] = {}
        for limits, kind, kind_beside in pieces:
            target = one.steps[state].get(kind)
            if target is None:
                continue
            after = None if beside is None else other.steps[beside].get(kind_beside)
            if after is None and part.inside:
                continue
            number = numbers.setdefault((target, after), len(pairs))
            if number == len(pairs):
                pairs.append((target, after))
            row.setdefault(number, []).append(limits)
        edges.append(tuple((united(found), number) for number, found in row.items()))
    accepting = [
        number
        for number, (state, beside) in enumerate(pairs)
        if state in one.accepting and (beside in other.accepting) == part.inside
    ]
    return Machine(tuple(edges), frozenset(accepting))


def _smallest(found: Automaton) -> Automaton:
    """The same language with as few states as can be: states are split by what follows them until
    no more differ (Moore, 1956)."""
    groups = [int(state in found.accepting) for state in range(len(found.steps))]
    count = 0
    while count < len(set(groups)):
        count = len(set(groups))
        numbers: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}
        groups = [
            numbers.setdefault(
                (groups[state], frozenset((kind, groups[to]) for kind, to in row.items())),
                len(numbers),
            )
            for state, row in enumerate(found.steps)
        ]
    steps: list[dict[int, int]] = [{} for _ in range(count)]
    for state, row in enumerate(found.steps):
        steps[groups[state]] = {kind: groups[to] for kind, to in row.items()}
    accepting = frozenset(groups[state] for state in found.accepting)
    return Automaton(found.starts, found.kinds, steps, accepting)


def _pieces(one: Automaton, other: Automaton) -> Iterator[tuple[Range, int, int]]:
    """Ranges of code points that both automata treat alike, with the kinds they are of."""
    starts = sorted({*one.starts, *other.starts})
    for low, after in zip(starts, [*starts[1:], LAST + 1], strict=True):
        kinds = [a.kinds[bisect_right(a.starts, low) - 1] for a in (one, other)]
        yield (low, after - 1), kinds[0], kinds[1]


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


def _trimmed(found: Automaton) -> Automaton:
    """Without the states from which no text is ever accepted."""
    before: list[set[int]] = [set() for _ in found.steps]
    for state, row in enumerate(found.steps):
        for target in row.values():
            before[target].add(state)
    alive, waiting = set(found.accepting), list(found.accepting)
    while waiting:
        new = before[waiting.pop()] - alive
        alive |= new
        waiting += new
    if 0 not in alive:
        raise ValueError("the language has no text at all")
    rows = [
        {kind: target for kind, target in row.items() if target in alive} if n in alive else {}
        for n, row in enumerate(found.steps)
    ]
    return Automaton(found.starts, found.kinds, rows, found.accepting)
