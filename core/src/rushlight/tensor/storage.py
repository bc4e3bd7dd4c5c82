"""The memory behind tensors: one Storage for all views of a buffer, with its version counter."""

from __future__ import annotations

import sys
import weakref

from rushlight import devices
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.machine.memory import start_of
from rushlight.machine.meta_array import in_block, meta_array


class Storage:
    """Owner of a buffer. `version` counts in-place writes; it is what saved values are checked by.

    Made at first need (a view, an in-place write, a saved output): a tensor without one has never
    been written to in place, so its version reads as 0.

    `unseen` changes whenever somebody gets at the memory whose writes `version` does not count
    (``x.data``); it is None once NumPy or another library has been given the memory. `aliases`
    counts the storages of such ``x.data`` that are still there.
    """

    __slots__ = ("__dict__", "__weakref__", "aliases", "array", "unseen", "version", "views")

    _limit = 16

    def __init__(self, array):
        self.array, self.version = array, 0
        self.views = None  # weak references to the views, once there are any
        self.unseen: int | None = 0
        self.aliases = 0

    def give_away(self) -> None:
        """Note that an array over the memory leaves, whose writes nobody can count."""
        self.unseen = None

    def counts_writes(self) -> bool:
        """Whether `version` and `unseen` tell of all writes to the memory from now on: there is no
        ``x.data`` of it, and nobody else holds an array over it. Writes to bare addresses
        (``data_ptr()``) are never seen."""
        return self.unseen is not None and not self.aliases and _is_held_once(self.array)

    def take_back(self, version: int) -> None:
        """Have `version` count no write behind a former one."""
        if self.version != version and self.unseen is not None:
            self.unseen += 1
        self.version = version

    def add_view(self, view) -> None:
        """Remember a view weakly, so that a recorded in-place write can mark its history stale."""
        views = self.views
        if views is None:
            self.views = [weakref.ref(view)]
            return
        if len(views) >= self._limit:
            views[:] = [v for v in views if v() is not None]
            self._limit = 2 * len(views) + 16
        views.append(weakref.ref(view))

    def live_views(self):
        """The views that still exist."""
        return [v for v in (ref() for ref in self.views or ()) if v is not None]

    @property
    def device(self):
        """Where the memory is."""
        return getattr(self.array, "home", devices.cpu)

    is_cuda = property(lambda self: self.device.type == "cuda", doc="True on a GPU.")

    def _start(self) -> int:
        """Address of the first byte, one of no memory on the meta device."""
        return start_of(_root(self.array))

    def data_ptr(self) -> int:
        """Address of the first byte; 0 on the meta device."""
        return self._start() if self.device.type != "meta" else 0

    def _key(self) -> int:
        """A number that storages of the same memory have alone, as long as they exist."""
        root = _root(self.array)
        return start_of(root) if self.device.type != "meta" else ~id(root)

    def _is_of(self, other: Storage) -> bool:
        """Whether both own the same memory, or are the same one on the meta device."""
        return self._key() == other._key()

    def nbytes(self) -> int:
        """Size in bytes."""
        return _root(self.array).nbytes

    def size(self) -> int:
        """Size in bytes, as PyTorch's untyped storages count."""
        return self.nbytes()

    def __len__(self):
        return self.nbytes()

    def element_size(self) -> int:
        """Bytes are counted: 1."""
        return 1

    def _bytes(self):
        """The memory as a row of bytes; writes go to the tensors in it."""
        root = _root(self.array)
        if self.device.type == "meta":
            raise NotImplementedError("the bytes of a storage on the meta device: it has none")
        if not root.flags.c_contiguous:
            raise NotImplementedError("the bytes of a storage whose memory is not one block")
        return root.reshape(-1).view("u1")

    def tolist(self) -> list:
        """The bytes as integers."""
        return self._bytes().tolist()

    def __getitem__(self, index):
        if isinstance(index, slice):
            # A buffer of its own, so that the whole is not taken for its memory.
            part = self._bytes()[index]
            return Storage(np.frombuffer(part.data, "u1") if type(part) is np.ndarray else part)
        return int(self._bytes()[index])

    def __setitem__(self, index, value):
        self._bytes()[index] = value
        self.version += 1

    def fill_(self, value) -> Storage:
        """Set every byte."""
        self[:] = value
        return self

    def copy_(self, source: Storage, non_blocking=None) -> Storage:
        """Take over the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"copy_(): the source has {source.nbytes()} bytes, expected {self.nbytes()}"
            )
        self[:] = source._bytes()
        return self

    def clone(self) -> Storage:
        """A copy in memory of its own."""
        if self.device.type == "meta":
            return Storage(meta_array((self.nbytes(),), np.dtype(np.uint8)))
        return Storage(self._bytes().copy())

    def untyped(self) -> Storage:
        """The storage itself, which has no dtype."""
        return self

    def cpu(self) -> Storage:
        """The storage on the CPU: itself where it is there, else a copy."""
        return Storage(self._bytes().get()) if self.is_cuda else self

    def is_shared(self) -> bool:
        """Whether the memory can be seen by other processes; always true of a GPU's."""
        if self.is_cuda:
            return True
        from rushlight.tensor import sharing

        return sharing.is_shared(self)

    def share_memory_(self) -> Storage:
        """Move the memory, and all tensors in it, to where other processes can see it; a GPU's
        memory stays where it is."""
        if self.is_cuda:
            return self
        from rushlight.tensor import sharing

        sharing.share(self)
        return self

    @classmethod
    def _new_shared(cls, size, device="cpu") -> Storage:
        """A storage of `size` zero bytes in shared memory."""
        from rushlight.tensor import sharing

        if str(device) != "cpu":
            raise NotImplementedError(f"_new_shared(): memory on {device}; only on the CPU")
        return sharing.new_shared(size)


