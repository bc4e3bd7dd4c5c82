"""What stands for the names of the allow-list where a pickle calls them.

Each function charges the load that runs (:func:`.budget.current`) for what it is about to make.
"""

from __future__ import annotations

import collections

from rushlight import devices, dtypes
from rushlight.machine import np
from rushlight.serialization import rebuild, sparse
from rushlight.serialization.budget import current
from rushlight.serialization.keys import Keys
from rushlight.serialization.restricted import shown
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Parameter, Tensor, make_tensor

_OBJECT = 80  # bytes of a small object
_EMPTY = 232  # bytes of an empty set
_EMPTY_ORDERED = 148  # and of an OrderedDict or Counter
_PAIR = 240  # bytes of an entry of an OrderedDict while it is made of pairs
_NUMBER = 64  # bytes of a number of a nested list while it becomes a tensor
_DEEPEST = 64


def encode(text, encoding):
    """Bytes, as pickle protocol 2 writes them."""
    if type(text) is not str or type(encoding) is not str or encoding != "latin1":
        raise ValueError(f"bytes in encoding {shown(encoding)}")
    current().charge(_OBJECT + len(text))
    return text.encode("latin1")


def byte_array(data=b"", encoding=None):
    """A bytearray of bytes; of a number it would be memory that the file has not."""
    if encoding is not None:
        data = encode(data, encoding)
    if type(data) not in (bytes, bytearray):
        raise ValueError(f"a bytearray of a {type(data).__name__}")
    current().charge(_OBJECT + len(data))
    return bytearray(data)


def plain_bytes(data=b""):
    """No bytes, as pickle protocol 2 writes them."""
    if type(data) not in (bytes, bytearray):
        raise ValueError(f"bytes of a {type(data).__name__}")
    current().charge(_OBJECT + len(data))
    return bytes(data)


def members(items=()):
    """A set of hashable values."""
    if not isinstance(items, list | tuple | set | frozenset | dict):
        raise ValueError(f"a set of a {type(items).__name__}")
    budget = current()
    budget.charge(_EMPTY)
    found: set = set()
    Keys(budget).add(found, items if isinstance(items, list | tuple) else list(items))
    return found


def frozen(items=()):
    """A frozenset of hashable values."""
    return frozenset(members(items))


def _mapping(kind, pairs):
    """A dict of a class of dicts, of pairs."""
    budget = current()
    budget.charge(_EMPTY_ORDERED)
    found = kind()
    if pairs:
        budget.charge(_PAIR * len(pairs))
        flat = [part for pair in pairs for part in pair]
        Keys(budget).put(found, flat)
    return found


def ordered(items=()):
    """An OrderedDict of pairs or of a dict."""
    if isinstance(items, dict):
        return _mapping(collections.OrderedDict, items.items())
    if not isinstance(items, list | tuple):
        raise ValueError(f"an OrderedDict of a {type(items).__name__}")
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in items):
        raise ValueError("an OrderedDict of something else than pairs")
    return _mapping(collections.OrderedDict, items)


def counter(counts=None):
    """A Counter of a dict of counts, as it is pickled."""
    counts = {} if counts is None else counts
    if not isinstance(counts, dict):
        raise ValueError(f"a Counter of a {type(counts).__name__}")
    return _mapping(collections.Counter, counts.items())


def complex_number(real=0.0, imag=0.0):
    """A complex number of two real ones."""
    if not all(isinstance(part, int | float) for part in (real, imag)):
        raise ValueError(f"a complex number of {shown(real)} and {shown(imag)}")
    current().charge(_OBJECT)
    return complex(real, imag)


def size(extents=()):
    """A tensor's shape."""
    if not isinstance(extents, list | tuple) or not all(type(n) is int for n in extents):
        raise ValueError(f"a size of {shown(extents)}")
    current().charge(_OBJECT + 8 * len(extents))
    return Size(extents)


def device(kind, index=None):
    """A device by its name and number."""
    if type(kind) is not str or len(kind) > 100 or type(index) not in (int, type(None)):
        raise ValueError(f"a device {shown(kind)} with the number {shown(index)}")
    current().charge(_OBJECT)
    return devices.device(kind) if index is None else devices.device(kind, index)


def dtype(name):
    """A dtype of ours by its name."""
    if type(name) is not str:
        raise ValueError(f"a dtype is named {shown(name)}")
    return dtypes._by_name(name)


def plain_tensor(*args):
    """``Tensor()``, ``Tensor(2, 3)`` (of zeros), ``Tensor([1, 2])`` and ``Tensor(tensor)``."""
    budget = current()
    budget.charge(_NUMBER + 400)
    if len(args) == 1 and isinstance(args[0], list | tuple) and type(args[0]) is not Size:
        _charge_numbers(budget, args[0])
        return Tensor(args[0])
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    extents = args[0] if len(args) == 1 and type(args[0]) is Size else args or (0,)
    if not all(type(n) is int and 0 <= n < 1 << 40 for n in extents) or len(extents) > _DEEPEST:
        raise ValueError(f"a tensor of size {shown(extents)}")
    count = 1
    for extent in extents:
        count *= extent
    budget.charge(4 * count)
    return make_tensor(np.zeros(tuple(extents), np.float32), dtypes.float32)


def _charge_numbers(budget, data, depth=0):
    """Charge for the numbers of a nested list before they are gathered."""
    if depth > _DEEPEST:
        raise ValueError(f"a tensor of a list that is nested more than {_DEEPEST} times")
    budget.charge(_NUMBER * len(data))
    for item in data:
        if isinstance(item, list | tuple):
            _charge_numbers(budget, item, depth + 1)
        elif not isinstance(item, int | float):
            raise ValueError(f"a tensor of a {type(item).__name__}")


_REBUILD = (
    rebuild.tensor, rebuild.typed_tensor, rebuild.parameter, rebuild.parameter_with_state,
    rebuild.meta_tensor, rebuild.from_type, sparse.sparse_tensor, sparse.layout, encode,
)  # fmt: skip

# What the pickle has on its stack -> what is called for it.
MAKERS = {
    **{function: function for function in _REBUILD},
    set: members, frozenset: frozen, collections.Counter: counter,
    collections.OrderedDict: ordered, complex: complex_number, bytearray: byte_array,
    bytes: plain_bytes, Size: size, devices.device: device, dtypes._by_name: dtype,
    Tensor: plain_tensor, Parameter: rebuild.parameter,
}  # fmt: skip
