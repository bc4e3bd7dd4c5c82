"""Kinds of values that a captured program may hold, and what may be done with them."""

from __future__ import annotations

import enum
from collections import OrderedDict
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, NotImplementedType

from rushlight import devices, dtypes
from rushlight.ops._transforms.capturing import Captured
from rushlight.tensor.layout import layout
from rushlight.tensor.memory_format import memory_format
from rushlight.tensor.results import NAMED
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Tensor

_VALUES = (int, float, complex, str, bytes, bool, type(None), type(...), NotImplementedType, range,
           slice)  # fmt: skip
_CONSTANTS = (dtypes.dtype, type(devices.cpu), memory_format, layout,
              dtypes.finfo, dtypes.iinfo)  # fmt: skip
# Python's own containers, exactly these: what their methods do is known
CONTAINERS = frozenset([list, dict, set, frozenset, tuple, OrderedDict])
_VIEWS: tuple = (type({}.keys()), type({}.values()), type({}.items()))


def is_value(value) -> bool:
    """Whether a value is a number, a text or another constant, or a tuple of such."""
    kind = type(value)
    if kind in (tuple, Size, frozenset):
        return all(map(is_value, value))
    return kind in _VALUES or isinstance(value, _CONSTANTS)


def is_container(value) -> bool:
    """Whether a value is one of Python's own containers, or a named tuple."""
    return type(value) in CONTAINERS or is_named_tuple(type(value))


def is_named_tuple(kind) -> bool:
    """Whether a class was made by `collections.namedtuple` or `typing.NamedTuple`, with no
    constructor of its own, or holds the results of an op."""
    if NAMED.get(kind.__name__) is kind:
        return True
    if kind.__bases__ != (tuple,) or not hasattr(kind, "_fields"):
        return False
    new = vars(kind).get("__new__")
    code = getattr(getattr(new, "__func__", new), "__code__", None)
    return code is not None and code.co_filename.startswith(("<string>", "<namedtuple"))


def is_known_by_identity(value) -> bool:
    """Whether an object is equal to itself alone, and is read like one that a program finds: its
    attributes, each of which is guarded. A method is, of such an object."""
    if isinstance(value, MethodType):
        return is_known_by_identity(value.__self__)
    kind = type(value)
    if isinstance(value, Tensor) or is_iterator(value):
        return False
    return kind.__hash__ is object.__hash__ and kind.__eq__ is object.__eq__ or is_atom(value)


def is_iterator(value) -> bool:
    """Whether a value is used up by looking at it."""
    return hasattr(type(value), "__next__")


def is_atom(value) -> bool:
    """Whether a value is compared by identity alone, by functions of Python's own."""
    if isinstance(value, enum.Enum):
        return type(value).__eq__ is object.__eq__ or isinstance(value, (int, str))
    if isinstance(value, type):
        return type(value).__eq__ is type.__eq__
    return isinstance(value, (FunctionType, BuiltinFunctionType, ModuleType))


def is_plain(value, depth=8) -> bool:
    """Whether nothing but functions of Python and of ops runs when a value is added, compared,
    looked into, or given to an op."""
    if is_value(value) or isinstance(value, Captured) or is_atom(value) or type(value) is Size:
        return True
    if depth and isinstance(value, dict) and is_container(value):
        return all(is_plain(k, depth - 1) and is_plain(v, depth - 1) for k, v in value.items())
    if depth and (is_container(value) or type(value) in _VIEWS):
        return all(is_plain(v, depth - 1) for v in value)
    return False


def is_iterable(value) -> bool:
    """Whether Python's own `iter` of a value runs nothing of the program's."""
    kind = type(value)
    return is_container(value) or kind in _VIEWS or kind in (str, range, Size, bytes)
