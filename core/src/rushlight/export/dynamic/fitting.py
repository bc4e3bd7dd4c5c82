"""From a number's values at several sizes to an expression of the sizes."""

from __future__ import annotations

import itertools
import math
import operator

from rushlight.export.dynamic import float_lines
from rushlight.export.dynamic.expressions import (
    FORMS,
    Expression,
    SymFloat,
    SymInt,
    add,
    number,
    over,
    symbol,
    times,
)

DIVISORS = range(2, 65)
FACTORS = (1, 2, 3, 5)
NEAREST = 24  # how many quantities are tried in pairs


class DifferentProgramsError(Exception):
    """Captures at several sizes differ in more than whole numbers; `node` says where, of the first
    capture."""

    def __init__(self, reason, node=None):
        super().__init__(reason)
        self.node = node


class Quantities:
    """What is known to depend on the sizes: the symbols, then sizes of values in their order.

    `samples` are the sizes of the captures, by symbol; a *row* is a number's values in these.
    `lengths` are what the program may divide sizes by.
    """

    def __init__(self, samples, lengths=()):
        self.samples, self.lengths = samples, sorted(lengths)
        self.known: dict[tuple, Expression] = {}
        self.doubts: list[tuple[Expression, Expression]] = []
        self.guessed = False  # whether a division was found that programs seldom have
        for name in samples[0]:
            self.known.setdefault(tuple(sample[name] for sample in samples), symbol(name))

    def number(self, row):
        """A row as a number: plain where it is the same everywhere, else with its expression; None
        where there is none."""
        if all(value == row[0] for value in row):
            return row[0]
        found = self.expression(row)
        return None if found is None else SymInt(row[0], found)

    def float(self, row, tolerance=1e-12):
        """The same for a float that a size was made into, right to a relative tolerance."""
        if all(value == row[0] or (math.isnan(value) and math.isnan(row[0])) for value in row):
            return row[0]
        for form in _BACK:
            sizes = [_whole(form, value) for value in row]
            if None in sizes or any(
                not math.isclose(FORMS[form](n), value, rel_tol=tolerance)
                for n, value in zip(sizes, row, strict=True)
            ):
                continue
            found = self.expression(tuple(sizes))
            if found is not None:
                return SymFloat(row[0], form, found)
        found = float_lines.fitted(row, self.known, tolerance)
        return None if found is None else SymFloat(row[0], "itself", found)

    def expression(self, row) -> Expression | None:
        """The simplest expression that gives a row."""
        row = tuple(row)
        if row not in self.known:
            for way in (_linear, self._divided, _products, _of_two):
                found = way(row, self.known)
                if found:
                    best, doubt, *usual = min(found, key=lambda each: each[0].length())
                    if doubt is not None:
                        self.doubts.append((best, doubt))
                    self.guessed |= usual == [False]
                    self.known[row] = best
                    break
        if row not in self.known and max(row) <= 0 and min(row) < 0:
            opposite = self.expression([-value for value in row])
            if opposite is not None:
                self.known[row] = times(-1, opposite)
        return self.known.get(row)

    def _divided(self, row, known):
        return _rounded(row, known, self.lengths)


def _whole(form, value):
    """The whole number that a float is a form of; of 0 there is only the number itself."""
    try:
        found = _BACK[form](value)
        whole = round(found) if math.isfinite(found) else 0
        return whole if whole or found == 0 and form == "number" else None
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


_BACK = {
    "number": float,
    "inverted": lambda x: 1 / x,
    "root": lambda x: x * x,
    "inverted root": lambda x: 1 / (x * x),
    "logarithm": math.exp,
}


# Each gives pairs: an expression, and another that gives the same row if there is one; of divisions
# also whether programs often have them.
def _linear(row, known):
    """``a * known + b``."""
    found = []
    for other, expression in known.items():
        i, j = _apart(other)
        if j is None:
            continue
        factor, rest = divmod(row[i] - row[j], other[i] - other[j])
        offset = row[i] - factor * other[i]
        if (
            rest == 0
            and factor
            and all(factor * k + offset == v for k, v in zip(other, row, strict=True))
        ):
            found.append((add(times(factor, expression), offset), None))
    return found


