"""Floats that are lines of a size, or magnitudes of these: ``n / 3``, ``n * 0.1``,
``1 - n * 0.25``, ``abs(n * 0.1 - 5)``."""

from __future__ import annotations

import math
import operator

from rushlight.export.dynamic.expressions import Expression, add

MOST_DIGITS = 17  # which tell every float64 from others


def fitted(row, known, tolerance) -> Expression | None:
    """The expression of floats that gives a row, of sizes by their rows; None without one."""
    for way in (_quotient, _multiple, _line, _magnitude):
        for sizes, expression in known.items():
            if len(set(sizes)) > 1:
                found = way(row, sizes, expression, tolerance)
                if found is not None:
                    return found
    return None


def _quotient(row, sizes, size, _tolerance):
    """``size / d`` of a whole number, which is rounded once."""
    if not row[0] or not sizes[0]:
        return None
    divisor = _nearest(sizes[0] / row[0])
    if divisor in (0, 1, -1) or any(n / divisor != v for n, v in zip(sizes, row, strict=True)):
        return None
    return Expression(operator.truediv, (size, _number(divisor)))


def _nearest(value):
    return round(value) if math.isfinite(value) else 0


def _multiple(row, sizes, size, _tolerance):
    """``float(size) * factor``, of the factor with the fewest digits that gives the same floats."""
    most = max(range(len(row)), key=lambda i: abs(sizes[i]))
    for factor in _shortened(row[most] / sizes[most]):
        if factor and all(float(n) * factor == v for n, v in zip(sizes, row, strict=True)):
            return Expression(operator.mul, (_float(size), _number(factor)))
    return None


def _line(row, sizes, size, tolerance):
    """``float(size) * factor + offset``; the order in which a program rounded is not known."""
    least, most = (pick(range(len(row)), key=lambda i: sizes[i]) for pick in (min, max))
    slope = (row[most] - row[least]) / (sizes[most] - sizes[least])
    for factor in _shortened(slope):
        rest = row[least] - factor * sizes[least]
        for offset in (0.0, *_shortened(rest)) if factor else ():
            same = all(
                abs(factor * n + offset - v) <= tolerance * (abs(factor * n) + abs(offset))
                for n, v in zip(sizes, row, strict=True)
            )
            if same:
                scaled = Expression(operator.mul, (_float(size), _number(factor)))
                return add(scaled, _number(offset)) if offset else scaled
    return None


def _magnitude(row, sizes, size, tolerance):
    """``abs(line)``, as the greater of the line and its opposite: archives have no magnitudes."""
    if min(row) < 0:
        return None
    for turn in sorted(set(sizes))[1:]:  # the first size at which the line is not negative
        signed = [-v if n < turn else v for n, v in zip(sizes, row, strict=True)]
        line = _line(signed, sizes, size, tolerance)
        if line is not None:
            return Expression(max, (line, Expression(operator.mul, (line, _number(-1.0)))))
    return None


def _shortened(value):
    """A float with few digits, then with more, up to all."""
    if not math.isfinite(value):
        return []
    texts = (f"{value:.{digits}g}" for digits in range(1, MOST_DIGITS + 1))
    return list(dict.fromkeys(map(float, texts)))


def _float(size):
    return Expression(float, (size,))


def _number(value):
    return Expression("number", (value,))
