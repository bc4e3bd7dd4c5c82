"""Strings of JSON as expressions: characters and their escapes, patterns, lengths, formats."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

from rushlight_text.generation.grammar.expressions import (
    ANY,
    LAST,
    Characters,
    Choice,
    Expression,
    Repeat,
    Sequence,
    Shared,
    literal,
    negated,
    united,
)
from rushlight_text.generation.grammar.parsing import parse

__all__ = ["CHARACTER", "FORMATS", "ONE_WAY", "string", "written"]

_SHORT = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
_SURROGATES = (0xD800, 0xDFFF)
# What stands for itself between quotation marks.
_PLAIN = negated(united([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), _SURROGATES]))
_MARKED = (*range(0x20), 0x22, 0x5C)
# One code point in a string; escapes of halves of pairs are not written.
CHARACTER = Choice(
    (_PLAIN, parse(r"""\\(["\\/bfnrt]|u([0-9a-ce-fA-CE-F][0-9a-fA-F]|[dD][0-7])[0-9a-fA-F]{2})"""))
)
_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
_BYTE = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_HEX = "[0-9a-fA-F]"
# How strings of some formats are written.
FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "uuid": f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}",
    "ipv4": rf"{_BYTE}(\.{_BYTE}){{3}}",
}


def string(
    patterns: Iterable[str], length: tuple[int, int | None], format: str, character: Expression
) -> Expression:
    """Strings that have all patterns, so many code points, and a format of `FORMATS`.

    `character` says how one code point is written that no pattern names: :data:`CHARACTER`, in all
    ways, or :data:`ONE_WAY`.
    """
    parts = [_escaped(parse(pattern, search=True), character) for pattern in patterns]
    if format in FORMATS:
        parts.append(parse(FORMATS[format]))
    if not parts or length != (0, None):
        parts.append(Repeat(character, *length))
    return Sequence((literal('"'), functools.reduce(Shared, parts), literal('"')))


def _escaped(part: Expression, character: Expression) -> Expression:
    """An expression of characters as they are written between quotation marks."""
    if isinstance(part, Sequence):
        return Sequence(tuple(_escaped(each, character) for each in part.parts))
    if isinstance(part, Choice):
        return Choice(tuple(_escaped(each, character) for each in part.parts))
    if isinstance(part, Repeat):
        return Repeat(_escaped(part.part, character), part.low, part.high)
    if not isinstance(part, Characters):
        raise TypeError(f"a pattern is made of characters and their repetitions, got {part!r}")
    return character if part == ANY else _one_way(part)


def _one_way(part: Characters) -> Expression:
    inside = [_both(part, each) for each in _PLAIN.ranges]
    plain = Characters(tuple(each for found in inside for each in found))
    marked = [code for code in _MARKED if any(low <= code <= high for low, high in part.ranges)]
    escapes = [literal(f"\\{_SHORT.get(code, f'u{code:04x}')}") for code in marked]
    return Choice((plain, *escapes))


def _both(part: Characters, limits: tuple[int, int]) -> list[tuple[int, int]]:
    found = [(max(low, limits[0]), min(high, limits[1])) for low, high in part.ranges]
    return [(low, high) for low, high in found if low <= high]


# One code point written as :func:`json.dumps` writes it: two equal strings are equal texts.
ONE_WAY = _one_way(Characters(((0, LAST),)))


def written(value: Any) -> Expression:
    """A value as JSON; of containers with the spaces of :func:`json.dumps`."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:  # halves of pairs
        text = json.dumps(value)
    return literal(text)
