"""Tensors and storages whose elements are those of a file, read when they are looked at."""

from __future__ import annotations

import mmap
import os

from rushlight import devices, dtypes
from rushlight.dtypes import as_dtype, default
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.tensor.tensor import make_tensor


def mapped_array(filename, shared: bool, count: int, array_dtype):
    """An array over the first `count` elements of a file.

    shared: what is written to the array is written to the file, which is made, or made longer,
        where needed. Otherwise the file stays as it is.

    Raises RuntimeError for a file that is too short, OSError for one that cannot be opened.
    """
    if count < 0:
        raise RuntimeError(f"from_file: the number of elements must not be negative, got {count}")
    wanted = count * array_dtype.itemsize
    if shared:
        with open(filename, "ab"):
            pass
        if os.path.getsize(filename) < wanted:
            os.truncate(filename, wanted)
    found = os.path.getsize(filename)
    if found < wanted:
        raise RuntimeError(
            f"from_file: {os.fspath(filename)!r} has {found} bytes, expected at least {wanted}"
        )
    if not count:
        return np.empty(0, array_dtype)
    access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
    with open(filename, "r+b" if shared else "rb") as file:
        memory = mmap.mmap(file.fileno(), wanted, access=access)
    return np.frombuffer(memory, np.uint8).view(array_dtype)


def from_file(
    filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False,
):  # fmt: skip
    """A tensor over the first `size` elements of a file, which are read when they are looked at.

    filename: its path.
    shared: True writes changes of the tensor to the file, and makes the file where it is missing or
        too short; otherwise (the default) the file stays as it is.
    dtype: of the elements, the default dtype if None.
    device: the CPU; others raise RuntimeError, as does a file that is too short.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "numbers")
    >>> rushlight.from_file(str(path), shared=True, size=2, dtype=rushlight.int64).fill_(7)
    tensor([7, 7])
    >>> path.read_bytes()[:2]
    b'\\x07\\x00'
    """
    if devices.as_device(device) is not devices.cpu:
        raise RuntimeError(f"from_file: only the CPU can map files, got device {device}")
    dtype = default.float if dtype is None else as_dtype(dtype)
    array = mapped_array(filename, bool(shared), size, BY_CODE[dtype.code])
    made = make_tensor(array, dtype)
    return made.requires_grad_() if requires_grad else made


def bytes_of_file(filename, shared: bool, nbytes: int):
    """A tensor of uint8 over the first bytes of a file, for storages."""
    return make_tensor(mapped_array(filename, shared, nbytes, np.dtype(np.uint8)), dtypes.uint8)
