"""One example: a value for each field, as attributes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Example"]


class Example:
    """An example; the class methods make one from a line or a record."""

    @classmethod
    def fromJSON(cls, data: str, fields: Mapping[str, Any]) -> Example:  # noqa: N802
        """From a line of JSON; a key such as ``a.b`` reaches into objects and lists of them."""
        record = json.loads(data)
        return cls._of((fields, key, _reached(record, key)) for key in fields)

    @classmethod
    def fromdict(cls, data: Mapping[str, Any], fields: Mapping[str, Any]) -> Example:
        """From a dict; ValueError where a key is not there."""
        return cls._of((fields, key, _item(data, key)) for key in fields)

    @classmethod
    def fromCSV(  # noqa: N802 - torchtext's name
        cls,
        data: Sequence[str],
        fields: Any,
        field_to_index: Mapping[str, int] | None = None,
    ) -> Example:
        """From the columns of a line: in the order of `fields`, or by the places of their names."""
        if field_to_index is None:
            return cls.fromlist(data, fields)
        return cls.fromdict({name: data[place] for name, place in field_to_index.items()}, fields)

    @classmethod
    def fromlist(cls, data: Iterable[Any], fields: Iterable[tuple[Any, Any]]) -> Example:
        """From values in the order of `fields`: pairs of a name and a field, or of tuples of them,
        or of a name and None for a value to skip."""
        example = cls()
        for (name, field), value in zip(fields, data, strict=False):
            if field is None:
                continue
            value = value.rstrip("\n") if isinstance(value, str) else value
            pairs = zip(name, field, strict=True) if isinstance(name, tuple) else [(name, field)]
            for each, one in pairs:
                setattr(example, each, one.preprocess(value))
        return example

    @classmethod
    def fromtree(
        cls, data: str, fields: Sequence[tuple[Any, Any]], subtrees: bool = False
    ) -> Example | list[Example]:
        """From a tree in brackets, ``(3 (2 It) (4 works))``: its words and its label; with
        `subtrees` one example for each subtree, the whole first."""
        found = [cls.fromlist([" ".join(words), label], fields) for label, words in _trees(data)]
        return found if subtrees else found[0]

    @classmethod
    def _of(cls, values: Iterable[tuple[Mapping[str, Any], str, Any]]) -> Example:
        example = cls()
        for fields, key, value in values:
            pairs = fields[key] or []
            for name, field in pairs if isinstance(pairs, list) else [pairs]:
                setattr(example, name, field.preprocess(value))
        return example


def _item(record: Any, key: str) -> Any:
    if key not in record:
        raise ValueError(f"Specified key {key} was not found in the input data")
    return record[key]


def _reached(record: Any, path: str) -> Any:
    for key in path.split("."):
        if isinstance(record, list):
            record = [_item(each, key) for each in record]
        else:
            record = _item(record, key)
    return record


def _trees(text: str) -> Iterator[tuple[str, list[str]]]:
    """Label and words of each subtree, in the order of their opening brackets."""
    found: list[tuple[str, list[str]]] = []
    open_trees: list[list[str]] = []
    expects_label = False
    for token in re.findall(r"[()]|[^()\s]+", text):
        if token == "(":
            expects_label = True
        elif token == ")":
            if not open_trees:
                raise ValueError(f"a bracket too many in the tree {text!r}")
            open_trees.pop()
        elif expects_label:
            found.append((token, []))
            open_trees.append(found[-1][1])
            expects_label = False
        else:
            for words in open_trees:
                words.append(token)
    if open_trees or not found:
        raise ValueError(f"a bracket is missing in the tree {text!r}")
    return iter(found)
