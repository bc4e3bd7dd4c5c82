"""JSON schemas as expressions: JSON texts whose values a schema allows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from rushlight_text.generation.grammar.expressions import (
    ANY,
    Characters,
    Choice,
    Expression,
    Repeat,
    Sequence,
    literal,
    negated,
    optional,
    united,
)
from rushlight_text.generation.grammar.merging import are_apart, merged
from rushlight_text.generation.grammar.numbers import Bound, integers, numbers
from rushlight_text.generation.grammar.parsing import parse

__all__ = ["schema_expression"]

# Keywords that say something about a value without restricting it.
_NOTES = frozenset(
    "$schema $id $comment $defs definitions title description default examples deprecated "
    "readOnly writeOnly format".split()
)
_OF_KINDS: dict[Any, set[str]] = {
    "string": {"minLength", "maxLength", "pattern"},
    "array": {"items", "prefixItems", "minItems", "maxItems"},
    "object": {"properties", "required", "additionalProperties"},
    "integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "boolean": set(),
    "null": set(),
}
_WHOLE = "-?(0|[1-9][0-9]*)"
_ATOMS = {
    "integer": _WHOLE,
    "number": rf"{_WHOLE}(\.[0-9]+)?([eE][+-]?[0-9]+)?",
    "boolean": "true|false",
    "null": "null",
}
_SHORT = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
_SURROGATES = (0xD800, 0xDFFF)
# What stands for itself between quotation marks.
_PLAIN = negated(united([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), _SURROGATES]))
# One code point in a string; escapes of halves of pairs are not written.
_CHARACTER = Choice(
    (_PLAIN, parse(r"""\\(["\\/bfnrt]|u([0-9a-ce-fA-CE-F][0-9a-fA-F]|[dD][0-7])[0-9a-fA-F]{2})"""))
)
_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
_BYTE = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_HEX = "[0-9a-fA-F]"
# How strings of some formats are written.
_FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "uuid": f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}",
    "ipv4": rf"{_BYTE}(\.{_BYTE}){{3}}",
}
_GAP = optional(literal(" "))
_COMMA, _COLON = Sequence((literal(","), _GAP)), Sequence((literal(":"), _GAP))


def schema_expression(schema: Mapping[str, Any] | bool, recursion: int = 0) -> Expression:
    """JSON texts that a schema allows, on one line; a space may follow ``,`` and ``:``.

    Args:
        schema: with ``type`` (one or several), ``enum``, ``const``, ``anyOf``, ``allOf`` of
            keywords that are one schema together, ``oneOf`` of alternatives that exclude each other
            by type, constants or a required property's constant, ``$ref``; of numbers ``minimum``,
            ``maximum``, ``exclusiveMinimum``, ``exclusiveMaximum``, which are then written without
            an exponent; of strings ``minLength``, ``maxLength`` or ``pattern``; of arrays
            ``items``, ``prefixItems``, ``minItems``, ``maxItems``; of objects ``properties``,
            ``required``, ``additionalProperties``. Properties are written in their order, and no
            others but those of an ``additionalProperties`` schema where there are no
            ``properties``. ``format`` is ``date``, ``time``, ``date-time``, ``uuid`` or ``ipv4``;
            others are notes.
        recursion: how many times a ``$ref`` may be inside of itself; deeper parts allow nothing.

    Raises:
        NotImplementedError: a keyword that restricts in another way, or recursion.
        ValueError: what is no schema.
    """
    if isinstance(recursion, bool) or not isinstance(recursion, int) or recursion < 0:
        raise ValueError(f"recursion must be a number from 0, got {recursion!r}")
    return _Compiler(schema, recursion).of(schema, ())


