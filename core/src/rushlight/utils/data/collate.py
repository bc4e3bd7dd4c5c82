"""Putting samples together into batches."""

from __future__ import annotations

import collections.abc
import re
from typing import TYPE_CHECKING

import rushlight
from rushlight.machine import np
from rushlight.tensor.tensor import Tensor
from rushlight.utils.data.pin_memory import rebuilt_mapping, rebuilt_sequence

if TYPE_CHECKING:
    from typing import Any

# Kinds of arrays that hold texts or objects and become no tensors.
np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: object) -> Any:
    """NumPy arrays in nested containers as tensors; everything else as it is.

    >>> default_convert({"a": [1, "b"]})
    {'a': [1, 'b']}
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        is_text = data.dtype.kind in "SUO" or isinstance(data, (np.str_, np.bytes_))
        return data if is_text else rushlight.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return rebuilt_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return rebuilt_sequence(data, [default_convert(value) for value in data])
    return data


def collate(batch, *, collate_fn_map=None):
    """A list of samples as one batch, with functions for types of your own.

    `collate_fn_map` maps a type, or a tuple of types, to ``function(batch, *, collate_fn_map)``;
    the exact type of the first sample is looked for first, then the first type it is an instance
    of. Containers are collated field by field.
    """
    first = batch[0]
    if collate_fn_map is not None:
        function = collate_fn_map.get(type(first))
        if function is None:
            function = next((f for t, f in collate_fn_map.items() if isinstance(first, t)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)

    def one(samples):
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, collections.abc.Mapping):
        return rebuilt_mapping(first, {key: one([s[key] for s in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(one(field) for field in zip(*batch, strict=False)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError(
                "each element in list of batch should be of equal size; found lengths "
                f"{sorted({len(sample) for sample in batch})}"
            )
        columns = [one(column) for column in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else rebuilt_sequence(first, columns)
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Tensors of one shape, stacked."""
    first = batch[0]
    for number, tensor in enumerate(batch):
        if tensor.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry "
                f"0 and {list(tensor.shape)} at entry {number}: give samples one shape (pad or "
                "crop them), or pass a collate_fn"
            )
    return rushlight.stack(list(batch), 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Arrays as tensors, stacked."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([rushlight.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """NumPy's numbers as one tensor of their dtype."""
    return rushlight.as_tensor(np.stack(batch))


def collate_float_fn(batch, *, collate_fn_map=None):
    """Python's floats as a float64 tensor."""
    return rushlight.tensor(batch, dtype=rushlight.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Python's integers and booleans as a tensor."""
    return rushlight.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Strings and bytes stay a list."""
    return batch


default_collate_fn_map = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: list[Any]) -> Any:
    """A list of samples as one batch: tensors and arrays are stacked, numbers become tensors,
    containers are collated field by field, strings stay lists.

    Functions for further types can be added to ``default_collate_fn_map``.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
