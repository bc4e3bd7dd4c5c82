"""Batches in page-locked memory, from which copies to an accelerator are quicker."""

from __future__ import annotations

import collections.abc
import copy

from rushlight.tensor.tensor import Tensor


def pin_memory(data, device=None):
    """Every tensor of nested containers (and every value with a ``pin_memory`` method) pinned."""
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        return rebuilt_mapping(data, {k: pin_memory(v, device) for k, v in data.items()})
    if isinstance(data, tuple):
        fields = [pin_memory(value, device) for value in data]
        return type(data)(*fields) if hasattr(data, "_fields") else type(data)(fields)
    if isinstance(data, collections.abc.Sequence):
        return rebuilt_sequence(data, [pin_memory(value, device) for value in data])
    return data


def rebuilt_mapping(old, values):
    """A mapping like `old` with other values; a plain dict where its type cannot be made."""
    try:
        if isinstance(old, collections.abc.MutableMapping):
            clone = copy.copy(old)
            clone.update(values)
            return clone
        return type(old)(values)
    except TypeError:
        return values


def rebuilt_sequence(old, values):
    """A sequence like `old` with other values; a plain list where its type cannot be made."""
    try:
        if isinstance(old, collections.abc.MutableSequence):
            clone = copy.copy(old)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(old)(values)
    except TypeError:
        return values
