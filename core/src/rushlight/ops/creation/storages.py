"""Storages made without a tensor: ``UntypedStorage(10)``, ``ByteStorage.from_buffer(data)``.

The types are constructors and answer ``isinstance`` by dtype, like the tensor types; what they make
is a :class:`rushlight.tensor.storage.Storage` or a :class:`TypedStorage`.
"""

from __future__ import annotations

import sys

from rushlight import devices, dtypes
from rushlight.machine import memory, np
from rushlight.machine.arrays import BY_CODE
from rushlight.ops.creation.mapped_files import bytes_of_file, from_file
from rushlight.ops.former.former_methods import _SHORT, TypedStorage
from rushlight.tensor.storage import Storage, storage_of
from rushlight.tensor.tensor import Tensor, make_tensor


class StorageType(type):
    """The type of the storage types: calling one makes a storage."""

    dtype: dtypes.dtype | None = None

    def __call__(cls, *args, device=None, **kwargs):
        """A storage of a size (uninitialised), or of a sequence of values; empty without either.

        Raises TypeError for anything else.
        """
        if kwargs or len(args) > 1:
            raise TypeError(
                f"{cls.__name__}(): expected one size or one sequence of values, got "
                f"{len(args)} arguments{' and ' + ', '.join(kwargs) if kwargs else ''}"
            )
        dtype = cls.dtype or dtypes.uint8
        given = args[0] if args else 0
        if isinstance(given, int):
            if given < 0:
                raise RuntimeError(f"{cls.__name__}(): negative size {given}")
            array = memory.empty(given, BY_CODE[dtype.code])
        elif hasattr(given, "__len__") and not isinstance(given, str | Tensor):
            array = np.array(list(given)).astype(BY_CODE[dtype.code]).reshape(-1)
        else:
            raise TypeError(
                f"{cls.__name__}(): expected a size or a sequence of values, got "
                f"{type(given).__name__}"
            )
        return cls._of(make_tensor(array, dtype).to(devices.as_device(device)))

    def _of(cls, row):
        return storage_of(row) if cls.dtype is None else TypedStorage(row)

    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0, *, dtype=None):
        """A copy of the elements in a buffer such as bytes, from byte `offset`; `count` of them, or
        all. Elements of several bytes need `byte_order`: ``"native"``, ``"little"``, ``"big"``."""
        kind = np.dtype(BY_CODE[(dtype or cls.dtype or dtypes.uint8).code])
        if kind.itemsize > 1 and byte_order not in ("native", "little", "big"):
            raise RuntimeError(
                f"{cls.__name__}.from_buffer(): byte_order has to be 'native', 'little' or 'big' "
                f"for elements of {kind.itemsize} bytes, got {byte_order!r}"
            )
        data = memoryview(buffer).cast("B")[offset:]
        whole = len(data) // kind.itemsize if count < 0 else count
        if whole * kind.itemsize > len(data):
            raise ValueError(
                f"{cls.__name__}.from_buffer(): {count} elements of {kind.itemsize} bytes from "
                f"byte {offset} on do not fit into {len(data) + offset} bytes"
            )
        array = np.frombuffer(data, kind, whole).copy()
        if byte_order not in (None, "native", sys.byteorder):
            array.byteswap(inplace=True)
        return cls._of(make_tensor(array, dtype or cls.dtype or dtypes.uint8))

    def from_file(cls, filename, shared=False, nbytes=0):
        """A storage over the first bytes of a file (``nbytes``; elements for typed storages), as
        :func:`rushlight.from_file`."""
        if cls.dtype is None:
            return cls._of(bytes_of_file(filename, shared, nbytes))
        return cls._of(from_file(filename, shared, nbytes, dtype=cls.dtype))

    def _new_shared(cls, size, device="cpu"):
        """A storage of `size` zeros in shared memory."""
        if cls.dtype is None:
            return Storage._new_shared(size, device=device)
        return cls(size).fill_(0).share_memory_()

    def __instancecheck__(cls, instance):
        if cls.dtype is None:
            return isinstance(instance, Storage)
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _make(name, dtype, bases=()):
    kind = "bytes" if dtype is None else f"{dtype.name} elements"
    body = {"dtype": dtype, "__doc__": f"Makes storages of {kind}.", "__module__": "rushlight"}
    return StorageType(name, bases, body)


StorageBase = _make("StorageBase", None)
UntypedStorage = _make("UntypedStorage", None, (StorageBase,))
_TYPES = {
    short + "Storage": _make(
        short + "Storage", getattr(dtypes, "bool_" if name == "bool" else name)
    )
    for name, short in _SHORT.items()
}
globals().update(_TYPES)

__all__ = ["StorageBase", "StorageType", "TypedStorage", "UntypedStorage", *_TYPES]
