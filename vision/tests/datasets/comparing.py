"""Items of data sets as plain values, and whether two are the same."""

from __future__ import annotations

import numpy as np


def plain(value):
    """Pictures and tensors as arrays, containers of them as they are."""
    if isinstance(value, (list, tuple)):
        return type(value)(plain(one) for one in value) if type(value) in (list, tuple) else value
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if hasattr(value, "getbands"):
        return np.asarray(value)
    if hasattr(value, "detach"):
        kind, array = (
            type(value).__name__,
            np.asarray(value.detach().tolist(), str(value.dtype).split(".")[-1]),
        )
        if kind == "BoundingBoxes":
            return kind, array, value.format.value, tuple(value.canvas_size)
        return array if kind == "Tensor" else (kind, array)
    return value


def same(found, expected):
    """Whether two plain values agree, types of containers and kinds of numbers included."""
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(found, type(expected))
            and len(found) == len(expected)
            and all(same(a, b) for a, b in zip(found, expected, strict=True))
        )
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            same(found[key], expected[key]) for key in expected
        )
    if isinstance(expected, np.ndarray) and expected.ndim:
        kinds = found.dtype.kind, expected.dtype.kind
        return kinds[0] == kinds[1] and np.array_equal(found, expected)
    if isinstance(expected, (np.ndarray, np.generic)):  # a scalar; data sets give ints or tensors
        return found == expected
    return type(found) is type(expected) and found == expected


def item(value):
    """An item of a data set as a tuple of plain values."""
    return plain(value if isinstance(value, tuple) else (value,))
