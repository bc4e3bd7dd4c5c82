"""Comparison of nested values: a pair of each two that have the same keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rushlight.testing.errors import ErrorMeta, UnsupportedInputs
from rushlight.testing.pairs import ObjectPair, Pair


def originate_pairs(
    actual: Any,
    expected: Any,
    *,
    pair_types: Sequence[type[Pair]],
    sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,),
    id: tuple[Any, ...] = (),
    **options: Any,
) -> list[Pair]:
    """The pairs of two values: of their items where both are sequences or both are mappings, else
    of the first of `pair_types` that takes them; `options` are handed to it.

    An `ErrorMeta` where lengths or keys differ, or no pair takes two values.
    """
    rest = {
        "pair_types": pair_types, "sequence_types": sequence_types,
        "mapping_types": mapping_types, **options,
    }  # fmt: skip
    if _are_both(actual, expected, sequence_types) and not isinstance(actual, str):
        keys = _positions(actual, expected, id)
    elif _are_both(actual, expected, mapping_types):
        keys = _keys(actual, expected, id)
    else:
        return [_pair(actual, expected, pair_types, id, options)]
    found = []
    for key in keys:
        found += originate_pairs(actual[key], expected[key], id=(*id, key), **rest)
    return found


def _are_both(actual, expected, types):
    return isinstance(actual, types) and isinstance(expected, types)


def _positions(actual, expected, id):
    """Indices of two sequences of one length."""
    if len(actual) != len(expected):
        text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        raise ErrorMeta(AssertionError, text, id=id)
    return range(len(actual))


def _keys(actual, expected, id):
    """Keys of two mappings that have the same, sorted where they can be."""
    missing = [key for key in expected if key not in actual]
    additional = [key for key in actual if key not in expected]
    if missing or additional:
        raise ErrorMeta(
            AssertionError,
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {_sorted(missing)}\n"
            f"Additional keys in the actual mapping: {_sorted(additional)}",
            id=id,
        )
    return _sorted(list(actual))


def _sorted(keys):
    try:
        return sorted(keys)
    except TypeError:
        return keys


def _pair(actual, expected, pair_types, id, options):
    for pair_type in pair_types:
        try:
            return pair_type(actual, expected, id=id, **options)
        except UnsupportedInputs:
            continue
    kinds = f"{type(actual)} and {type(expected)}"
    text = f"No comparison pair was able to handle inputs of type {kinds}."
    raise ErrorMeta(TypeError, text, id=id)


def not_close_error_metas(
    actual: Any,
    expected: Any,
    *,
    pair_types: Sequence[type[Pair]] = (ObjectPair,),
    sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,),
    **options: Any,
) -> list[ErrorMeta]:
    """An `ErrorMeta` for every pair of two nested values that is not close; none where all are.

    Raises at once what :func:`originate_pairs` finds, and RuntimeError where a pair raises
    anything but an `ErrorMeta`.

    >>> found = not_close_error_metas({"a": 1, "b": [2]}, {"a": 1, "b": [3]})
    >>> print(found[0].to_error())
    2 != 3
    <BLANKLINE>
    The failure occurred for item ['b'][0]
    """
    try:
        pairs = originate_pairs(
            actual, expected, pair_types=pair_types, sequence_types=sequence_types,
            mapping_types=mapping_types, **options,
        )  # fmt: skip
    except ErrorMeta as found:
        raise found.to_error() from None
    return [error for pair in pairs if (error := _error_of(pair)) is not None]


def _error_of(pair):
    try:
        pair.compare()
    except ErrorMeta as found:
        return found
    except Exception as error:
        raise RuntimeError(
            f"Comparing\n\n{pair}\n\nraised the exception above; pairs report what differs as an "
            "ErrorMeta"
        ) from error
    return None