def _apart(row):
    """Indices of two different values; None for the second where all are equal."""
    return 0, next((i for i, value in enumerate(row) if value != row[0]), None)


def _rounded(row, known, lengths):
    """``(a * known + b) // d``; where several b do, one that is likely and one beside it. The
    program's `lengths` are tried before other divisors."""
    found = []
    several = itertools.product(DIVISORS, FACTORS)
    for divisor, factor in (*((n, 1) for n in lengths if n > 1), *several):
        if math.gcd(divisor, factor) > 1:
            continue
        for other, expression in known.items():
            pairs = list(zip(other, row, strict=True))
            low = max(divisor * v - factor * k for k, v in pairs)
            high = min(divisor * v - factor * k + divisor - 1 for k, v in pairs)
            if low <= high:
                first = _likely(low, high, divisor, lengths)
                whole = times(factor, expression)
                rest = first - 1 if first > low else high
                doubt = None if low == high else over(add(whole, rest), divisor)
                usual = first in _usual(divisor, lengths)
                found.append((over(add(whole, first), divisor), doubt, usual))
        if found:
            return found
    return _fractions(row, known) or _rounded_more(row, known)


def _fractions(row, known):
    """``(a * known + b) // d`` of any fraction between the slopes that the least and the greatest
    size leave, such as 7/20 of a size: the simplest, and one beside it."""
    found = []
    for other, expression in known.items():
        least, most = other.index(min(other)), other.index(max(other))
        steps, size = row[most] - row[least], other[most] - other[least]
        if steps < 2:
            continue
        for divisor in DIVISORS:
            first, last = (steps - 1) * divisor // size, -(-(steps + 1) * divisor // size)
            for factor in range(max(first, 1), last + 1):
                bounds = [divisor * v - factor * k for k, v in zip(other, row, strict=True)]
                low, high = max(bounds), min(bounds) + divisor - 1
                if math.gcd(divisor, factor) == 1 and low <= high:
                    whole, likely = times(factor, expression), _likely(low, high, divisor, ())
                    offsets = dict.fromkeys((likely, low, high))
                    found += [over(add(whole, b), divisor) for b in offsets]
        if found:
            return [(found[0], found[-1] if len(found) > 1 else None, False)]
    return []


def _likely(low, high, divisor, lengths):
    """Of the numbers from `low` to `high` the one of a division rounded down or up, or of windows
    of a length that are `divisor` apart; else the least."""
    return next((b for b in _usual(divisor, lengths) if low <= b <= high), low)


def _usual(divisor, lengths):
    return (0, divisor - 1, *(divisor - n for n in lengths), *(-n for n in lengths))


