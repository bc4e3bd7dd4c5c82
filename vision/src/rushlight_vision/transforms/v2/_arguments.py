"""Checks of arguments that several transforms share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight_vision import tv_tensors

# Of tensors of one type, and by type ("others" for the rest).
Fills = float | Sequence[float] | None
Fill = Fills | dict[Any, Fills]


def two(value: Any, name: str) -> tuple[int, int]:
    """Height and width from one number for both, or two."""
    if isinstance(value, int):
        return value, value
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(f"{name}: size {value!r}; expected one number or (height, width)")
    if len(value) not in (1, 2):
        raise ValueError(f"{name}: size {value!r}; expected one number or (height, width)")
    return int(value[0]), int(value[-1])


def fills(fill: Fill) -> dict[Any, Any]:
    """Fills by type, or for all types."""
    if not isinstance(fill, dict):
        fill = {"others": fill}
    for value in fill.values():
        if not isinstance(value, (int, float, list, tuple, type(None))):
            raise TypeError(f"fill {value!r}; expected a number, numbers of the channels or None")
    return {kind: list(v) if isinstance(v, tuple) else v for kind, v in fill.items()}


def fill_of(table: dict[Any, Any], inpt: Any) -> Any:
    """The fill for an input's type; ValueError where the dict has neither it nor "others"."""
    kind = type(inpt)
    for key in (kind, "others"):
        if key in table:
            return table[key]
    raise ValueError(f"fill: no entry for {kind.__name__} and none for 'others'")


def bounds(value: Any, name: str, symmetric: bool = True) -> list[float]:
    """Two bounds: -d ... d of one number d, or two numbers."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"{name}: one number must not be negative, got {value}")
        return [-float(value), float(value)] if symmetric else [float(value)] * 2
    if not isinstance(value, Sequence):
        raise TypeError(f"{name}: {value!r}; expected one number or a sequence")
    return [float(each) for each in value]


def labels_getter(getter: Any, several: bool = False) -> Callable[[Any], Any]:
    """A function that finds the labels of a sample.

    "default" looks for the key "labels" (or one that contains "label") of a dict, or of the second
    element of a tuple; a string is a key; None finds nothing.
    """
    if callable(getter):
        return getter
    if getter is None:
        return lambda inputs: None
    if getter == "default":
        return default_labels
    if isinstance(getter, str):
        return lambda inputs: _holder(inputs)[getter]
    raise ValueError(
        f"labels_getter should be a string, callable, or None, got {type(getter).__name__}"
    )


def _holder(inputs: Any) -> Any:
    """The part of a sample that may have labels."""
    if isinstance(inputs, (tuple, list)) and len(inputs) > 1:
        inputs = inputs[1]
    return inputs


def default_labels(inputs: Any) -> Any:
    """Labels by their usual names; ValueError where there are none."""
    holder = _holder(inputs)
    if isinstance(holder, rl.Tensor) and not isinstance(holder, tv_tensors.TVTensor):
        return holder
    if isinstance(holder, dict):
        for key in ("label", "labels"):
            for name in holder:
                if isinstance(name, str) and name.lower() == key:
                    return holder[name]
        for name in holder:
            if isinstance(name, str) and "label" in name.lower():
                return holder[name]
    raise ValueError(
        "labels_getter: no labels were found; give a function or the key of the labels"
    )