class _Compiler:
    """Reads one schema; `path` says where, for errors."""

    def __init__(self, root: Any, recursion: int):
        self.root, self.recursion = root, recursion

    def of(self, schema: Any, path: tuple[str, ...]) -> Expression:
        """The texts that one part of the schema allows."""
        if not isinstance(schema, Mapping):
            raise NotImplementedError(f"{_at(path)}: {schema!r} allows anything; say a type")
        if "$ref" in schema:
            _known(schema, {"$ref"}, path)
            return self._referred(schema["$ref"], path)
        if "allOf" in schema:
            part, inside = self._together(schema, path)
            return Choice(()) if inside is None else self.of(part, inside)
        for word in ("const", "enum"):
            if word in schema:
                _known(schema, {word, "type"}, path)
                values = [schema[word]] if word == "const" else schema[word]
                return Choice(tuple(_written(value) for value in values))
        if "anyOf" in schema:
            _known(schema, {"anyOf"}, path)
            parts = enumerate(schema["anyOf"])
            return Choice(tuple(self.of(part, (*path, f"anyOf/{n}")) for n, part in parts))
        if "oneOf" in schema:
            _known(schema, {"oneOf"}, path)
            self._check_apart(schema["oneOf"], path)
            parts = enumerate(schema["oneOf"])
            return Choice(tuple(self.of(part, (*path, f"oneOf/{n}")) for n, part in parts))
        kinds = schema.get("type")
        listed = kinds if isinstance(kinds, list) else [kinds]
        if None in listed:
            raise NotImplementedError(f"{_at(path)}: without a type it allows anything; say one")
        allowed = {"type"}.union(*(_OF_KINDS.get(kind, set()) for kind in listed))
        _known(schema, allowed, path)
        found = [self._kind(kind, schema, path) for kind in listed]
        return found[0] if len(found) == 1 else Choice(tuple(found))

    def _together(
        self, schema: Mapping[str, Any], path: tuple[str, ...]
    ) -> tuple[dict[str, Any], tuple[str, ...] | None]:
        """A schema with ``allOf`` as one without, and its path; None: it is inside of itself too
        often."""
        parts, at = [], _at(path)
        inside = path
        for part in schema["allOf"]:
            while isinstance(part, Mapping) and "$ref" in part:
                _known(part, {"$ref"}, path)
                entered = self._entered(part["$ref"], inside)
                if entered is None:
                    return {}, None
                inside = entered
                part = self._found(part["$ref"], path)
            if not isinstance(part, Mapping):
                raise NotImplementedError(f"{at}: {part!r} allows anything; say a type")
            if "allOf" in part:
                part, deeper = self._together(part, inside)
                if deeper is None:
                    return {}, None
                inside = deeper
            parts.append(part)
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        return merged([*parts, rest], _NOTES - {"format"}, at), inside

    def _entered(self, reference: str, path: tuple[str, ...]) -> tuple[str, ...] | None:
        """The path inside of what is referred to; None: it is inside of itself too often."""
        if path.count(reference) > self.recursion:
            if self.recursion:
                return None
            raise NotImplementedError(
                f"{_at(path)}: {reference} refers to itself, which no finite automaton follows; "
                "pass how deep it may be as recursion=, or write out the levels"
            )
        return (*path, reference)

    def _check_apart(self, parts: list[Any], path: tuple[str, ...]) -> None:
        for second, other in enumerate(parts):
            for first in range(second):
                if not are_apart(parts[first], other, lambda part: self._resolved(part, path)):
                    raise NotImplementedError(
                        f"{_at(path)}: oneOf/{first} and oneOf/{second} may allow the same value; "
                        "use anyOf, or a required property whose const tells them apart"
                    )

    def _resolved(self, schema: Any, path: tuple[str, ...]) -> Mapping[str, Any]:
        """A schema, found where it is only referred to."""
        seen: set[str] = set()
        while isinstance(schema, Mapping) and "$ref" in schema:
            _known(schema, {"$ref"}, path)
            if schema["$ref"] in seen:
                raise ValueError(f"{_at(path)}: {schema['$ref']} is nothing but itself")
            seen.add(schema["$ref"])
            schema = self._found(schema["$ref"], path)
        if not isinstance(schema, Mapping):
            raise NotImplementedError(f"{_at(path)}: {schema!r} allows anything; say a type")
        return schema

    def _referred(self, reference: str, path: tuple[str, ...]) -> Expression:
        inside = self._entered(reference, path)
        return Choice(()) if inside is None else self.of(self._found(reference, path), inside)

    def _found(self, reference: str, path: tuple[str, ...]) -> Any:
        if not reference.startswith("#"):
            raise NotImplementedError(f"{_at(path)}: {reference} is elsewhere; put it into $defs")
        found = self.root
        for name in reference.split("/")[1:]:
            name = name.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or name not in found:
                raise ValueError(f"{_at(path)}: there is no {reference}")
            found = found[name]
        return found

    def _kind(self, kind: Any, schema: Mapping[str, Any], path: tuple[str, ...]) -> Expression:
        if kind in ("integer", "number"):
            low, high = _number_bounds(schema, path)
            if low is not None or high is not None:
                return (integers if kind == "integer" else numbers)(low, high)
        if kind in _ATOMS:
            return parse(_ATOMS[kind])
        if kind == "string":
            return _string(schema, path)
        if kind == "array":
            return self._array(schema, path)
        if kind == "object":
            return self._object(schema, path)
        raise ValueError(f"{_at(path)}: type must be one of {sorted(_OF_KINDS)}, got {kind!r}")

    def _array(self, schema: Mapping[str, Any], path: tuple[str, ...]) -> Expression:
        least, most = _bounds(schema, "minItems", "maxItems", path)
        first = [
            self.of(part, (*path, f"prefixItems/{n}"))
            for n, part in enumerate(schema.get("prefixItems", ()))
        ]
        rest: Expression | None = None
        if schema.get("items", True) not in (True, False):
            rest = self.of(schema["items"], (*path, "items"))
        elif not first:
            raise NotImplementedError(f"{_at(path)}: items of any kind; say which")
        most = most if rest is not None or most is None else min(most, len(first))
        most = len(first) if rest is None and most is None else most
        if most is not None and least > most:
            raise ValueError(f"{_at(path)}: {least} items at least, {most} at most")
        return Sequence((literal("["), _listed(first, rest, least, most), literal("]")))

    def _object(self, schema: Mapping[str, Any], path: tuple[str, ...]) -> Expression:
        properties = schema.get("properties", {})
        required = set(schema.get("required", ()))
        more = schema.get("additionalProperties")
        if required - set(properties):
            raise NotImplementedError(
                f"{_at(path)}: required {sorted(required - set(properties))} must be in properties"
            )
        if not properties:
            if more is False:
                return literal("{}")
            value = self.of(True if more is None else more, (*path, "additionalProperties"))
            pair = Sequence((_string({}, path), _COLON, value))
            return Sequence((literal("{"), _listed([], pair, 0, None), literal("}")))
        pairs: list[tuple[Expression, bool]] = [
            (Sequence((_written(name), _COLON, self.of(part, (*path, name)))), name in required)
            for name, part in properties.items()
        ]
        return Sequence((literal("{"), _members(pairs, False), literal("}")))


