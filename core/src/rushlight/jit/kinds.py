"""The types of TorchScript: what a value may be, how a type is written, what fits where.

A type is written as in TorchScript (``Optional[List[int]]``); equal types have equal text. Types
are gradual: ``UNKNOWN`` is the type of an expression of which nothing is known before it runs, and
it fits everywhere.
"""

from __future__ import annotations

import enum

from rushlight import devices, dtypes
from rushlight.tensor.tensor import Tensor


class Type:
    """A type: the name of its kind and the types it contains."""

    __slots__ = ("args", "fields", "name", "text")

    def __init__(self, name, *args, fields=()):
        self.name, self.args, self.fields = name, args, fields
        self.text = name if not args else f"{name}[{', '.join(str(a) for a in args)}]"
        if name == "Tuple" and not args:
            self.text = "Tuple[()]"

    def __str__(self):
        return self.text

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, Type) and self.text == other.text

    def __hash__(self):
        return hash(self.text)


class ClassType(Type):
    """A class, module, interface, enum or named tuple, by its qualified name."""

    __slots__ = ("attributes", "constants", "kind", "methods", "python", "scope")

    def __init__(self, name, kind):
        super().__init__(name)
        self.kind = kind  # module, class, interface, enum, tuple
        self.attributes, self.constants, self.methods = {}, {}, {}
        self.python = None  # the class of its objects when it runs
        self.scope = None

    def annotation(self):
        """How the type is written in source."""
        return self.text


TENSOR, INT, FLOAT, BOOL = Type("Tensor"), Type("int"), Type("float"), Type("bool")
STR, NONE, DEVICE, ANY = Type("str"), Type("NoneType"), Type("Device"), Type("Any")
NUMBER, COMPLEX, UNKNOWN = Type("number"), Type("complex"), Type("?")
GENERATOR = Type("Generator")
SIMPLE = {
    t.name: t
    for t in (TENSOR, INT, FLOAT, BOOL, STR, NONE, DEVICE, ANY, NUMBER, COMPLEX, GENERATOR)
} | {"None": NONE, "Scalar": NUMBER, "Stream": Type("Stream"), "Storage": Type("Storage")}
GENERIC = ("List", "Dict", "Tuple", "Optional", "Union", "Future", "Await", "RRef", "Final")


def list_of(inner):
    """``List[inner]``."""
    return Type("List", inner)


def optional(inner):
    """``Optional[inner]``, once."""
    return inner if inner in (NONE, ANY, UNKNOWN) or inner.name == "Optional" else _option(inner)


def _option(inner):
    if inner.name == "Union" and NONE in inner.args:
        return inner
    return Type("Optional", inner)


def union(types):
    """The type of a value that has one of several."""
    flat = []
    for kind in types:
        for part in parts(kind):
            if part not in flat:
                flat.append(part)
    if UNKNOWN in flat:
        return UNKNOWN
    if len(flat) == 1:
        return flat[0]
    if len(flat) == 2 and NONE in flat:
        return optional(next(t for t in flat if t != NONE))
    return Type("Union", *flat)


def parts(kind):
    """The alternatives of a type."""
    if kind.name == "Union":
        return kind.args
    if kind.name == "Optional":
        return (*parts(kind.args[0]), NONE)
    return (kind,)


def without_none(kind):
    """A type after ``is not None``."""
    rest = [p for p in parts(kind) if p != NONE]
    return union(rest) if rest else kind


def may_be_none(kind):
    """Whether None is a value of a type."""
    return kind in (ANY, UNKNOWN) or NONE in parts(kind)


def fits(kind, wanted):
    """Whether a value of type `kind` may stand where `wanted` is asked for."""
    if kind == wanted or UNKNOWN in (kind, wanted) or wanted == ANY:
        return True
    if wanted.name in ("Optional", "Union"):
        return all(any(fits(k, w) for w in parts(wanted)) for k in parts(kind))
    if wanted == NUMBER:
        return kind in (INT, FLOAT, COMPLEX, BOOL)
    if kind.name == wanted.name and kind.args and wanted.args:
        if kind.name in ("Tuple",):
            same = len(kind.args) == len(wanted.args)
            return same and all(map(fits, kind.args, wanted.args))
        if len(kind.args) == len(wanted.args):
            return all(a == b or UNKNOWN in (a, b) or fits(a, b) and fits(b, a)
                       for a, b in zip(kind.args, wanted.args, strict=True))  # fmt: skip
    if isinstance(wanted, ClassType) and wanted.kind == "interface":
        return isinstance(kind, ClassType) and set(wanted.methods) <= set(kind.methods)
    if isinstance(kind, ClassType) and kind.kind == "tuple" and wanted.name == "Tuple":
        return len(kind.attributes) == len(wanted.args)
    return False


