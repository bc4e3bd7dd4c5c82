"""The memory behind tensors: one Storage for all views of a buffer, with its version counter."""

from __future__ import annotations

import weakref


class Storage:
    """Owner of a buffer. `version` counts in-place writes; it is what saved values are checked by.

    Made at first need (a view, an in-place write, a saved output): a tensor without one has never
    been written to in place, so its version reads as 0.
    """

    __slots__ = ("__dict__", "__weakref__", "array", "version")

    views = None  # weak references to the views, once there are any
    _limit = 16

    def __init__(self, array):
        self.array, self.version = array, 0

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

    def data_ptr(self) -> int:
        """Address of the first byte."""
        return _root(self.array).ctypes.data

    def nbytes(self) -> int:
        """Size in bytes."""
        return _root(self.array).nbytes

    def size(self) -> int:
        """Size in bytes, as PyTorch's untyped storages count."""
        return self.nbytes()

    def __len__(self):
        return self.nbytes()

    def is_shared(self) -> bool:
        """Whether the memory can be seen by other processes."""
        from rushlight.tensor import sharing

        return sharing.is_shared(self)

    def share_memory_(self) -> Storage:
        """Move the memory, and all tensors in it, to where other processes can see it."""
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


def _root(array):
    """The array that owns the memory, or the widest one that NumPy knows of."""
    while getattr(array, "base", None) is not None and hasattr(array.base, "ctypes"):
        array = array.base
    return array


def storage_of(tensor) -> Storage:
    """The tensor's storage, made now if it has none yet."""
    storage = tensor._storage
    if storage is None:
        storage = tensor._storage = Storage(tensor._array)
    return storage