def _members(pairs: list[tuple[Expression, bool]], started: bool) -> Expression:
    """Members in order, those that are not required or not; commas between."""
    if not pairs:
        return Sequence(())
    (first, needed), rest = pairs[0], pairs[1:]
    if started:
        member: Expression = Sequence((_COMMA, first))
        return Sequence((member if needed else optional(member), _members(rest, True)))
    there = Sequence((first, _members(rest, True)))
    return there if needed else Choice((there, _members(rest, False)))


def _listed(
    first: list[Expression], rest: Expression | None, least: int, most: int | None
) -> Expression:
    """Items between commas: some of their own, then any number of one kind, within bounds."""
    if most == 0:
        return Sequence(())
    parts = first[:most]
    if rest is not None and not parts:
        more = None if most is None else most - 1
        tail = Repeat(Sequence((_COMMA, rest)), max(0, least - 1), more)
        some = Sequence((rest, tail))
        return some if least else optional(some)
    tail_after: Expression = Sequence(())
    if rest is not None:
        more = None if most is None else most - len(parts)
        tail_after = Repeat(Sequence((_COMMA, rest)), max(0, least - len(parts)), more)
    for number in range(len(parts) - 1, -1, -1):
        item = parts[number] if number == 0 else Sequence((_COMMA, parts[number]))
        both = Sequence((item, tail_after))
        tail_after = both if number < least else optional(both)
    return tail_after


