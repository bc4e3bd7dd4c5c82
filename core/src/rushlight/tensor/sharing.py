"""Moving the memory of tensors to where other processes can see it."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref

from rushlight.machine import np
from rushlight.tensor.shared_memory import SharedBlock, block_of
from rushlight.tensor.storage import Storage, _root
from rushlight.tensor.tensor import Tensor


def is_shared(storage: Storage) -> bool:
    """Whether other processes can be given this memory."""
    return block_of(storage.array) is not None


def new_shared(nbytes: int) -> Storage:
    """A storage of zeros in shared memory."""
    return storage_over(SharedBlock.create(nbytes))


def storage_over(block: SharedBlock) -> Storage:
    """The one storage of a block, made now if there is none."""
    storage = None if block.storage is None else block.storage()
    if storage is None:
        storage = Storage(np.asarray(block))
        block.storage = weakref.ref(storage)
    return storage


def share(storage: Storage, tensor=None) -> None:
    """Move a storage to shared memory, and every tensor that uses it along.

    Nothing happens if it is there already and can be sent. `tensor` is the one in hand, which saves
    a search where it is the only one. Arrays that ``x.numpy()`` gave away keep the old memory.
    """
    array = storage.array if tensor is None else tensor._array
    block = block_of(array)
    if block is not None and block.descriptor is not None:
        return
    root = _root(array)
    counts = sys.getrefcount(array), sys.getrefcount(root)
    alone = tensor is not None and _alone(counts, array, storage.array, root)
    _relocate(root, [tensor] if alone else _users(root), storage)


def _alone(counts, array, stored, root):
    """Whether no other tensor uses the memory, by how many references its arrays have.

    They were counted before this call: where programs evaluate frames themselves (PEP 523, as
    compilers do), a call's arguments have one reference more. Known then: the caller's local name,
    the argument of getrefcount, and the tensor's slot; the root of a view by the view instead.
    """
    of_array, of_root = counts
    users = of_array - 3 - (stored is array)
    if root is array:
        return users - 1 <= 0  # it has two local names
    return users + of_root - 3 - (stored is root) <= 0


def _users(root):
    """All tensors over an array's memory. A storage knows views alone; ``x.data`` has another."""
    return [
        each
        for each in gc.get_objects()
        if issubclass(type(each), Tensor) and _root(each._array) is root
    ]


def _relocate(root, tensors, storage):
    start, nbytes = _extent(root)
    block = SharedBlock.holding((ctypes.c_char * nbytes).from_address(start))
    memory = np.asarray(block)
    for tensor in tensors:
        old = tensor._array
        offset = old.ctypes.data - start if old.size else 0
        tensor._array = np.ndarray(old.shape, old.dtype, memory, offset, old.strides)
        if tensor._storage is not None:
            tensor._storage.array = memory
    storage.array = memory
    block.storage = weakref.ref(storage)


def _extent(array):
    """Address of the first byte an array reaches, and how many bytes it spans."""
    start = array.ctypes.data
    if not array.size:
        return start, 0
    steps = [(extent - 1) * step for extent, step in zip(array.shape, array.strides, strict=True)]
    low = sum(step for step in steps if step < 0)
    high = sum(step for step in steps if step > 0) + array.itemsize
    return start + low, high - low
