"""Batches in page-locked memory, from which copies to an accelerator are quicker."""

from __future__ import annotations

import collections.abc
import copy
import queue

import rushlight
from rushlight._utils.exceptions import ExceptionWrapper
from rushlight.tensor.tensor import Tensor

_CHECK_INTERVAL = 5.0  # seconds between looks at whether the loop is to end


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


def _pin_memory_loop(in_queue, out_queue, device_id, done_event, device=None) -> None:
    """Pin what comes from a queue as ``(number, batch)`` and pass it on, until the event is set:
    the thread of libraries' loaders. An error goes on in the batch's stead."""
    if rushlight.accelerator.is_available():
        rushlight.accelerator.set_device_index(device_id)
    while not done_event.is_set():
        try:
            number, data = in_queue.get(timeout=_CHECK_INTERVAL)
        except queue.Empty:
            continue
        if not done_event.is_set() and not isinstance(data, ExceptionWrapper):
            try:
                data = pin_memory(data, device)
            except Exception:
                data = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        _put(out_queue, (number, data), done_event)


def _put(out_queue, item, done_event):
    """Put an item where there is room for it, unless the loop is to end."""
    while not done_event.is_set():
        try:
            return out_queue.put(item, timeout=_CHECK_INTERVAL)
        except queue.Full:
            continue
    return None


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
