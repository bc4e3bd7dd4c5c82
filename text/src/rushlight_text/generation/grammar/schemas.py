"""JSON schemas as expressions: JSON texts whose values a schema allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from rushlight_text.generation.grammar.expressions import (
    Choice,
    Expression,
    Sequence,
    Shared,
    literal,
    optional,
)
from rushlight_text.generation.grammar.lists import COLON, COMMA, items, members
from rushlight_text.generation.grammar.merging import are_apart, merged
from rushlight_text.generation.grammar.numbers import Bound, integers, multiples, numbers
from rushlight_text.generation.grammar.parsing import parse
from rushlight_text.generation.grammar.strings import CHARACTER, ONE_WAY, string, written
from rushlight_text.generation.grammar.values import (
    MOST_VALUES,
    different,
    every_writing,
    values_of,
)

__all__ = ["schema_expression"]

# Keywords that say something about a value without restricting it.
_NOTES = frozenset(
    "$schema $id $comment $defs definitions title description default examples deprecated "
    "readOnly writeOnly format".split()
)
_OF_KINDS: dict[Any, set[str]] = {
    "string": {"minLength", "maxLength", "pattern"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"},
    "object": {"properties", "required", "additionalProperties"},
    "integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
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


def schema_expression(schema: Mapping[str, Any] | bool, recursion: int = 0) -> Expression:
    """JSON texts that a schema allows, on one line; a space may follow ``,`` and ``:``.

    Args:
        schema: with ``type`` (one or several), ``enum``, ``const``, ``anyOf``, ``allOf`` of
            keywords that are one schema together, ``oneOf`` of alternatives that exclude each other
            by type, constants or a required property's constant, ``not`` of single values,
            ``$ref``; of numbers ``minimum``, ``maximum``, ``exclusiveMinimum``,
            ``exclusiveMaximum``, ``multipleOf``, which are then written without an exponent; of
            strings ``minLength``, ``maxLength``, ``pattern``; of arrays ``items``, ``prefixItems``,
            ``minItems``, ``maxItems``, ``uniqueItems`` of up to 10 listed values; of objects
            ``properties``, ``required``, ``additionalProperties``. Properties are written in their
            order, and no others but those of an ``additionalProperties`` schema where there are no
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
        # Beside `not` equal strings have to be equal texts, and inside of it numbers need all.
        self.exact = self.denied = False

    def of(self, schema: Any, path: tuple[str, ...]) -> Expression:
        """The texts that one part of the schema allows."""
        if not isinstance(schema, Mapping):
            raise NotImplementedError(f"{_at(path)}: {schema!r} allows anything; say a type")
        if "not" in schema:
            return self._without(schema, path)
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
                return Choice(tuple(self._constant(value, path) for value in values))
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

    def _without(self, schema: Mapping[str, Any], path: tuple[str, ...]) -> Expression:
        """What a schema allows without its ``not``, and what that does not."""
        rest = {key: value for key, value in schema.items() if key != "not"}
        before = self.exact, self.denied
        try:
            self.exact = True
            whole = self.of(rest, path)
            self.denied = True
            part = self.of(self._of_types(schema["not"], rest, path), (*path, "not"))
        finally:
            self.exact, self.denied = before
        return Shared(whole, part, inside=False)

    def _of_types(
        self, denied: Any, rest: Mapping[str, Any], path: tuple[str, ...]
    ) -> Mapping[str, Any]:
        """What stands in ``not``, of the types beside it where it says none: other types have
        keywords of their own and are allowed by those of others, so denied."""
        denied = self._resolved(denied, path)
        if {"type", "const", "enum", "anyOf", "oneOf", "allOf"} & set(denied):
            return denied
        if "type" not in rest:
            raise NotImplementedError(f"{_at(path)}: say the type inside of not")
        return {"type": rest["type"], **denied}

    def _constant(self, value: Any, path: tuple[str, ...]) -> Expression:
        found = every_writing(value) if self.denied else written(value)
        if found is None:
            raise NotImplementedError(f"{_at(path)}: not of {value!r}; only of single values")
        return found

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
        if kind in ("array", "object") and self.denied:
            raise NotImplementedError(f"{_at(path)}: {kind}s inside of not; only single values")
        if kind in ("integer", "number"):
            return self._number(kind, schema, path)
        if kind in _ATOMS:
            return parse(_ATOMS[kind])
        if kind == "string":
            return self._string(schema, path)
        if kind == "array":
            return self._array(schema, path)
        if kind == "object":
            return self._object(schema, path)
        raise ValueError(f"{_at(path)}: type must be one of {sorted(_OF_KINDS)}, got {kind!r}")

    def _number(self, kind: str, schema: Mapping[str, Any], path: tuple[str, ...]) -> Expression:
        low, high = _number_bounds(schema, path)
        step = schema.get("multipleOf")
        if low is None and high is None and step is None and not self.exact:
            return parse(_ATOMS[kind])
        found = (integers if kind == "integer" else numbers)(low, high)
        if kind == "integer" and self.denied:
            found = Sequence((found, optional(parse(r"\.0+"))))
        if step is None:
            return found
        size = _decimal(step, "multipleOf", path)
        if size <= 0:
            raise ValueError(f"{_at(path)}: multipleOf must be above 0, got {step!r}")
        return Shared(found, multiples(size))

    def _string(self, schema: Mapping[str, Any], path: tuple[str, ...]) -> Expression:
        length = _bounds(schema, "minLength", "maxLength", path)
        given = schema.get("pattern", [])
        patterns = [given] if isinstance(given, str) else given
        return string(
            patterns, length, schema.get("format", ""), ONE_WAY if self.exact else CHARACTER
        )

    def _array(self, schema: Mapping[str, Any], path: tuple[str, ...]) -> Expression:
        least, most = _bounds(schema, "minItems", "maxItems", path)
        if _flag(schema, "uniqueItems", path) and (most is None or most > 1):
            return self._different(schema, least, most, path)
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
        return Sequence((literal("["), items(first, rest, least, most), literal("]")))

    def _different(
        self, schema: Mapping[str, Any], least: int, most: int | None, path: tuple[str, ...]
    ) -> Expression:
        """A list none of whose items is there twice."""
        values = None
        if "prefixItems" not in schema and isinstance(schema.get("items"), Mapping):
            values = values_of(schema["items"], lambda part: self._resolved(part, path))
        if values is None or len(values) > MOST_VALUES:
            raise NotImplementedError(
                f"{_at(path)}: uniqueItems needs items that are one of up to {MOST_VALUES} listed "
                "values (enum, const, booleans, integers between two bounds)"
            )
        if least > len(values):
            raise ValueError(f"{_at(path)}: {least} different items of {len(values)} values")
        return Sequence((literal("["), different(values, least, most, COMMA), literal("]")))

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
            pair = Sequence((self._string({}, path), COLON, value))
            return Sequence((literal("{"), items([], pair, 0, None), literal("}")))
        pairs: list[tuple[Expression, bool]] = [
            (Sequence((written(name), COLON, self.of(part, (*path, name)))), name in required)
            for name, part in properties.items()
        ]
        return Sequence((literal("{"), members(pairs, False), literal("}")))


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


def _flag(schema: Mapping[str, Any], name: str, path: tuple[str, ...]) -> bool:
    found = schema.get(name, False)
    if not isinstance(found, bool):
        raise ValueError(f"{_at(path)}: {name} must be true or false, got {found!r}")
    return found


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
