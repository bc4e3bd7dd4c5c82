"""Python's syntax of regular expressions."""

from __future__ import annotations

import re
import unicodedata
import warnings
from typing import cast

from rushlight_text.generation.grammar.expressions import (
    ANY,
    Characters,
    Choice,
    Expression,
    Repeat,
    Sequence,
    digits,
    literal,
    negated,
    spaces,
    united,
    word_characters,
)

__all__ = ["parse"]

_LETTERS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_KINDS = {"d": digits, "s": spaces, "w": word_characters}
_HEXADECIMAL = {"x": 2, "u": 4, "U": 8}
_OCTAL, _DECIMAL = "01234567", "0123456789"
_LINE = united([(ord("\n"), ord("\n"))])


def parse(pattern: str, *, search: bool = False) -> Expression:
    r"""The language of a pattern, as :func:`re.fullmatch` takes it; with `search` as
    :func:`re.search`.

    All of Python's syntax that describes a regular language: characters, classes, escapes, groups,
    choices, greedy and lazy repetitions; ``^``, ``\A``, ``$``, ``\Z`` at the ends.

    Raises:
        TypeError: no string.
        ValueError: no regular expression; says why.
        NotImplementedError: references to groups, looking ahead or behind, word boundaries, atomic
            groups, possessive repetitions, flags.
    """
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be a string, not {type(pattern).__name__}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(pattern)
    except re.error as error:
        raise ValueError(f"pattern {pattern!r} is no regular expression: {error}") from None
    return _Parser(pattern, search).whole()


class _Parser:
    """Reads a pattern that :mod:`re` has accepted."""

    def __init__(self, pattern: str, search: bool):
        self.pattern, self.search, self.at, self.depth = pattern, search, 0, 0

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self, text: str) -> bool:
        if self.pattern.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def _refuse(self, what: str, instead: str) -> NotImplementedError:
        return NotImplementedError(
            f"pattern {self.pattern!r}, position {self.at}: {what} not supported; {instead}"
        )

    def whole(self) -> Expression:
        """All of the pattern."""
        return self._choice()

    def _choice(self) -> Expression:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Expression:
        parts: list[Expression] = []
        begins = ends = False
        while self._next() not in ("", "|", ")"):
            if self._take("(?#"):
                self.at = self.pattern.index(")", self.at) + 1
            elif self._anchor("^", "\\A"):
                if self.depth or parts or ends:
                    raise self._refuse("a start inside is", "put it at the front")
                begins = True
            elif self._anchor("$", "\\Z"):
                ends = True
            elif ends:
                raise self._refuse("an end inside is", "put it at the back")
            else:
                parts.append(self._repeated(self._atom()))
        if ends and self.depth:
            raise self._refuse("an end inside is", "put it at the back")
        if self.search and not self.depth:
            before, after = [Repeat(ANY, 0, None)] * (not begins), [Repeat(ANY, 0, None)]
            parts = [*before, *parts, *after[: not ends]]
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _anchor(self, *marks: str) -> bool:
        if not any(self._take(mark) for mark in marks):
            return False
        if self._next() in tuple("*+?") or (self._next() == "{" and self._bounds() is not None):
            raise self._refuse("repeating an end or a start is", "leave the repetition out")
        return True

    def _repeated(self, part: Expression) -> Expression:
        for mark, low, high in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self._take(mark):
                return self._lazy(Repeat(part, low, high))
        if self._next() == "{":
            bounds = self._bounds()
            if bounds is not None:
                return self._lazy(Repeat(part, *bounds))
        return part

    def _bounds(self) -> tuple[int, int | None] | None:
        """``{m,n}`` and its like; None, and nothing is read, where the brace is a character."""
        found = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}").match(self.pattern, self.at)
        if found is None or found[0] == "{}":
            return None
        self.at = found.end()
        low = int(found[1] or 0)
        if not found[2]:
            return low, low
        return low, int(found[3]) if found[3] else None

    def _lazy(self, found: Repeat) -> Repeat:
        if self._next() == "+":
            raise self._refuse("possessive repetition is", "write a greedy one")
        self._take("?")  # what is tried first makes no difference to whether it matches
        return found

    def _atom(self) -> Expression:
        if self._take("("):
            return self._group()
        if self._take("["):
            return self._class()
        if self._take("."):
            return negated(_LINE)
        if self._take("\\"):
            return self._escape()
        self.at += 1
        return literal(self.pattern[self.at - 1])

    def _group(self) -> Expression:
        if self._take("?P<"):
            self.at = self.pattern.index(">", self.at) + 1
        elif self._next() == "?" and not self._take("?:"):
            raise self._refuse(
                f"'({self.pattern[self.at : self.at + 3]}' is", "use plain groups and choices"
            )
        self.depth += 1
        inner = self._choice()
        self.depth -= 1
        self._take(")")
        return inner

    def _escape(self) -> Expression:
        letter = self._next()
        if letter in "bB":
            raise self._refuse("a word boundary is", "write the characters around it")
        if letter in "123456789":
            three = self.pattern[self.at : self.at + 3]
            if not (len(three) == 3 and three[0] in "123" and set(three) <= set(_OCTAL)):
                raise self._refuse("a reference to a group is", "write the group again")
        kind = self._kind()
        if kind is not None:
            return kind
        return literal(self._escaped())

    def _kind(self) -> Characters | None:
        r"""``\d`` and its like, behind the backslash."""
        letter = self._next()
        if letter.lower() not in _KINDS or not letter:
            return None
        self.at += 1
        found = _KINDS[letter.lower()]()
        return found if letter.islower() else negated(found)

    def _escaped(self) -> str:
        """The one character that an escape stands for, behind the backslash."""
        letter = self._next()
        self.at += 1
        if letter in _LETTERS:
            return _LETTERS[letter]
        if letter in _HEXADECIMAL:
            return chr(int(self._span(_HEXADECIMAL[letter]), 16))
        if letter == "N":
            end = self.pattern.index("}", self.at)
            name = self.pattern[self.at + 1 : end]
            self.at = end + 1
            return unicodedata.lookup(name)
        if letter in _OCTAL:
            start = self.at - 1
            while self.at < start + 3 and self._next() in tuple(_OCTAL):
                self.at += 1
            return chr(int(self.pattern[start : self.at], 8))
        return letter

    def _span(self, size: int) -> str:
        self.at += size
        return self.pattern[self.at - size : self.at]

    def _class(self) -> Characters:
        other = self._take("^")
        ranges: list[tuple[int, int]] = []
        first = True
        while first or self._next() != "]":
            first = False
            low = self._member()
            if isinstance(low, Characters):
                ranges += low.ranges
                continue
            high = low
            if self._next() == "-" and self.pattern[self.at + 1 : self.at + 2] != "]":
                self.at += 1
                high = cast(str, self._member())  # `re` has refused ranges that end in a class
            ranges.append((ord(low), ord(high)))
        self.at += 1
        found = united(ranges)
        return negated(found) if other else found

    def _member(self) -> Characters | str:
        if not self._take("\\"):
            self.at += 1
            return self.pattern[self.at - 1]
        kind = self._kind()
        if kind is not None:
            return kind
        return "\b" if self._take("b") else self._escaped()
