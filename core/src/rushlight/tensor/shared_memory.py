"""Memory that several processes see: anonymous files, mapped here and handed on as descriptors.

A :class:`SharedBlock` has no name in any file system, so nothing has to be tidied up: the kernel
frees it when the last process that maps it or holds its descriptor is gone, however it went.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import sys
import weakref
from functools import cache
from typing import Any

from rushlight.machine import np

_LEDGER = 64  # bytes behind the data: how often the block was sent, and how often received
_POPULATE_FROM = 1 << 16  # bytes from which mapping all pages at once beats faulting them in
_known: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # file identity -> block


@cache
def _libc():
    library = ctypes.CDLL(None, use_errno=True)
    word = ctypes.c_size_t
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, word, *(ctypes.c_int,) * 3, ctypes.c_long)
    library.munmap.argtypes = (ctypes.c_void_p, word)
    return library


def _anonymous_file() -> int:
    """The descriptor of a new file without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("rushlight", os.MFD_CLOEXEC)
    if sys.platform == "win32":
        raise NotImplementedError(
            "sharing tensors between processes needs a POSIX system; on Windows use num_workers=0 "
            "and send tensors by value (tensor.numpy())"
        )
    import _posixshmem
    import secrets

    name = f"/rl-{secrets.token_hex(6)}"
    descriptor = _posixshmem.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
    _posixshmem.shm_unlink(name)
    return descriptor


class SharedFile:
    """A file without a name that holds some bytes; not mapped here, only to be sent.

    Writing into the file is quicker than into a mapping of it: pages are not cleared first.
    """

    def __init__(self, content):
        content = memoryview(content).cast("B")
        self.nbytes, self.descriptor = len(content), _anonymous_file()
        _fill(self.descriptor, content)

    def __del__(self):
        if "descriptor" in self.__dict__:
            os.close(self.descriptor)


def _file_size(nbytes):
    return -(-nbytes // 64) * 64 + _LEDGER


def _fill(descriptor, content):
    os.ftruncate(descriptor, _file_size(len(content)))
    place = 0
    while place < len(content):
        place += os.pwrite(descriptor, content[place:], place)


class SharedBlock:
    """`nbytes` bytes of shared memory, mapped at `address`; unmapped when nobody uses it.

    NumPy arrays made with ``np.asarray(block)`` keep the block alive. `descriptor` is None for a
    block that was received only to be read here: it costs no open file, and cannot be sent on.
    """

    __slots__ = (
        "__array_interface__", "__weakref__", "_length", "_unmap", "address", "descriptor",
        "nbytes", "storage",
    )  # fmt: skip

    descriptor: Any
    storage: Any

    def __init__(self, descriptor: int, nbytes: int, *, filled: bool = True):
        self.descriptor, self.nbytes, self.address = descriptor, nbytes, 0
        self._length = _file_size(nbytes)
        self._unmap = _libc().munmap
        self.storage = None  # a weak reference to the Storage over the whole block
        flags = mmap.MAP_SHARED
        if filled and nbytes >= _POPULATE_FROM:
            flags |= getattr(mmap, "MAP_POPULATE", 0)
        access = mmap.PROT_READ | mmap.PROT_WRITE
        address = _libc().mmap(None, self._length, access, flags, descriptor, 0)
        if address == ctypes.c_void_p(-1).value:
            number = ctypes.get_errno()
            raise RuntimeError(f"cannot map {nbytes} bytes of shared memory: {os.strerror(number)}")
        self.address = address
        self.__array_interface__ = {
            "data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3,
        }  # fmt: skip

    @classmethod
    def create(cls, nbytes: int) -> SharedBlock:
        """A new block, filled with zeros."""
        return cls._new(nbytes, None)

    @classmethod
    def holding(cls, content) -> SharedBlock:
        """A new block with a copy of some bytes."""
        content = memoryview(content).cast("B")
        return cls._new(len(content), content)

    @classmethod
    def _new(cls, nbytes, content):
        descriptor = _anonymous_file()
        try:
            if content is None:
                os.ftruncate(descriptor, _file_size(nbytes))
            else:
                _fill(descriptor, content)
            block = cls(descriptor, nbytes, filled=content is not None)
        except BaseException:
            os.close(descriptor)
            raise
        _known[_identity(descriptor)] = block
        return block

    @classmethod
    def attach(cls, descriptor: int, nbytes: int, *, keep: bool = True) -> SharedBlock:
        """The block behind a descriptor that came from another process, which is taken over.

        The same memory received twice is one block. Without `keep` the descriptor is closed.
        """
        try:
            identity = _identity(descriptor)
            block = _known.get(identity)
            if block is None:
                block = _known[identity] = cls(descriptor, nbytes)
                if keep:
                    descriptor = -1
                else:
                    block.descriptor = None
            elif keep and block.descriptor is None:
                block.descriptor, descriptor = descriptor, -1
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return block

    def count(self, *, sent: int = 0, received: int = 0) -> bool:
        """Add to the numbers that all processes share; True if what was sent has been received."""
        ledger = np.asarray(_Ledger(self))
        # A lock belongs to one opening of a file, and forked processes share theirs: open it anew.
        file = os.open(f"/proc/self/fd/{self.descriptor}", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            ledger += (sent, received)
            return bool(ledger[1] >= ledger[0])
        finally:
            os.close(file)

    def __del__(self):
        if self.address:
            self._unmap(self.address, self._length)
            self.address = 0
            if self.descriptor is not None:
                os.close(self.descriptor)


class _Ledger:
    """The two counters behind a block's data, as something NumPy can look at."""

    def __init__(self, block):
        self.block = block
        address = block.address + block._length - _LEDGER
        self.__array_interface__ = {
            "data": (address, False), "shape": (2,), "typestr": "<i8", "version": 3,
        }  # fmt: skip


def _identity(descriptor):
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def block_of(array) -> SharedBlock | None:
    """The shared block that an array's memory is in, or None."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if type(array) is SharedBlock else None
