"""Configurations as a checkpoint holds them, in plain types, and as a constructor gets them back.

A checkpoint names no class, so that it loads without running code: a namespace, a dataclass or a
mapping of another library (OmegaConf's) becomes a dictionary, and a word says what it was. A
dataclass comes back as the one that the constructor's annotation names.
"""

from __future__ import annotations

import dataclasses
import typing
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

import rushlight as rl

NAMESPACE, DATACLASS, MAPPING = "namespace", "dataclass", "mapping"


class AttributeDict(dict):
    """A dictionary whose string keys are attributes too.

    >>> options = AttributeDict(lr=0.1)
    >>> options.lr
    0.1
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(str(key) for key in self) or "none"
            raise AttributeError(f"no hyper-parameter {name!r}; there are: {known}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        del self[name]

    def __repr__(self) -> str:
        width = max((len(str(key)) for key in self), default=0)
        return "\n".join(f'"{key}":{" " * (width - len(str(key)) + 1)}{self[key]}' for key in self)


def form_of(value: Any) -> str | None:
    """What a configuration is, where it is no dictionary; None for a dictionary and all else."""
    if isinstance(value, Namespace):
        return NAMESPACE
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return DATACLASS
    return MAPPING if isinstance(value, Mapping) and type(value) is not dict else None


def as_dictionary(value: Any) -> dict[str, Any] | None:
    """A mapping, namespace or dataclass as a dictionary; None for anything else."""
    if isinstance(value, Namespace):
        return dict(vars(value))
    if isinstance(value, Mapping):
        return dict(value)
    if form_of(value) == DATACLASS:
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def plain_form(value: Any) -> Any:
    """A value with all configurations inside it as dictionaries and lists."""
    given = as_dictionary(value)
    if given is not None:
        return {key: plain_form(item) for key, item in given.items()}
    if isinstance(value, list | tuple):
        items = [plain_form(item) for item in value]
        if type(value) in (list, tuple):
            return type(value)(items)
        return value if isinstance(value, tuple) else items
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | range):
        return [plain_form(item) for item in value]
    return value


def is_plain(value: Any) -> bool:
    """Whether a value can stand in a checkpoint that loads without running code."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | rl.Tensor):
        return True
    if isinstance(value, list | tuple | set):
        return all(is_plain(item) for item in value)
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    return isinstance(value, rl.dtype | rl.device)


def _attributes(value: Any) -> Any:
    """Dictionaries, at any depth, whose keys are attributes too."""
    if isinstance(value, dict):
        return AttributeDict({key: _attributes(item) for key, item in value.items()})
    return [_attributes(item) for item in value] if type(value) is list else value


def _dataclass_in(annotation: Any) -> Any:
    """The dataclass that an annotation names, alone or in a union; None if there is none."""
    for kind in (annotation, *typing.get_args(annotation)):
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            return kind
    return None


def annotations_of(owner: Any) -> dict[str, Any]:
    """The annotations of a function or class, as far as their names are known."""
    try:
        return typing.get_type_hints(owner)
    except (NameError, TypeError):
        return {}


def _as_dataclass(kind: type, saved: dict[str, Any]) -> Any:
    """An instance of a dataclass from its fields, and so for the dataclasses in it."""
    hints = annotations_of(kind)
    values = {}
    for field in dataclasses.fields(kind):
        if field.init and field.name in saved:
            value = saved[field.name]
            inner = _dataclass_in(hints.get(field.name))
            nested = inner is not None and isinstance(value, dict)
            values[field.name] = _as_dataclass(inner, value) if nested else value
    return kind(**values)


def restored(saved: dict[str, Any], form: str | None, annotation: Any) -> Any:
    """What a constructor gets for a configuration that a checkpoint holds as a dictionary."""
    if form == NAMESPACE:
        return Namespace(**saved)
    kind = _dataclass_in(annotation)
    if form == DATACLASS and kind is not None:
        return _as_dataclass(kind, saved)
    return saved if form is None else _attributes(saved)
