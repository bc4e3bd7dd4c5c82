"""Functions over containers of tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import rushlight as rl
from lightning_lite.batches import move_to_device

__all__ = [
    "apply_to_collection",
    "convert_tensors_to_scalars",
    "convert_to_tensors",
    "move_data_to_device",
]

move_data_to_device = move_to_device


def apply_to_collection(
    data: Any,
    dtype: type | tuple[Any, ...],
    function: Callable,
    *args: Any,
    wrong_dtype: type | tuple[type, ...] | None = None,
    include_none: bool = True,
    **kwargs: Any,
) -> Any:
    """A container with `function(x, *args, **kwargs)` for every element `x` of type `dtype`.

    Mappings, sequences, named tuples and dataclasses keep their types; elements of `wrong_dtype`
    stay. With `include_none=False`, elements for which the function returns None are left out.

    >>> apply_to_collection({"a": [1, "b"], "c": 2.5}, int, lambda x: x + 1)
    {'a': [2, 'b'], 'c': 2.5}
    """
    if isinstance(data, dtype) and not (wrong_dtype and isinstance(data, wrong_dtype)):
        return function(data, *args, **kwargs)

    def inner(item: Any) -> Any:
        return apply_to_collection(
            item,
            dtype,
            function,
            *args,
            wrong_dtype=wrong_dtype,
            include_none=include_none,
            **kwargs,
        )

    return _rebuilt(data, inner, include_none)


def _rebuilt(data: Any, inner: Callable[[Any], Any], include_none: bool) -> Any:
    """A container of the same type with each element replaced by `inner` of it."""
    if isinstance(data, Mapping):
        pairs = [(key, inner(value)) for key, value in data.items()]
        kept = [(key, value) for key, value in pairs if include_none or value is not None]
        kind: Any = type(data)
        factory = getattr(data, "default_factory", None)
        return kind(factory, kept) if factory else kind(kept)
    named = isinstance(data, tuple) and hasattr(data, "_fields")
    if named or (isinstance(data, Sequence) and not isinstance(data, str | bytes)):
        items = [value for value in map(inner, data) if include_none or value is not None]
        return type(data)(*items) if named else type(data)(items)
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        fields = [field.name for field in dataclasses.fields(data) if field.init]
        return dataclasses.replace(data, **{name: inner(getattr(data, name)) for name in fields})
    return data


def convert_to_tensors(data: Any, device: Any) -> Any:
    """Numbers (int32, float32), booleans (uint8) and NumPy arrays in a container as tensors on a
    device."""

    def number(value: Any) -> rl.Tensor:
        kinds = {bool: rl.uint8, int: rl.int32, float: rl.float32}
        return rl.tensor(value, dtype=kinds[type(value)], device=device)

    data = apply_to_collection(data, (bool, int, float), number)
    if hasattr(data, "__array__") and not isinstance(data, rl.Tensor):
        data = rl.from_numpy(data)
    return move_data_to_device(data, device)


def convert_tensors_to_scalars(data: Any) -> Any:
    """Tensors of one element in a container as Python numbers. ValueError for others."""

    def number(value: rl.Tensor) -> Any:
        if value.numel() != 1:
            raise ValueError(f"metric of {value.numel()} elements: expected one")
        return value.item()

    return apply_to_collection(data, rl.Tensor, number)
