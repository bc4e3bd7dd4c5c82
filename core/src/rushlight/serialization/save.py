"""`save`: any object with tensors, as a zip archive that PyTorch reads too."""

from __future__ import annotations

import importlib
import io
import os
import pickle
import sys
import types
from typing import SupportsIndex

from rushlight import devices, dtypes
from rushlight.autograd.later import later
from rushlight.machine import np
from rushlight.serialization import legacy, sparse
from rushlight.serialization.archive_writer import ALIGNMENT, ArchiveWriter, put
from rushlight.serialization.atomic import replacing
from rushlight.serialization.names import STORAGE_OF, Global, torch_home
from rushlight.tensor.dispatch import is_dispatching
from rushlight.tensor.homes import home_of
from rushlight.tensor.shape import Size, contiguous_strides
from rushlight.tensor.storage import Storage, _root
from rushlight.tensor.tensor import Parameter, Tensor

UNTYPED = "untyped"


def _convolution_state(layer):
    """What PyTorch's convolutions keep besides."""
    padding = layer.padding
    if isinstance(padding, str):
        total = [d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size, strict=True)]
        pairs = [(t // 2, t - t // 2) if padding == "same" else (0, 0) for t in reversed(total)]
        repeated = [n for pair in pairs for n in pair]
    else:
        repeated = tuple(n for n in reversed(padding) for _ in range(2))
    return {
        "transposed": "Transpose" in type(layer).__name__,
        "_reversed_padding_repeated_twice": repeated,
    }


def _recurrent_state(layer):
    """The names of the weights by layer and direction, which PyTorch's layers keep."""
    if type(layer).__name__.endswith(("Cell", "CellBase")):
        return {}
    ends = [
        f"l{number}{way}"
        for number in range(layer.num_layers)
        for way in (("", "_reverse") if layer.bidirectional else ("",))
    ]
    parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
    names = [[n for p in parts if (n := f"{p}_{end}") in layer._parameters] for end in ends]
    flat = [n for row in names for n in row]
    return {
        "_all_weights": names,
        "_flat_weights_names": flat,
        "_flat_weights": [layer._parameters[n] for n in flat],
    }


def _encoder_state(layer):
    """Which of the two activations with a fast way an encoder layer has."""
    if type(layer).__name__ != "TransformerEncoderLayer":
        return {}
    name = getattr(layer.activation, "__name__", type(layer.activation).__name__).lower()
    return {"activation_relu_or_gelu": {"relu": 1, "gelu": 2}.get(name, 0)}


_WITH_MORE_STATE = {
    "torch.nn.modules.conv": _convolution_state,
    "torch.nn.modules.rnn": _recurrent_state,
    "torch.nn.modules.transformer": _encoder_state,
}


class _Pickler(pickle._Pickler):
    """Writes tensors as PyTorch's rebuild calls over numbered storages."""

    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file, protocol, more=()):
        super().__init__(file, protocol)
        self.more = more  # what the ids of storages end with
        self.storages = {}  # address and dtype of a buffer -> (number, array)

    def save_name(self, obj):
        """A name alone, without importing it."""
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[Global] = save_name  # type: ignore[assignment]

    def reducer_override(self, obj):
        """How tensors, storages, dtypes, devices and layers are written."""
        if isinstance(obj, Tensor):
            if obj._hooks and type(obj) is Tensor:
                importlib.import_module("rushlight.utils.hooks").warn_if_has_hooks(obj)
            return self._tensor(obj)
        if isinstance(obj, devices.device):
            arguments = (obj.type,) if obj.index is None else (obj.type, obj.index)
            return _name("torch", "device"), arguments
        if type(obj) is _Layout:
            return _name("torch.serialization", "_get_layout"), (f"torch.{obj.name}",)
        home = torch_home(type(obj))
        if home in _WITH_MORE_STATE:
            made = obj.__reduce_ex__(2)
            return (*made[:2], {**made[2], **_WITH_MORE_STATE[home](obj)}, *made[3:])
        return NotImplemented

    def save(self, obj, save_persistent_id=True):
        """Dtypes, sizes, storages and layers' classes have forms of their own."""
        if type(obj) is dtypes.dtype:
            obj = _name("torch", obj.name)
        elif type(obj) is Size:
            return self.save_reduce(_name("torch", "Size"), (tuple(obj),), obj=obj)
        elif isinstance(obj, type | types.FunctionType):
            home = torch_home(obj)
            obj = obj if home is None else _name(home, obj.__qualname__)
        elif isinstance(obj, Storage):
            obj = self._number(_root(obj.array), 1, UNTYPED)
        elif type(obj).__name__ == "TypedStorage" and isinstance(getattr(obj, "_row", 0), Tensor):
            obj = self._stored(obj._row)[0]
        return super().save(obj, save_persistent_id)

    def persistent_id(self, obj):
        """Storages are written outside the pickle."""
        if type(obj) is not _Stored:
            return None
        home, name = ("torch", STORAGE_OF.get(obj.dtype))
        if obj.dtype == UNTYPED:
            home, name = "torch.storage", "UntypedStorage"
        return ("storage", _name(home, name), str(obj.number), obj.place, obj.count, *self.more)

    def _tensor(self, tensor):
        kind = type(tensor)
        if is_dispatching(tensor) and not later("dispatching_methods").holds_elements(tensor):
            return self._wrapper(tensor)
        named = tensor.__dict__.items()
        state = {k: v for k, v in named if not k.startswith("_") or k == "_is_param"}
        if kind is Parameter:
            rest = (tensor.detach(), tensor.requires_grad, _ordered())
            if state:
                return _name("torch._utils", "_rebuild_parameter_with_state"), (*rest, state)
            return _name("torch._utils", "_rebuild_parameter"), rest
        if not tensor.is_leaf:
            tensor = tensor.detach()
        if tensor.layout.startswith("sparse"):
            rest = (_Layout(tensor.layout), sparse.parts_of(tensor))
            return _name("torch._utils", "_rebuild_sparse_tensor"), rest
        function, rest = self._plain_tensor(tensor)
        plain = kind is Tensor or home_of(kind).startswith("rushlight.")
        if plain and not state:
            return function, rest
        home = _name("torch", "Tensor") if plain else kind
        return _name("torch._tensor", "_rebuild_from_type_v2"), (function, home, rest, state)

    def _wrapper(self, tensor):
        """A tensor without elements, or what its class makes of it."""
        function, args, *rest = tensor.__reduce_ex__(2)
        if function is not later("dispatching_methods").rebuild_from_type:
            return (function, args, *rest)
        _, kind, (*given, layout, device, requires_grad), state = args
        made = (*given, _Layout(layout), device, requires_grad)
        maker = _name("torch._utils", "_rebuild_wrapper_subclass")
        return _name("torch._tensor", "_rebuild_from_type_v2"), (maker, kind, made, state)

    def _plain_tensor(self, tensor):
        if tensor.device.type == "meta":
            shape = tuple(tensor.shape)
            rest = (tensor.dtype, shape, tensor.stride(), tensor.requires_grad)
            return _name("torch._utils", "_rebuild_meta_tensor_no_storage"), rest
        stored, offset, strides = self._stored(tensor)
        shape = tuple(tensor.shape)
        if tensor.dtype.name not in STORAGE_OF:  # its storage has no class: counted in bytes
            rest = (stored, offset, shape, strides, tensor.requires_grad, _ordered(), tensor.dtype)
            return _name("torch._utils", "_rebuild_tensor_v3"), rest
        rest = (stored, offset, shape, strides, tensor.requires_grad, _ordered())
        return _name("torch._utils", "_rebuild_tensor_v2"), rest

    def _stored(self, tensor):
        """The storage of a tensor, numbered, with its offset and strides in elements."""
        array = tensor._array
        root, item = _root(array), array.itemsize
        whole = root.flags.c_contiguous and root.nbytes % item == 0
        distance = array.ctypes.data - root.ctypes.data
        if not whole or distance % item or any(s % item for s in array.strides):
            root = array = np.ascontiguousarray(array)
            distance = 0
        named = tensor.dtype.name in STORAGE_OF
        dtype, unit = (tensor.dtype.name, item) if named else (UNTYPED, 1)
        stored = self._number(root, unit, dtype)
        strides = (
            tuple(s // item for s in array.strides)
            if array.size
            else contiguous_strides(array.shape)
        )
        return stored, distance // item, strides

    def _number(self, root, item, dtype):
        """The numbered storage of a buffer seen as elements of a type."""
        key = (root.ctypes.data, root.nbytes, dtype)
        if key not in self.storages:
            self.storages[key] = _Stored(len(self.storages), dtype, root.nbytes // item, root)
        return self.storages[key]


_names: dict = {}


def _name(module, name):
    return _names.setdefault((module, name), Global(module, name))


def _ordered():
    from collections import OrderedDict

    return OrderedDict()


class _Layout:
    """A sparse layout, which PyTorch writes as a call."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = str.__str__(name)


class _Stored:
    """A buffer on its way into the archive."""

    __slots__ = ("array", "count", "dtype", "number", "place")

    def __init__(self, number, dtype, count, array):
        self.number, self.dtype, self.count, self.array = number, dtype, count, array
        self.place = str(getattr(array, "home", "cpu"))

    def bytes(self):
        """The bytes, copied from where they are to the host."""
        array = self.array if isinstance(self.array, np.ndarray) else self.array.get()
        return memoryview(array.reshape(-1).view(np.uint8))


def check_protocol(protocol) -> None:
    """Raise TypeError for a pickle protocol that is neither None nor an integer."""
    if protocol is not None and not isinstance(protocol, SupportsIndex):
        raise TypeError(
            f"save(): argument 'pickle_protocol' must be an int, not {type(protocol).__name__}"
        )


def save(
    obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True
) -> None:
    """Write an object (tensors, containers, modules, ...) to a path or binary file.

    The format is PyTorch's zip checkpoint: ``torch.load`` reads it. A path is written atomically:
    aside, synced, renamed; whatever happens, it holds the old file or the new one. Tensors that
    share memory share it again after loading. ``_use_new_zipfile_serialization=False`` writes
    PyTorch's format from before version 1.6, which has no checksums and cannot be mapped.
    """
    check_protocol(pickle_protocol)
    name = "archive"
    write = _write if _use_new_zipfile_serialization else _write_old
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0] or name
        with replacing(f) as file:
            write(obj, file, name, pickle_protocol)
        return
    if not hasattr(f, "write"):
        raise AttributeError(
            f"save: expected 'f' to be a string, path, or a file-like object with a 'write' "
            f"attribute, got {type(f).__name__}"
        )
    write(obj, f, name, pickle_protocol)


def _write(obj, file, name, protocol):
    stream = io.BytesIO()
    pickler = _Pickler(stream, protocol)
    pickler.dump(obj)
    size = sum(stored.array.nbytes for stored in pickler.storages.values())
    archive = ArchiveWriter(file, name, size)
    archive.write("data.pkl", stream.getvalue())
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", str(ALIGNMENT).encode())
    archive.write("byteorder", sys.byteorder.encode())
    for stored in pickler.storages.values():
        archive.write(f"data/{stored.number}", stored.bytes())
    archive.write("version", b"3\n")
    archive.close()


def _write_old(obj, file, name, protocol):
    """The format from before version 1.6, which has no room for the file's name."""
    stream = io.BytesIO()
    pickler = _Pickler(stream, protocol, (None,))  # no view of another storage
    pickler.dump(obj)
    stored = list(pickler.storages.values())
    put(file, legacy.head(protocol))
    put(file, stream.getbuffer())
    put(file, pickle.dumps([str(s.number) for s in stored], protocol))
    for one in stored:
        put(file, one.count.to_bytes(8, "little"))
        put(file, one.bytes())