class Alias(Storage):
    """The storage of ``x.data``, with a version of its own; the one of ``x`` knows of it."""

    __slots__ = ("origin",)

    def __init__(self, array, origin):
        self.array, self.version, self.views, self.unseen, self.aliases = array, 0, None, 0, 0
        self.origin = origin
        origin.aliases += 1
        if origin.unseen is not None:
            origin.unseen += 1

    def __del__(self):
        self.origin.aliases -= 1

    def give_away(self) -> None:
        """As for every storage; the memory is the origin's."""
        self.unseen = None
        self.origin.give_away()

    def counts_writes(self) -> bool:
        """As for every storage; nobody else may have the origin."""
        alone = _references(self, "origin") <= _ONE_REFERENCE
        return alone and self.origin.unseen is not None and super().counts_writes()


def _is_held_once(array) -> bool:
    """Whether all that an array is a view of is held by it alone."""
    held, name = array, "base"
    while (base := getattr(held, name)) is not None:
        kind = type(base)
        base = None  # a reference less
        if kind not in _OWNERS or _references(held, name) > _ONE_REFERENCE:
            return False
        if kind is bytearray:
            return True
        held, name = getattr(held, name), "obj" if kind is memoryview else "base"
    return True


def _references(holder, name) -> int:
    """The count of references to what an object holds, as this Python counts them."""
    return sys.getrefcount(getattr(holder, name))


# Not what stands for memory of others, as maps of files do. Blocks of machine.memory are seen
# through a memoryview.
_OWNERS = np.ndarray, bytearray, memoryview
_ONE_REFERENCE = _references(np.empty(1)[:], "base")


def _root(array):
    """The array that owns the memory, or the widest one that NumPy knows of."""
    base = getattr(array, "base", None)
    while type(base) is np.ndarray or base is not None and hasattr(base, "ctypes"):
        array, base = base, getattr(base, "base", None)
    return array


def storage_of(tensor) -> Storage:
    """The tensor's storage, made now if it has none yet."""
    storage = tensor._storage
    if storage is None:
        storage = tensor._storage = Storage(tensor._array)
    return storage


def row_of(storage, dtype):
    """The memory of a storage as a row of elements of a dtype, shared; bytes that fill none are
    left out."""
    from rushlight.tensor.tensor import make_tensor

    kind = BY_CODE[dtype.code]
    if storage.device.type == "meta":
        shape = (storage.nbytes() // kind.itemsize,)
        array = in_block(_root(storage.array), shape, kind, 0, (kind.itemsize,))
    else:
        row = storage._bytes()
        array = row[: row.size // kind.itemsize * kind.itemsize].view(kind)
    tensor = make_tensor(array, dtype)
    tensor._storage = storage
    return tensor
