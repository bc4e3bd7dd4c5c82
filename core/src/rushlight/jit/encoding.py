"""Pickles of programs: only the instructions that PyTorch's reader in C++ knows.

Protocol 2 (CPython's ``Lib/pickletools.py``). Tensors are rebuilt over numbered storages, lists and
dicts carry the text of their types, objects are made empty and then given their attributes.
"""

from __future__ import annotations

import io
import struct
from collections import OrderedDict

from rushlight import devices, dtypes
from rushlight.jit import kinds, runtime
from rushlight.jit.kinds import ClassType
from rushlight.serialization.names import Global
from rushlight.serialization.save import _Pickler, _Stored
from rushlight.tensor.tensor import Tensor

_TAG = ("torch.jit._pickle", "restore_type_tag")


class Encoder:
    """Writes one pickle; `exporter` says how types are called."""

    def __init__(self, exporter):
        self.exporter = exporter
        self.tensors = _Pickler(io.BytesIO(), 2)
        self.parts: list = []
        self.memo: dict = {}  # id -> (number, object)

    @property
    def storages(self):
        """The storages of all tensors so far."""
        return list(self.tensors.storages.values())

    def encoded(self, value, kind=None) -> bytes:
        """The pickle of a value."""
        self.parts = [b"\x80\x02"]
        self.put(value, kind)
        self.parts.append(b".")
        return b"".join(self.parts)

    def write(self, *data):
        """Add instructions."""
        self.parts.extend(data)

    def put(self, value, kind=None):
        """A value, of a type where one is known."""
        if value is None or isinstance(value, bool):
            self.write({None: b"N", True: b"\x88", False: b"\x89"}[value])
        elif isinstance(value, dtypes.dtype):
            self.number(runtime.NUMBERS[value])
        elif hasattr(type(value), "_script_type") or self.exporter.knows(type(value)):
            self.object(value, kind)
        elif isinstance(value, int):
            self.number(value)
        elif isinstance(value, float):
            self.write(b"G", struct.pack(">d", value))
        elif isinstance(value, str):
            data = value.encode("utf-8", "surrogatepass")
            self.write(b"X", struct.pack("<I", len(data)), data)
        elif isinstance(value, Tensor):
            self.tensor(value)
        elif isinstance(value, devices.device):
            self.call("torch", "device", (str(value),))
        else:
            self.container(value, kind)

    def number(self, value):
        """A whole number."""
        if -(1 << 31) <= value < 1 << 31:
            self.write(b"J", struct.pack("<i", value))
        else:
            data = value.to_bytes(8, "little", signed=True)
            self.write(b"\x8a", bytes([len(data)]), data)

    def name(self, module, name):
        """A global name."""
        self.write(f"c{module}\n{name}\n".encode())

    def call(self, module, name, args):
        """A call of a global name."""
        self.name(module, name)
        self.tuple(args)
        self.write(b"R")

    def tuple(self, items, types=()):
        """A tuple."""
        types = list(types) or [None] * len(items)
        self.write(b"(")
        for item, kind in zip(items, types, strict=True):
            self.put(item, kind)
        self.write(b"t")

    def container(self, value, kind):
        """A tuple, list or dict."""
        if kind is None or kind.name not in ("List", "Dict", "Tuple"):
            found = next((p for p in kinds.parts(kind or kinds.UNKNOWN)
                          if p.name == type(value).__name__.capitalize()), None)  # fmt: skip
            kind = found or kinds.of_value(value)
        if isinstance(value, tuple) and kind.name != "List":
            self.tuple(value, kind.args)
            return
        if not isinstance(value, list | tuple | dict):
            raise self.exporter.refused(
                f"an attribute of type '{type(value).__name__}' cannot be written into an archive"
            )
        self.name(*_TAG)
        self.write(b"(", b"}(" if isinstance(value, dict) else b"](")
        if isinstance(value, dict):
            for key, item in value.items():
                self.put(key, kind.args[0])
                self.put(item, kind.args[1])
            self.write(b"u")
        else:
            for item in value:
                self.put(item, kind.args[0])
            self.write(b"e")
        self.put(self.exporter.type(kind))
        self.write(b"t", b"R")

    def tensor(self, value):
        """A tensor over its storage."""
        if value.device.type == "meta" or value.layout != "strided":
            raise self.exporter.refused(
                f"a tensor on the device {value.device} with the layout {value.layout} cannot be "
                "written into an archive"
            )
        function, rest = self.tensors._plain_tensor(value.detach())
        rest = list(rest)
        rest[4] = value.requires_grad
        self.name(function.module, function.name)
        self.write(b"(")
        for item in rest:
            if isinstance(item, _Stored):
                self.stored(item)
            elif isinstance(item, OrderedDict):
                self.write(b"ccollections\nOrderedDict\n)R")
            else:
                self.put(item)
        self.write(b"t", b"R")

    def stored(self, item):
        """The persistent id of a storage."""
        _, name, number, place, count = self.tensors.persistent_id(item)
        self.write(b"(")
        self.put("storage")
        self.name(name.module, name.name) if isinstance(name, Global) else None
        for part in (number, place, count):
            self.put(part)
        self.write(b"t", b"Q")

    def object(self, value, kind):
        """A module, an object, an enum or a named tuple."""
        known = self.memo.get(id(value))
        if known is not None:
            self.write(b"j", struct.pack("<I", known[0]))
            return
        kind = self.exporter.type_of(value)
        module, _, name = self.exporter.type(kind).rpartition(".")
        self.name(module, name)
        if kind.kind == "enum":
            self.put(value.value)
            self.write(b"R")
            return
        if kind.kind == "tuple":
            self.tuple(tuple(value), kind.attributes.values())
            self.write(b"R")
            return
        self.write(b")\x81")
        self.memo[id(value)] = (len(self.memo), value)
        self.write(b"r", struct.pack("<I", len(self.memo) - 1))
        self.attributes(value, kind)

    def attributes(self, value, kind: ClassType):
        """The attributes of an object."""
        self.write(b"}(")
        for name, wanted in kind.attributes.items():
            self.put(name)
            self.put(getattr(value, name), wanted)
        self.write(b"u", b"b")
