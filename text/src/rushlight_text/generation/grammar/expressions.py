"""What a regular language is made of: characters, sequences, choices, repetitions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = [
    "ANY",
    "Characters",
    "Choice",
    "Expression",
    "Machine",
    "Repeat",
    "Sequence",
    "Shared",
    "digits",
    "literal",
    "negated",
    "optional",
    "spaces",
    "united",
    "word_characters",
]

LAST = 0x10FFFF
Range = tuple[int, int]


@dataclass(frozen=True)
class Characters:
    """One character out of ranges of code points, both ends included; ascending, apart."""

    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class Sequence:
    """One after the other; none is the empty text."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Choice:
    """One of several; none matches nothing at all."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Repeat:
    """At least `low` times, at most `high` times (None: any number)."""

    part: Expression
    low: int
    high: int | None


@dataclass(frozen=True)
class Shared:
    """Texts of `one` that are texts of `other` too, or, with `inside` False, that are not."""

    one: Expression
    other: Expression
    inside: bool = True


@dataclass(frozen=True)
class Machine:
    """An automaton: for each state what may come and the state it leads to. The first one is 0."""

    edges: tuple[tuple[tuple[Expression, int], ...], ...]
    accepting: frozenset[int]


Expression = Characters | Sequence | Choice | Repeat | Shared | Machine

ANY = Characters(((0, LAST),))


def literal(text: str) -> Sequence:
    """Exactly this text."""
    return Sequence(tuple(Characters(((ord(c), ord(c)),)) for c in text))


def optional(part: Expression) -> Repeat:
    """It, or nothing."""
    return Repeat(part, 0, 1)


def united(ranges: Iterable[Range]) -> Characters:
    """The characters of ranges in any order, which may overlap."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return Characters(tuple(found))


def negated(characters: Characters) -> Characters:
    """All other characters."""
    found, start = [], 0
    for low, high in characters.ranges:
        if start < low:
            found.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        found.append((start, LAST))
    return Characters(tuple(found))


def _where(holds: Callable[[str], bool]) -> Characters:
    return united((code, code) for code in range(LAST + 1) if holds(chr(code)))


@functools.cache
def digits() -> Characters:
    r"""What ``\d`` of Python's expressions means: decimal digits of all scripts."""
    return _where(str.isdecimal)


@functools.cache
def spaces() -> Characters:
    r"""What ``\s`` means: white space of Unicode."""
    return _where(str.isspace)


@functools.cache
def word_characters() -> Characters:
    r"""What ``\w`` means: letters and numbers of all scripts, and the underscore."""
    return _where(lambda c: c.isalnum() or c == "_")
