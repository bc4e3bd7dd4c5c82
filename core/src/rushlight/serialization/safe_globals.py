"""Which names a checkpoint may use: a fixed list, and what the user allows."""

from __future__ import annotations

import collections
import contextlib

from rushlight import devices, dtypes
from rushlight.serialization import rebuild
from rushlight.serialization.names import DTYPE_OF
from rushlight.tensor.shape import Size

_allowed: dict = {}


def _fixed():
    found = {
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("collections", "Counter"): collections.Counter,
        ("builtins", "set"): set,
        ("builtins", "frozenset"): frozenset,
        ("builtins", "complex"): complex,
        ("builtins", "bytearray"): bytearray,
        ("_codecs", "encode"): rebuild.encode,
        ("torch._utils", "_rebuild_tensor_v2"): rebuild.tensor,
        ("torch._utils", "_rebuild_tensor"): rebuild.tensor,
        ("torch._utils", "_rebuild_parameter"): rebuild.parameter,
        ("torch._tensor", "_rebuild_from_type_v2"): rebuild.from_type,
        ("torch", "Tensor"): rebuild.Tensor,
        ("torch.nn.parameter", "Parameter"): rebuild.Parameter,
        ("torch", "Size"): Size,
        ("torch", "device"): devices.device,
        ("rushlight.dtypes", "_by_name"): dtypes._by_name,
    }
    for name, dtype in DTYPE_OF.items():
        found["torch", name] = dtype
    for dtype in dtypes.ALL:
        found["torch", dtype.name] = dtype
    # Python 2 names, which pickle protocol 2 writes.
    for name in ("set", "frozenset", "complex", "bytearray"):
        found["__builtin__", name] = found["builtins", name]
    return found


FIXED = _fixed()


def _key(item):
    if isinstance(item, tuple):
        function, name = item
        module, _, attribute = name.rpartition(".")
        return (module, attribute), function
    return (item.__module__, item.__qualname__), item


def add_safe_globals(safe_globals) -> None:
    """Allow classes or functions (or ``(object, "full.name")`` pairs) in checkpoints."""
    for item in safe_globals:
        key, value = _key(item)
        _allowed[key] = value


def clear_safe_globals() -> None:
    """Forget everything `add_safe_globals` allowed."""
    _allowed.clear()


def get_safe_globals():
    """What `add_safe_globals` has allowed."""
    return list(_allowed.values())


class safe_globals(contextlib.ContextDecorator):  # noqa: N801 - PyTorch's public name
    """Allow classes or functions in checkpoints inside a ``with`` block."""

    def __init__(self, safe_globals):
        self.items = list(safe_globals)

    def __enter__(self):
        self.before = dict(_allowed)
        add_safe_globals(self.items)
        return self

    def __exit__(self, *exc):
        _allowed.clear()
        _allowed.update(self.before)


def find(module, name):
    """The object an allowed name stands for, or None."""
    found = FIXED.get((module, name))
    return _allowed.get((module, name)) if found is None else found
