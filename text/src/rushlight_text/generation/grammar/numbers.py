"""JSON numbers within bounds as expressions, digit by digit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from rushlight_text.generation.grammar.expressions import (
    Characters,
    Choice,
    Expression,
    Machine,
    Repeat,
    Sequence,
    literal,
    optional,
)

__all__ = ["Bound", "integers", "multiples", "numbers"]

MOST_REMAINDERS = 2048


class Bound(NamedTuple):
    """One end of a range, itself included or not."""

    value: Decimal
    included: bool


def _digit(low: str, high: str) -> Characters:
    return Characters(((ord(low), ord(high)),))


_ANY, _FIRST, _ZERO = _digit("0", "9"), _digit("1", "9"), literal("0")
_NOTHING = Choice(())


def _any(least: int = 0, most: int | None = None) -> Repeat:
    return Repeat(_ANY, least, most)


def _either(parts: Iterable[Expression]) -> Expression:
    found = tuple(parts)
    return found[0] if len(found) == 1 else Choice(found)


# ---------------------------------------------------------------------------------------- integers
def integers(low: Bound | None, high: Bound | None) -> Expression:
    """Integers from one bound to another; None: without an end."""
    least = None if low is None else math.ceil(low.value)
    most = None if high is None else math.floor(high.value)
    if low is not None and not low.included and least == low.value:
        least = math.ceil(low.value) + 1
    if high is not None and not high.included and most == high.value:
        most = math.floor(high.value) - 1
    return _integers(least, most)


def _integers(least: int | None, most: int | None) -> Expression:
    found: list[Expression] = []
    if least is None or least < 0:
        upper = None if least is None else -least
        lower = 1 if most is None or most >= 0 else -most
        found.append(Sequence((literal("-"), _naturals(lower, upper))))
    if most is None or most >= 0:
        found.append(_naturals(max(least or 0, 0), most))
    return _either(found)


def _naturals(least: int, most: int | None) -> Expression:
    """Integers from 0, without zeros in front."""
    low = str(least)
    if most is None:
        longer = Sequence((_FIRST, _any(len(low))))
        return Choice((*_at_least(low), longer))
    if least > most:
        return _NOTHING
    high = str(most)
    if len(low) == len(high):
        return _either(_of_one_length(low, high))
    between = [
        Sequence((_FIRST, _any(size - 1, size - 1))) for size in range(len(low) + 1, len(high))
    ]
    return Choice((*_at_least(low), *between, *_at_most(high, "1")))


def _at_least(low: str) -> list[Expression]:
    """Digits of the same number that are at least these."""
    found: list[Expression] = [literal(low)]
    for place, digit in enumerate(low):
        if digit < "9":
            found.append(_fixed(low[:place], chr(ord(digit) + 1), "9", len(low) - place - 1))
    return found


def _at_most(high: str, lowest: str = "0") -> list[Expression]:
    """Digits of the same number that are at most these; the first one is at least `lowest`."""
    found: list[Expression] = [literal(high)]
    for place, digit in enumerate(high):
        low = "0" if place else lowest
        if digit > low:
            found.append(_fixed(high[:place], low, chr(ord(digit) - 1), len(high) - place - 1))
    return found


def _fixed(start: str, low: str, high: str, rest: int) -> Expression:
    return Sequence((literal(start), _digit(low, high), _any(rest, rest)))


def _of_one_length(low: str, high: str) -> list[Expression]:
    """Digits between two of the same number."""
    if low == high:
        return [literal(low)]
    place = next(i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a != b)
    start, rest = low[:place], len(low) - place - 1
    found: list[Expression] = []
    if ord(high[place]) - ord(low[place]) > 1:
        inner = chr(ord(low[place]) + 1), chr(ord(high[place]) - 1)
        found.append(_fixed(start, *inner, rest))
    for end, parts in (
        (low[: place + 1], _at_least(low[place + 1 :])),
        (high[: place + 1], _at_most(high[place + 1 :])),
    ):
        found.append(Sequence((literal(end), _either(parts))))
    return found


# --------------------------------------------------------------------------------------- fractions
def numbers(low: Bound | None, high: Bound | None) -> Expression:
    """Numbers from one bound to another, written without an exponent; None: without an end."""
    zero = Decimal(0)
    found: list[Expression] = []
    if low is None or low.value < 0:
        least = Bound(zero, False)
        if high is not None and high.value < 0:
            least = Bound(-high.value, high.included)
        most = None if low is None else Bound(-low.value, low.included)
        found.append(Sequence((literal("-"), _positive(least, most))))
    if high is None or high.value >= 0:
        least = Bound(zero, True) if low is None or low.value < 0 else low
        found.append(_positive(least, high))
    return _either(found)


def _positive(low: Bound, high: Bound | None) -> Expression:
    """Numbers from 0 between bounds."""
    whole, fraction = _split(low.value)
    above = Sequence((literal(str(whole)), _fraction_from(fraction, low.included)))
    if high is None:
        return Choice((above, Sequence((_naturals(whole + 1, None), _fraction()))))
    if low.value > high.value:
        return _NOTHING
    last, end = _split(high.value)
    if whole == last:
        between = _fraction_between(fraction, end, low.included, high.included)
        return Sequence((literal(str(whole)), between))
    below = Sequence((literal(str(last)), _fraction_to(end, high.included)))
    inside = Sequence((_naturals(whole + 1, last - 1), _fraction()))
    return Choice((above, inside, below))


def _split(value: Decimal) -> tuple[int, str]:
    """The whole part, and the digits behind the point without zeros at their end."""
    whole, _, fraction = format(value, "f").partition(".")
    return int(whole), fraction.rstrip("0")


def _fraction() -> Expression:
    return optional(Sequence((literal("."), _any(1))))


def _pointed(parts: list[Expression], is_optional: bool) -> Expression:
    found = Sequence((literal("."), _either(parts))) if parts else _NOTHING
    if not is_optional:
        return found
    return optional(found) if parts else Sequence(())


_MORE = Sequence((Repeat(_ZERO, 0, None), _FIRST, _any()))  # more than nothing


def _tail_from(digits: str, included: bool, least: int) -> list[Expression]:
    """Digits behind the point from these on, at least so many."""
    digits = digits.rstrip("0")
    if not digits:
        return [_any(least)] if included else [_MORE]
    found: list[Expression] = [
        Sequence((literal(digits[:place]), _digit(chr(ord(digit) + 1), "9"), _any()))
        for place, digit in enumerate(digits)
        if digit < "9"
    ]
    return [*found, Sequence((literal(digits), _any() if included else _MORE))]


def _tail_to(digits: str, included: bool, least: int) -> list[Expression]:
    """Digits behind the point up to these, at least so many."""
    digits = digits.rstrip("0")
    zeros = Repeat(_ZERO, 0, None)
    if not digits:
        return [Repeat(_ZERO, least, None)] if included else []
    found: list[Expression] = [
        Sequence((literal(digits[:place]), _digit("0", chr(ord(digit) - 1)), _any()))
        for place, digit in enumerate(digits)
        if digit > "0"
    ]
    found += [literal(digits[:place]) for place in range(least, len(digits))]
    return [*found, Sequence((literal(digits), zeros))] if included else found


def _fraction_from(digits: str, included: bool) -> Expression:
    return _pointed(_tail_from(digits, included, 1), not digits and included)


def _fraction_to(digits: str, included: bool) -> Expression:
    return _pointed(_tail_to(digits, included, 1), bool(digits) or included)


def _fraction_between(low: str, high: str, low_in: bool, high_in: bool) -> Expression:
    size = max(len(low), len(high))
    low, high = low.ljust(size, "0"), high.ljust(size, "0")
    if low == high:
        if not (low_in and high_in):
            return _NOTHING
        digits = low.rstrip("0")
        zeros = Sequence((literal(digits), Repeat(_ZERO, 0 if digits else 1, None)))
        return _pointed([zeros], not digits)
    place = next(i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a != b)
    start = literal(low[:place])
    found: list[Expression] = []
    if ord(high[place]) - ord(low[place]) > 1:
        inner = _digit(chr(ord(low[place]) + 1), chr(ord(high[place]) - 1))
        found.append(Sequence((start, inner, _any())))
    for digit, tails in (
        (low[place], _tail_from(low[place + 1 :], low_in, 0)),
        (high[place], _tail_to(high[place + 1 :], high_in, 0)),
    ):
        if tails:
            found.append(Sequence((start, literal(digit), _either(tails))))
    shorter = range(len(low.rstrip("0")), place + 1) if low_in else range(0)
    found += [literal(low[:count]) for count in shorter if count]
    return _pointed(found, low_in and not low.strip("0"))


# --------------------------------------------------------------------------------------- multiples
def multiples(step: Decimal) -> Expression:
    """Numbers of any size, without an exponent, that are a multiple of `step`, which is above 0.

    Read digit by digit; the state is how many digits behind the point there were, and the remainder
    of those read. Raises ValueError where there are too many remainders.
    """
    _, digits, exponent = step.normalize().as_tuple()
    behind = max(0, -int(exponent))  # digits that a multiple has behind its point
    modulus = int(step.scaleb(behind))
    if modulus * (behind + 1) > MOST_REMAINDERS:
        raise ValueError(f"multiples of {step} have over {MOST_REMAINDERS:,} remainders")
    states = [(point, rest) for point in range(-1, behind + 2) for rest in range(modulus)]
    numbers = {state: number for number, state in enumerate(states)}
    edges = [_next_digits(point, rest, modulus, behind, numbers) for point, rest in states]
    accepting = [
        number
        for number, (point, rest) in enumerate(states)
        if point != 0 and rest * 10 ** max(0, behind - max(point, 0)) % modulus == 0
    ]
    return Sequence((optional(literal("-")), Machine(tuple(edges), frozenset(accepting))))


def _next_digits(
    point: int, rest: int, modulus: int, behind: int, numbers: dict[tuple[int, int], int]
) -> tuple[tuple[Expression, int], ...]:
    """What may follow: `point` is -1 before the point, then the number of digits behind it, up to
    one more than count; those that do not are zeros."""
    after = [(literal(str(d)), (rest * 10 + d) % modulus) for d in range(10)]
    if point == -1:
        found = [(digit, numbers[-1, other]) for digit, other in after]
        return (*found, (literal("."), numbers[0, rest]))
    if point < behind:
        return tuple((digit, numbers[point + 1, other]) for digit, other in after)
    return () if rest else ((_ZERO, numbers[behind + 1, 0]),)