def _string(schema: Mapping[str, Any], path: tuple[str, ...]) -> Expression:
    least, most = _bounds(schema, "minLength", "maxLength", path)
    inner: Expression = Repeat(_CHARACTER, least, most)
    written = _FORMATS.get(schema.get("format", ""))
    if written is not None and not {"minLength", "maxLength", "pattern"} & set(schema):
        return Sequence((literal('"'), parse(written), literal('"')))
    if "pattern" in schema:
        if "minLength" in schema or "maxLength" in schema:
            raise NotImplementedError(f"{_at(path)}: pattern with a length; say it in the pattern")
        inner = _escaped(parse(schema["pattern"], search=True))
    return Sequence((literal('"'), inner, literal('"')))


def _escaped(part: Expression) -> Expression:
    """An expression of characters as they are written between quotation marks."""
    if isinstance(part, Sequence):
        return Sequence(tuple(map(_escaped, part.parts)))
    if isinstance(part, Choice):
        return Choice(tuple(map(_escaped, part.parts)))
    if isinstance(part, Repeat):
        return Repeat(_escaped(part.part), part.low, part.high)
    if part == ANY:
        return _CHARACTER
    inside = [_both(part, each) for each in _PLAIN.ranges]
    plain = Characters(tuple(each for found in inside for each in found))
    marked = [
        code
        for code in (*range(0x20), 0x22, 0x5C)
        if any(low <= code <= high for low, high in part.ranges)
    ]
    escapes = [literal(f"\\{_SHORT.get(code, f'u{code:04x}')}") for code in marked]
    return Choice((plain, *escapes))


def _both(part: Characters, limits: tuple[int, int]) -> list[tuple[int, int]]:
    found = [(max(low, limits[0]), min(high, limits[1])) for low, high in part.ranges]
    return [(low, high) for low, high in found if low <= high]


def _written(value: Any) -> Expression:
    """A value as JSON; of containers with the spaces of :func:`json.dumps`."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:  # halves of pairs
        text = json.dumps(value)
    return literal(text)


def _bounds(
    schema: Mapping[str, Any], low: str, high: str, path: tuple[str, ...]
) -> tuple[int, int | None]:
    least, most = schema.get(low, 0), schema.get(high)
    for name, value in ((low, least), (high, 0 if most is None else most)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{_at(path)}: {name} must be a number from 0, got {value!r}")
    if most is not None and least > most:
        raise ValueError(f"{_at(path)}: {low} {least} is more than {high} {most}")
    return least, most


def _number_bounds(
    schema: Mapping[str, Any], path: tuple[str, ...]
) -> tuple[Bound | None, Bound | None]:
    """The lowest and the highest number; of an inclusive and an exclusive bound the narrower."""
    found: list[Bound | None] = []
    for word, sign in (("minimum", 1), ("maximum", -1)):
        other = f"exclusive{word.capitalize()}"
        given = [
            Bound(_decimal(schema[name], name, path), name == word)
            for name in (word, other)
            if name in schema
        ]
        best = max(given, key=lambda b: (sign * b.value, not b.included), default=None)
        found.append(best)
    low, high = found
    if low and high and (low.value, not (low.included and high.included)) > (high.value, False):
        raise ValueError(f"{_at(path)}: no number is from {low.value} to {high.value}")
    return low, high


def _decimal(value: Any, name: str, path: tuple[str, ...]) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{_at(path)}: {name} must be a number, got {value!r}")
    return Decimal(str(value))


def _known(schema: Mapping[str, Any], allowed: set[str], path: tuple[str, ...]) -> None:
    others = sorted(set(schema) - allowed - _NOTES)
    if others:
        raise NotImplementedError(
            f"{_at(path)}: {others} not supported beside {sorted(allowed & set(schema))}; "
            f"leave out, or write a pattern"
        )


def _at(path: tuple[str, ...]) -> str:
    return f"schema at {'/'.join(('#', *path))}"