def joined(first, second):
    """The type of a variable that two branches give; None where there is no common one."""
    if fits(second, first) and second != UNKNOWN:
        return first
    if fits(first, second):
        return second
    if NONE in (first, second) or {first.name, second.name} & {"Optional", "Union"}:
        found = union((first, second))
        return found if found.name == "Optional" else None
    return None


# --------------------------------------------------------------------------------- at run time
_PLAIN = {
    "Tensor": lambda v: isinstance(v, Tensor),
    "int": lambda v: type(v) is int or isinstance(v, dtypes.dtype),
    "float": lambda v: type(v) is float or type(v) is int,
    "bool": lambda v: type(v) is bool,
    "str": lambda v: isinstance(v, str),
    "NoneType": lambda v: v is None,
    "Device": lambda v: isinstance(v, devices.device),
    "number": lambda v: isinstance(v, int | float | complex) and type(v) is not bool,
    "complex": lambda v: isinstance(v, complex | float | int),
}
_CONTAINERS = {"List": list, "Dict": dict, "Tuple": tuple}


def accepts(kind, value):
    """Whether a value may be an argument of a type."""
    if kind is TENSOR:
        return isinstance(value, Tensor)
    check = _PLAIN.get(kind.name)
    if check is not None:
        return check(value)
    if kind.name in ("Optional", "Union"):
        return any(accepts(part, value) for part in parts(kind))
    if kind.name in _CONTAINERS:
        return _contains(kind, value)
    if isinstance(kind, ClassType):
        return _is_object(kind, value)
    return True


def _contains(kind, value):
    if kind.name == "List" and isinstance(value, tuple):
        return all(accepts(kind.args[0], v) for v in value)
    if not isinstance(value, _CONTAINERS[kind.name]):
        return False
    if kind.name == "List":
        return all(accepts(kind.args[0], v) for v in value)
    if kind.name == "Dict":
        key, item = kind.args
        return all(accepts(key, k) and accepts(item, v) for k, v in value.items())
    return len(value) == len(kind.args) and all(map(accepts, kind.args, value))


def _is_object(kind, value):
    if kind.kind == "interface":
        return all(hasattr(value, name) for name in kind.methods)
    if kind.kind == "tuple":
        return isinstance(value, tuple) and len(value) == len(kind.attributes)
    own = getattr(type(value), "_script_type", None)
    return own == kind or (kind.python is not None and isinstance(value, kind.python))


def is_of(kind, value):
    """``isinstance`` in a program: exact for numbers."""
    if kind == FLOAT:
        return type(value) is float
    return accepts(kind, value)


def of_value(value):
    """The type of a value; UNKNOWN where it has none."""
    found = getattr(type(value), "_script_type", None)
    if found is not None:
        return found
    for test, kind in _OF_VALUE:
        if isinstance(value, test):
            return kind
    if isinstance(value, list):
        return list_of(_common(value))
    if isinstance(value, dict):
        return Type("Dict", _common(value), _common(value.values()))
    if isinstance(value, tuple):
        return Type("Tuple", *map(of_value, value))
    return UNKNOWN


def _common(values):
    found = list(dict.fromkeys(map(of_value, values)))
    if not found:
        return TENSOR
    return found[0] if len(found) == 1 else UNKNOWN


_OF_VALUE = (
    (type(None), NONE), (bool, BOOL), (enum.Enum, UNKNOWN), (int, INT), (float, FLOAT),
    (complex, COMPLEX), (str, STR), (Tensor, TENSOR), (dtypes.dtype, INT),
    (devices.device, DEVICE),
)  # fmt: skip
