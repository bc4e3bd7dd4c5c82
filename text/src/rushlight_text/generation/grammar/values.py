"""Schemas of few values: those values, lists of different ones, and all ways to write one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from rushlight_text.generation.grammar.expressions import (
    Expression,
    Machine,
    Repeat,
    Sequence,
    literal,
    optional,
)
from rushlight_text.generation.grammar.merging import equal
from rushlight_text.generation.grammar.strings import written

__all__ = ["MOST_VALUES", "different", "every_writing", "values_of"]

MOST_VALUES = 10  # lists of different values have a state for every subset


def values_of(schema: Any, resolved: Callable[[Any], Mapping[str, Any]]) -> list[Any] | None:
    """The different values that a schema allows, or None where they are not listed."""
    schema = resolved(schema)
    found: list[Any] = []
    for value in _listed(schema, resolved) or ():
        if not any(equal(value, other) for other in found):
            found.append(value)
    return found or None


def _listed(schema: Mapping[str, Any], resolved: Callable[[Any], Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    if "anyOf" in schema:
        parts = [values_of(part, resolved) for part in schema["anyOf"]]
        return None if None in parts else [value for part in parts for value in part or ()]
    kind, low, high = schema.get("type"), schema.get("minimum"), schema.get("maximum")
    if kind in ("boolean", "null"):
        return [False, True] if kind == "boolean" else [None]
    if kind != "integer" or not set(schema) <= {"type", "minimum", "maximum"}:
        return None
    if isinstance(low, int) and isinstance(high, int) and high - low < MOST_VALUES:
        return list(range(low, high + 1))
    return None


def different(values: list[Any], least: int, most: int | None, between: Expression) -> Expression:
    """Lists of `least` to `most` of the values, none of them twice; the state is which ones there
    were."""
    most = len(values) if most is None else min(most, len(values))
    texts = [written(value) for value in values]
    numbers, masks = {0: 0}, [0]
    edges: list[tuple[tuple[Expression, int], ...]] = []
    while len(edges) < len(masks):
        mask = masks[len(edges)]
        row: list[tuple[Expression, int]] = []
        for place, text in enumerate(texts):
            after = mask | 1 << place
            if after == mask or after.bit_count() > most:
                continue
            if numbers.setdefault(after, len(masks)) == len(masks):
                masks.append(after)
            row.append((Sequence((between, text)) if mask else text, numbers[after]))
        edges.append(tuple(row))
    accepting = frozenset(n for n, mask in enumerate(masks) if mask.bit_count() >= least)
    return Machine(tuple(edges), accepting)


def every_writing(value: Any) -> Expression | None:
    """A number in all ways without an exponent, a string in one, a constant; None for lists and
    objects."""
    if isinstance(value, list | dict):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return written(value)
    whole, _, fraction = format(Decimal(str(value)), "f").partition(".")
    fraction, zeros = fraction.rstrip("0"), Repeat(literal("0"), 0, None)
    if fraction:
        return Sequence((literal(f"{whole}.{fraction}"), zeros))
    return Sequence((literal(whole), optional(Sequence((literal(".0"), zeros)))))
