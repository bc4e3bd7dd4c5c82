"""Schemas that hold together (``allOf``) as one, and alternatives that exclude each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

__all__ = ["are_apart", "equal", "merged"]

_LARGEST = frozenset("minimum exclusiveMinimum minLength minItems".split())
_SMALLEST = frozenset("maximum exclusiveMaximum maxLength maxItems".split())
_KINDS: dict[type, str] = {
    bool: "boolean", int: "number", float: "number", str: "string", list: "array",
    dict: "object", type(None): "null",
}  # fmt: skip
_ALL = frozenset(_KINDS.values())


def merged(parts: Iterable[Mapping[str, Any]], notes: frozenset[str], at: str) -> dict[str, Any]:
    """One schema that allows what all parts do; raises NotImplementedError where that is not said
    by their keywords, ValueError where nothing is left."""
    found: dict[str, Any] = {}
    for part in parts:
        _same_properties(found, part, at)
        for key, value in part.items():
            if key in notes:
                continue
            found[key] = value if key not in found else _both(key, found[key], value, at)
    return found


def _same_properties(one: Mapping[str, Any], other: Mapping[str, Any], at: str) -> None:
    """``additionalProperties`` speaks of the properties beside it alone."""
    closed = "additionalProperties" in one or "additionalProperties" in other
    if one and closed and set(one.get("properties", ())) != set(other.get("properties", ())):
        raise NotImplementedError(
            f"{at}: allOf of objects with other properties and additionalProperties; write one "
            "object"
        )


def _both(key: str, one: Any, other: Any, at: str) -> Any:
    if one == other and type(one) is type(other):
        return one
    if key in _LARGEST:
        return max(one, other)
    if key in _SMALLEST:
        return min(one, other)
    if key == "required":
        return [*one, *(name for name in other if name not in one)]
    if key == "properties":
        return {**one, **other, **{n: {"allOf": [one[n], other[n]]} for n in one if n in other}}
    if key == "items":
        return {"allOf": [one, other]}
    if key == "not":
        return {"anyOf": [one, other]}
    if key == "pattern":
        return [text for part in (one, other) for text in (part if type(part) is list else [part])]
    if key == "uniqueItems":
        return one or other
    if key == "multipleOf":
        return _common_multiple(one, other)
    if key == "enum":
        return _left([value for value in one if value in other], key, at)
    if key == "type":
        return _left(_types(one, other), key, at)
    raise NotImplementedError(f"{at}: allOf of {key} {one!r} and {other!r}; write one")


def _common_multiple(one: float, other: float) -> float:
    first, second = Fraction(str(one)), Fraction(str(other))
    scale = first.denominator * second.denominator
    found = Fraction(math.lcm(int(first * scale), int(second * scale)), scale)
    return found.numerator if found.denominator == 1 else float(found)


def _left(values: list[Any], key: str, at: str) -> list[Any]:
    if not values:
        raise ValueError(f"{at}: no {key} is in all parts of allOf")
    return values


def _types(one: Any, other: Any) -> list[Any]:
    first, second = (kinds if isinstance(kinds, list) else [kinds] for kinds in (one, other))
    found = [kind for kind in first if kind in second]
    if "integer" in (*first, *second) and "integer" not in found:
        if "number" in (*first, *second) and {*first} & {"integer", "number"}:
            if {*second} & {"integer", "number"}:
                found = ["integer", *(kind for kind in found if kind != "number")]
    return found


def are_apart(
    one: Mapping[str, Any], other: Mapping[str, Any], resolved: Callable[[Any], Mapping[str, Any]]
) -> bool:
    """Whether two schemas are known to allow no value in common: their types differ, or their
    constants, or those of a property that both require."""
    one, other = resolved(one), resolved(other)
    if not _kinds(one) & _kinds(other):
        return True
    first, second = _constants(one), _constants(other)
    if first is not None and second is not None:
        return not any(equal(a, b) for a in first for b in second)
    shared = set(one.get("required", ())) & set(other.get("required", ()))
    if _kinds(one) == _kinds(other) == {"object"}:
        properties = one.get("properties", {}), other.get("properties", {})
        return any(
            are_apart(properties[0][name], properties[1][name], resolved)
            for name in shared
            if name in properties[0] and name in properties[1]
        )
    return False


def _constants(schema: Mapping[str, Any]) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    """The types of the values that a schema allows; integers are numbers."""
    constants = _constants(schema)
    if constants is not None:
        return {_KINDS[type(value)] for value in constants}
    kinds = schema.get("type")
    if kinds is None:
        return set(_ALL)
    listed = kinds if isinstance(kinds, list) else [kinds]
    return {"number" if kind == "integer" else kind for kind in listed}


def equal(one: Any, other: Any) -> bool:
    """Whether two constants are the same value; true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
