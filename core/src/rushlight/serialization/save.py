"""`save`: any object with tensors, as a zip archive that PyTorch reads too."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import zipfile

from rushlight import devices, dtypes
from rushlight.backends import np
from rushlight.serialization.atomic import replacing
from rushlight.serialization.names import STORAGE_OF, Global
from rushlight.tensor.shape import Size, contiguous_strides
from rushlight.tensor.storage import _root
from rushlight.tensor.tensor import Parameter, Tensor

_ALIGNMENT = 64


class _Pickler(pickle._Pickler):
    """Writes tensors as PyTorch's rebuild calls over numbered storages."""

    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages = {}  # address and dtype of a buffer -> (number, array)

    def save_name(self, obj):
        """A name alone, without importing it."""
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[Global] = save_name  # type: ignore[assignment]

    def reducer_override(self, obj):
        """How tensors, dtypes, devices and sizes are written."""
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if isinstance(obj, devices.device):
            arguments = (obj.type,) if obj.index is None else (obj.type, obj.index)
            return _name("torch", "device"), arguments
        return NotImplemented

    def save(self, obj, save_persistent_id=True):
        """Dtypes and sizes have forms of their own."""
        if type(obj) is dtypes.dtype:
            obj = _name("torch", obj.name)
        if type(obj) is Size:
            return self.save_reduce(_name("torch", "Size"), (tuple(obj),), obj=obj)
        return super().save(obj, save_persistent_id)

    def persistent_id(self, obj):
        """Storages are written outside the pickle."""
        if type(obj) is not _Stored:
            return None
        return ("storage", _name("torch", STORAGE_OF[obj.dtype]), str(obj.number), "cpu", obj.count)

    def _tensor(self, tensor):
        if type(tensor) is Parameter:
            rest = (tensor.detach(), tensor.requires_grad, _ordered())
            return _name("torch._utils", "_rebuild_parameter"), rest
        if not tensor.is_leaf:
            tensor = tensor.detach()
        if tensor.device.type == "meta":
            raise RuntimeError("save: meta tensors hold no data; materialize them first")
        stored, offset, strides = self._stored(tensor)
        shape = tuple(tensor.shape)
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
        key = (root.ctypes.data, root.nbytes, tensor.dtype.name)
        if key not in self.storages:
            number = len(self.storages)
            self.storages[key] = _Stored(number, tensor.dtype.name, root.nbytes // item, root)
        strides = (
            tuple(s // item for s in array.strides)
            if array.size
            else contiguous_strides(array.shape)
        )
        return self.storages[key], distance // item, strides


_names: dict = {}


def _name(module, name):
    return _names.setdefault((module, name), Global(module, name))


def _ordered():
    from collections import OrderedDict

    return OrderedDict()


class _Stored:
    """A buffer on its way into the archive."""

    __slots__ = ("array", "count", "dtype", "number")

    def __init__(self, number, dtype, count, array):
        self.number, self.dtype, self.count, self.array = number, dtype, count, array


class _Archive:
    """Uncompressed zip entries whose data start at multiples of 64 bytes, as in PyTorch."""

    def __init__(self, file, name):
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self.file, self.name = file, name

    def write(self, entry, data):
        """Add one entry."""
        info = zipfile.ZipInfo(f"{self.name}/{entry}")
        start = self.file.tell() + 30 + len(info.filename)
        # Beyond 4 GiB zipfile adds a 20-byte zip64 field in front of ours.
        start += 20 if len(data) * 1.05 > zipfile.ZIP64_LIMIT else 0
        padding = -(start + 4) % _ALIGNMENT
        info.extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding
        with self.zip.open(info, "w") as stream:
            stream.write(data)

    def close(self):
        """Write the directory."""
        self.zip.close()


def save(
    obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True
) -> None:
    """Write an object (tensors, containers, modules, ...) to a path or binary file.

    The format is PyTorch's zip checkpoint: ``torch.load`` reads it. A path is written atomically:
    aside, synced, renamed; whatever happens, it holds the old file or the new one. Tensors that
    share memory share it again after loading.
    """
    if isinstance(f, (str, os.PathLike)):
        with replacing(f) as file:
            _write(
                obj,
                file,
                os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive",
                pickle_protocol,
            )
        return
    if not hasattr(f, "write"):
        raise AttributeError(
            f"save: expected 'f' to be a string, path, or a file-like object with a 'write' "
            f"attribute, got {type(f).__name__}"
        )
    _write(obj, f, "archive", pickle_protocol)


def _write(obj, file, name, protocol):
    stream = io.BytesIO()
    pickler = _Pickler(stream, protocol)
    pickler.dump(obj)
    archive = _Archive(file, name)
    archive.write("data.pkl", stream.getvalue())
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", str(_ALIGNMENT).encode())
    archive.write("byteorder", sys.byteorder.encode())
    for stored in pickler.storages.values():
        flat = stored.array.reshape(-1).view(np.uint8)
        archive.write(f"data/{stored.number}", memoryview(flat))
    archive.write("version", b"3\n")
    archive.close()
