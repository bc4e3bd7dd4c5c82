"""Numbers, dtypes, devices and structures as the archive's JSON has them."""

from __future__ import annotations

import json
import keyword
import math
from collections import OrderedDict, namedtuple

from rushlight import devices, dtypes
from rushlight.tensor import layout, memory_format
from rushlight.utils import _pytree as pytree

SCALAR_TYPES = {
    "uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float16": 6, "float32": 7,
    "float64": 8, "complex32": 9, "complex64": 10, "complex128": 11, "bool": 12, "bfloat16": 13,
    "uint16": 28, "float8_e4m3fn": 29, "float8_e5m2": 30, "float8_e4m3fnuz": 31,
    "float8_e5m2fnuz": 32, "float8_e8m0fnu": 33, "uint32": 34, "uint64": 35,
}  # fmt: skip
_DTYPES = dict(zip(SCALAR_TYPES.values(), map(dtypes.NAMES.__getitem__, SCALAR_TYPES), strict=True))
_FORMATS = {
    "contiguous_format": 1, "channels_last": 2, "channels_last_3d": 3, "preserve_format": 4,
}  # fmt: skip
STRIDED = 7
# JSON has no infinities; PyTorch writes these words.
_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_CONTAINERS = {
    "builtins.tuple": tuple, "builtins.list": list, "builtins.dict": dict,
    "collections.OrderedDict": OrderedDict,
}  # fmt: skip
_CONTAINER_NAMES = dict(zip(_CONTAINERS.values(), _CONTAINERS, strict=True))


class FormatError(RuntimeError):
    """An archive is no exported program, is damaged, or has what cannot be read here."""


def only(union):
    """The kind and value of a union."""
    if not isinstance(union, dict) or len(union) != 1:
        raise FormatError(f"expected one kind and its value, got {union!r}")
    return next(iter(union.items()))


# ------------------------------------------------------------------------------------------ leaves
def scalar_type(dtype) -> int:
    """The number of a dtype."""
    return SCALAR_TYPES[str(dtype).rpartition(".")[2]]


def dtype_of(number):
    """The dtype of a number."""
    if number not in _DTYPES:
        raise FormatError(f"dtype {number} is not available; known are {sorted(_DTYPES)}")
    return _DTYPES[number]


def leaf(value) -> dict:
    """A value that is no tensor and no list, as an argument."""
    if value is None:
        return {"as_none": True}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": _finite(value)}
    if isinstance(value, complex):
        return {"as_complex": {"real": value.real, "imag": value.imag}}
    if isinstance(value, layout.layout) and value == layout.strided:
        return {"as_layout": STRIDED}
    if isinstance(value, str) and not isinstance(value, layout.layout):
        return {"as_string": value}
    if isinstance(value, dtypes.dtype):
        return {"as_scalar_type": scalar_type(value)}
    if isinstance(value, devices.device):
        return {"as_device": device(value)}
    if isinstance(value, memory_format.memory_format):
        return {"as_memory_format": _FORMATS[str(value).rpartition(".")[2]]}
    raise FormatError(f"an argument of type {type(value).__name__} cannot be written: {value!r}")


def _finite(value):
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def number(value):
    """A float that was written by :func:`leaf`."""
    return _INFINITE[value] if value in _INFINITE else float(value)


def read_leaf(kind, value):
    """A value from an argument of :func:`leaf`'s kinds; LookupError for others."""
    if kind == "as_none":
        return None
    if kind in ("as_bool", "as_int", "as_string"):
        return value
    if kind == "as_float":
        return number(value)
    if kind == "as_complex":
        return complex(value["real"], value["imag"])
    if kind == "as_scalar_type":
        return dtype_of(value)
    if kind == "as_device":
        return devices.device(value["type"], value["index"])
    if kind == "as_memory_format":
        name = next(n for n, code in _FORMATS.items() if code == value)
        return getattr(memory_format, name)
    if kind == "as_layout" and value == STRIDED:
        return layout.strided
    raise LookupError(kind)


def device(value) -> dict:
    """A device."""
    return {"type": value.type, "index": value.index}


def whole(entry, what):
    """A size of a tensor with elements, which is a number."""
    if not isinstance(entry, dict) or type(entry.get("as_int")) is not int:
        raise FormatError(f"{what}: expected a whole number, got {entry}")
    return entry["as_int"]


# ------------------------------------------------------------------------------------------- names
def identifier(name, what):
    """A name that stands in generated code: an identifier and nothing else."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise FormatError(f"{what}: {name!r} is no identifier")
    return name


def dotted(name, what):
    """The path of a parameter, a buffer or a constant; modules may have names that are no
    identifiers ("block1-0"), which code quotes."""
    if not isinstance(name, str) or not name.isprintable() or "" in name.split("."):
        raise FormatError(f"{what}: {name!r} is no path of attributes")
    return name


# -------------------------------------------------------------------------------------- structures
def tree_text(spec: pytree.TreeSpec) -> str:
    """A structure as text."""
    return json.dumps([1, _tree(spec)])


def _tree(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    name, context = _CONTAINER_NAMES.get(spec.type), spec.context
    if spec.type is namedtuple and context.__module__.startswith("rushlight."):
        name, context = "builtins.tuple", None  # what max(dim) and its like return
    children = [_tree(child) for child in spec.children_specs]
    if name is not None:
        return {"type": name, "context": json.dumps(context), "children_spec": children}
    kind = pytree.SUPPORTED_NODES.get(spec.type)
    if kind is None or kind.type_name is None or spec.type in pytree.BUILTIN_TYPES:
        raise FormatError(
            f"a structure of {spec.type.__name__} cannot be written: return and take tuples, lists "
            "and dicts, or register the class with export.register_dataclass and a "
            "serialized_type_name"
        )
    text = (kind.write or json.dumps)(context)
    return {"type": kind.type_name, "context": text, "children_spec": children}


def tree_of(text) -> pytree.TreeSpec:
    """The structure that a text describes."""
    version, found = json.loads(text)
    if version != 1:
        raise FormatError(f"structures of version {version} are not available, only of 1")
    return _read_tree(found)


def _read_tree(found):
    if found["type"] is None:
        return pytree.LeafSpec()
    children = [_read_tree(child) for child in found["children_spec"]]
    cls, read = _CONTAINERS.get(found["type"]), json.loads
    if cls is None:
        cls, read = _registered(found["type"])
    return pytree.TreeSpec(cls, read(found["context"]), children)


def _registered(name):
    """A class that the program registered, and what reads its contexts."""
    for cls, kind in pytree.SUPPORTED_NODES.items():
        if kind.type_name == name and cls not in pytree.BUILTIN_TYPES:
            return cls, kind.read or json.loads
    raise FormatError(
        f"a structure of {name} cannot be read: known are {sorted(_CONTAINERS)} and what "
        "export.register_dataclass was given with that serialized_type_name"
    )