def _rounded_more(row, known):
    """``(known + b) // d`` with a divisor above those of :func:`_rounded`, such as the hop of a
    spectrogram: the least and the greatest size leave few."""
    found = []
    for other, expression in known.items():
        least, most = other.index(min(other)), other.index(max(other))
        steps, size = row[most] - row[least], other[most] - other[least]
        if steps < 2:
            continue
        first = max(DIVISORS[-1] + 1, -(-size // (steps + 1)))
        for divisor in range(first, min(size // (steps - 1), first + NEAREST) + 1):
            bounds = [divisor * v - k for k, v in zip(other, row, strict=True)]
            low, high = max(bounds), min(bounds) + divisor - 1
            found += [over(add(expression, b), divisor) for b in {low, high} if low <= high]
        if found:
            return [(found[0], found[-1] if len(found) > 1 else None, False)]
    return []


def _products(row, known):
    """``c * known * known``, of two or three."""
    found, near = [], list(known.items())[-NEAREST:] + list(known.items())[:4]
    for count in (2, 3):
        for several in itertools.combinations_with_replacement(near, count):
            factor = _ratio(row, [math.prod(v) for v in zip(*(o for o, _ in several), strict=True)])
            if factor:
                product = several[0][1]
                for _, expression in several[1:]:
                    product = times(product, expression)
                found.append((times(factor, product), None))
        if found:
            return found
    return found


def _ratio(row, products):
    """The whole number that `row` is times `products`, or 0."""
    factor, rest = divmod(row[0], products[0]) if products[0] else (0, 1)
    same = rest == 0 and all(factor * p == v for p, v in zip(products, row, strict=True))
    return factor if same else 0


def _of_two(row, known):
    """Sums, quotients, the least and the greatest of two."""
    found, near = [], list(known.items())[-NEAREST:] + list(known.items())[:4]
    for (first, a), (second, b) in itertools.permutations(near, 2):
        pairs = list(zip(first, second, strict=True))
        offset = row[0] - sum(pairs[0])
        if all(v == x + y + offset for v, (x, y) in zip(row, pairs, strict=True)):
            found.append((add(add(a, b), offset), None))
        elif all(y and v == x // y for v, (x, y) in zip(row, pairs, strict=True)):
            found.append((over(a, b), None))
        for kind in (max, min):
            if all(v == kind(pair) for v, pair in zip(row, pairs, strict=True)):
                found.append((Expression(kind, (a, b)), None))
    return found or _differences(row, near)


def _differences(row, near):
    """``known - known + b``, and what is left over by a number."""
    found = []
    for (first, a), (second, b) in itertools.permutations(near, 2):
        offset = row[0] - first[0] + second[0]
        values = zip(row, first, second, strict=True)
        if all(v == x - y + offset for v, x, y in values):
            found.append((add(add(a, times(number(-1), b)), offset), None))
    for other, expression in near:
        whole = row[0] * other[0]
        if whole and all(v * n == whole for n, v in zip(other, row, strict=True)):
            found.append((over(number(whole), expression), None))
        for kind, limit in ((max, min(row)), (min, max(row))):
            pairs = list(zip(other, row, strict=True))
            offset = next((v - k for k, v in pairs if v != limit), 0)
            if all(v == kind(k + offset, limit) for k, v in pairs):
                whole = Expression(kind, (add(expression, offset), number(limit)))
                # one size at the limit is no evidence of it: abs() turns there as well
                found.append((whole, None, row.count(limit) > 1))
    return found or _parts_of_multiples(row, near) or _remainders(row, near)


def _parts_of_multiples(row, near):
    """``factor * known // known``, without a rest."""
    found = []
    for (first, a), (second, b) in itertools.permutations(near, 2):
        products = [v * y for v, y in zip(row, second, strict=True)]
        factor = _ratio(products, first) if all(second) else 0
        if factor:
            found.append((over(times(factor, a), b), None))
    return found


def _multiples(row, near):
    """The multiple of a number that is next to ``known``, below or above."""
    found = []
    for divisor in DIVISORS:
        if any(value % divisor for value in row):
            continue
        for other, expression in near:
            for offset in (0, divisor - 1):
                pairs = zip(other, row, strict=True)
                if all(v == (k + offset) // divisor * divisor for k, v in pairs):
                    found.append(times(divisor, over(add(expression, offset), divisor)))
    return found


def _remainders(row, near):
    """``(known + b) % d``, and what is missing to a multiple, ``(b - known) % d`` as
    ``((d - 1) * known + b) % d``, which nowhere divides a negative number."""
    found = []
    for divisor in DIVISORS:
        if min(row) < 0 or max(row) >= divisor:
            continue
        for other, expression in near:
            for factor in (1, divisor - 1):
                offset = (row[0] - factor * other[0]) % divisor
                pairs = zip(other, row, strict=True)
                if all(v == (factor * k + offset) % divisor for k, v in pairs):
                    whole = add(times(factor, expression), offset)
                    found.append(Expression(operator.mod, (whole, number(divisor))))
    found = found or _multiples(row, near)
    # another divisor may give the same at these sizes
    return [(found[0], found[1] if len(found) > 1 else None)] if found else []
