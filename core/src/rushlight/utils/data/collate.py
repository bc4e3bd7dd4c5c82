"""Putting samples together into batches."""

from __future__ import annotations

import collections.abc

import rushlight
from rushlight.backends import np
from rushlight.tensor.tensor import Tensor


def default_convert(data):
    """NumPy arrays in nested containers as tensors; everything else as it is."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        if data.dtype.kind in "SUO":
            return data
        return rushlight.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(v) for v in data))
    if isinstance(data, (tuple, list)):
        return [default_convert(v) for v in data]
    return data


def default_collate(batch):
    """A list of samples as one batch: tensors and arrays are stacked, numbers become tensors,
    containers are collated field by field, strings stay lists.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return _stack(batch)
    if isinstance(first, (np.ndarray, np.generic)):
        if first.dtype.kind in "SUO":
            raise TypeError(_unknown(first.dtype))
        if isinstance(first, np.generic):
            return rushlight.as_tensor(np.stack(batch))
        return _stack([rushlight.as_tensor(b) for b in batch])
    if isinstance(first, float):
        return rushlight.tensor(batch, dtype=rushlight.float64)
    if isinstance(first, int):
        return rushlight.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        return _mapping(batch, first)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(f) for f in zip(*batch, strict=True)))
    if isinstance(first, collections.abc.Sequence):
        return _sequence(batch, first)
    raise TypeError(_unknown(type(first)))


def _stack(batch):
    try:
        return rushlight.stack(list(batch), 0)
    except RuntimeError:
        shapes = sorted({tuple(t.shape) for t in batch})
        raise RuntimeError(
            f"default_collate: samples of a batch must have one shape, got {shapes}; pad them, or "
            "pass a collate_fn"
        ) from None


def _unknown(kind):
    return (
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {kind}"
    )


def _mapping(batch, first):
    collated = {key: default_collate([sample[key] for sample in batch]) for key in first}
    try:
        return type(first)(collated)
    except TypeError:
        return collated


def _sequence(batch, first):
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [default_collate(column) for column in zip(*batch, strict=True)]
    if isinstance(first, tuple):
        return columns
    try:
        return type(first)(columns)
    except TypeError:
        return columns
