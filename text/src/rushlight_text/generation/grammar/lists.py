"""What stands between brackets and braces in JSON: items and members with commas."""

from __future__ import annotations

from rushlight_text.generation.grammar.expressions import (
    Choice,
    Expression,
    Repeat,
    Sequence,
    literal,
    optional,
)

__all__ = ["COLON", "COMMA", "items", "members"]

_GAP = optional(literal(" "))
COMMA, COLON = Sequence((literal(","), _GAP)), Sequence((literal(":"), _GAP))


def members(pairs: list[tuple[Expression, bool]], started: bool) -> Expression:
    """Members in order, those that are not required or not; commas between."""
    if not pairs:
        return Sequence(())
    (first, needed), rest = pairs[0], pairs[1:]
    if started:
        member: Expression = Sequence((COMMA, first))
        return Sequence((member if needed else optional(member), members(rest, True)))
    there = Sequence((first, members(rest, True)))
    return there if needed else Choice((there, members(rest, False)))


def items(
    first: list[Expression], rest: Expression | None, least: int, most: int | None
) -> Expression:
    """Items between commas: some of their own, then any number of one kind, within bounds."""
    if most == 0:
        return Sequence(())
    parts = first[:most]
    if rest is not None and not parts:
        more = None if most is None else most - 1
        tail = Repeat(Sequence((COMMA, rest)), max(0, least - 1), more)
        some = Sequence((rest, tail))
        return some if least else optional(some)
    tail_after: Expression = Sequence(())
    if rest is not None:
        more = None if most is None else most - len(parts)
        tail_after = Repeat(Sequence((COMMA, rest)), max(0, least - len(parts)), more)
    for number in range(len(parts) - 1, -1, -1):
        item = parts[number] if number == 0 else Sequence((COMMA, parts[number]))
        both = Sequence((item, tail_after))
        tail_after = both if number < least else optional(both)
    return tail_after
