"""`load`: checkpoints of ours and of PyTorch, without running code from the file."""

from __future__ import annotations

import io
import os
import pickle
import sys
import zipfile
import zlib

from rushlight import devices
from rushlight.backends import np
from rushlight.backends.arrays import BY_CODE
from rushlight.dtypes import dtype as dtype_class
from rushlight.serialization import safe_globals
from rushlight.serialization.rebuild import LoadedStorage
from rushlight.tensor.tensor import Tensor


class _Unpickler(pickle.Unpickler):
    """Reads a checkpoint's pickle; names come from the allow-list unless code may run."""

    def __init__(self, file, archive, restricted):
        super().__init__(file)
        self.archive, self.restricted, self.storages = archive, restricted, {}

    def find_class(self, module, name):
        """The object behind a name, if it is allowed."""
        found = safe_globals.find(module, name)
        if found is not None:
            return found
        if not self.restricted:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"Weights only load failed: {self.archive.label} uses the global {module}.{name}, "
            "which is not allowed by default. If you trust the file, allow the name with "
            f"rushlight.serialization.add_safe_globals([{name}]) or the safe_globals context "
            "manager, or load with weights_only=False, which can run any code in the file."
        )

    def persistent_load(self, pid):
        """A storage, read from its own entry once."""
        if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
            raise pickle.UnpicklingError(f"{self.archive.label}: unknown persistent id {pid!r}")
        _, dtype, key, _, count = pid[:5]
        if not isinstance(dtype, dtype_class) or type(count) is not int or count < 0:
            raise pickle.UnpicklingError(f"{self.archive.label}: malformed storage {pid!r}")
        key = str(key)
        if key not in self.storages:
            array = self.archive.storage(f"data/{key}", BY_CODE[dtype.code], count)
            self.storages[key] = LoadedStorage(array, dtype)
        return self.storages[key]


class _Archive:
    """A checkpoint's zip file: entries are found by their names under one folder."""

    def __init__(self, file, label, mmap_path=None):
        self.label, self.file, self.mmap_path = label, file, mmap_path
        self.zip = zipfile.ZipFile(file)
        names = self.zip.namelist()
        heads = [n for n in names if n.endswith("/data.pkl") and n.count("/") == 1]
        if len(heads) != 1:
            raise RuntimeError(f"{label} is a zip file but no checkpoint: it has no data.pkl")
        self.folder = heads[0][: -len("data.pkl")]
        order = self.folder + "byteorder"
        self.swap = order in names and self.read("byteorder").decode() != sys.byteorder

    def read(self, entry):
        """The bytes of one entry, whose checksum is verified."""
        info = self._info(entry)
        return self.zip.read(info)

    def _info(self, entry):
        try:
            info = self.zip.getinfo(self.folder + entry)
        except KeyError:
            raise RuntimeError(f"{self.label} is damaged: entry {entry} is missing") from None
        if info.compress_type != zipfile.ZIP_STORED:
            raise RuntimeError(
                f"{self.label}: entry {entry} is compressed, which checkpoints never are"
            )
        return info

    def storage(self, entry, array_dtype, count):
        """A storage of `count` elements."""
        info = self._info(entry)
        size = count * array_dtype.itemsize
        if info.file_size < size:
            raise RuntimeError(
                f"{self.label} is damaged: {entry} holds {info.file_size} bytes, {size} are needed"
            )
        if self.mmap_path is not None and not self.swap:
            return self._mapped(info, array_dtype, count)
        array = np.empty(count, array_dtype)
        target = memoryview(array.reshape(-1).view(np.uint8))
        with self.zip.open(info) as stream:
            done = 0
            while done < size:
                got = stream.readinto(target[done:])
                if not got:
                    raise RuntimeError(f"{self.label} is damaged: {entry} ends early")
                done += got
            stream.read()  # to the end, so that the checksum is verified
        return array.byteswap() if self.swap else array

    def _mapped(self, info, array_dtype, count):
        """The entry in place: the file's pages are read when they are touched."""
        self.file.seek(info.header_offset + 26)
        lengths = self.file.read(4)
        start = info.header_offset + 30 + int.from_bytes(lengths[:2], "little")
        start += int.from_bytes(lengths[2:], "little")
        if not count:
            return np.empty(0, array_dtype)
        raw = np.memmap(self.mmap_path, np.uint8, "c", start, (count * array_dtype.itemsize,))
        return np.asarray(raw).view(array_dtype)


def load(
    f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args
):
    """Read a checkpoint from a path or binary file: ours or one of ``torch.save``.

    By default only tensors, containers, numbers, strings and allowed names are read, and nothing
    in the file can run code; ``weights_only=False`` lifts that for files you trust.
    `map_location`: a device, a function ``(tensor, location) -> tensor`` or None. ``mmap=True``
    (paths only) reads tensors when they are used.
    """
    if weights_only is None:
        weights_only = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0") not in ("1", "true")
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("load: mmap=True needs 'f' to be a path")
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _load(file, f"'{os.fspath(f)}'", map_location, weights_only, f if mmap else None)
    if not hasattr(f, "read") or not hasattr(f, "seek"):
        raise AttributeError(
            "load: expected 'f' to be a path or a binary file with 'read' and 'seek', got "
            f"{type(f).__name__}"
        )
    return _load(f, "the checkpoint", map_location, weights_only, None)


def _load(file, label, map_location, restricted, mmap_path):
    start = file.read(4)
    file.seek(-len(start), 1)
    if start[:2] == b"\x80\x02":
        raise NotImplementedError(
            f"{label} is in PyTorch's format from before version 1.6; load and save it again with "
            "a newer PyTorch"
        )
    try:
        archive = _Archive(file, label, mmap_path)
        stream = io.BytesIO(archive.read("data.pkl"))
        result = _Unpickler(stream, archive, restricted).load()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise RuntimeError(f"{label} is not a checkpoint, or damaged: {error}") from error
    except (
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        IndexError,
        OverflowError,
        MemoryError,
    ) as error:
        raise RuntimeError(f"{label} is damaged: {error}") from error
    return _on_device(result, map_location)


def _on_device(value, location):
    """Tensors on the device that was asked for; on the CPU there is nothing to move."""
    if location is None:
        return value
    if isinstance(location, dict):
        location = location.get("cpu", "cpu")
    if isinstance(location, (str, devices.device)) and devices.as_device(location) is devices.cpu:
        return value
    return _moved(value, location)


def _moved(value, location):
    if isinstance(value, Tensor):
        moved = location(value, "cpu") if callable(location) else value.to(location)
        return value if moved is None else moved
    if isinstance(value, dict):
        for key in value:
            value[key] = _moved(value[key], location)
        return value
    if isinstance(value, list):
        value[:] = [_moved(v, location) for v in value]
        return value
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_moved(v, location) for v in value)
    return value
