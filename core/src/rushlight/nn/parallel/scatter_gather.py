"""Parts of batches for several devices: ``scatter`` and ``gather``, and their forms for arguments.

On one device, or on the CPU, a batch stays whole.
"""

from __future__ import annotations

from rushlight.ops.shape.joining import cat, stack
from rushlight.tensor.tensor import Tensor


def scatter(inputs, target_gpus, dim: int = 0) -> list:
    """Tensors in nested containers, cut along `dim` into a part for each device; what is no tensor
    goes to all. Returns a list of structures, one for each device.

    inputs: tensors, or tuples, lists and dicts that hold them.
    target_gpus: the devices; with more than one, tensors are cut as `chunk` does.
    """
    devices = list(target_gpus)
    return _parts(inputs, devices, dim)


def _parts(value, devices, dim):
    if isinstance(value, Tensor):
        parts = value.chunk(len(devices), dim) if len(devices) > 1 else (value,)
        return [part.to(device) for part, device in zip(parts, devices, strict=False)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [type(value)(*items) for items in _each(value, devices, dim)]
    if isinstance(value, (tuple, list)) and value:
        return [type(value)(items) for items in _each(value, devices, dim)]
    if isinstance(value, dict) and value:
        columns = _each(value.values(), devices, dim)
        return [type(value)(zip(value, items, strict=True)) for items in columns]
    return [value for _ in devices]


def _each(values, devices, dim):
    return zip(*(_parts(value, devices, dim) for value in values), strict=False)


def scatter_kwargs(inputs, kwargs, target_gpus, dim: int = 0) -> tuple[tuple, tuple]:
    """`scatter` of positional and keyword arguments: tuples of one entry for each device, of equal
    length."""
    many = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    length = max(len(many), len(named))
    many += [() for _ in range(length - len(many))]
    named += [{} for _ in range(length - len(named))]
    return tuple(many), tuple(named)


def gather(outputs, target_device, dim: int = 0):
    """The results of several devices as one on `target_device`: tensors are joined along `dim`,
    containers are gathered inside."""
    first = outputs[0]
    if isinstance(first, Tensor):
        return _joined([out.to(target_device) for out in outputs], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    items = [gather(each, target_device, dim) for each in zip(*outputs, strict=True)]
    return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)


def _joined(tensors, dim):
    return stack(tensors, 0) if tensors[0].dim() == 0 else cat(tensors, dim)


__all__ = ["gather", "scatter", "scatter_kwargs"]
