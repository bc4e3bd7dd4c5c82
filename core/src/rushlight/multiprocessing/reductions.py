"""How tensors are pickled for another process: by handing on the memory they are in.

Every tensor that is sent moves to shared memory first, as PyTorch does it, so that sender and
receiver see the same elements from then on. Tensors of one storage arrive with one storage.
"""

from __future__ import annotations

import os
import threading
from multiprocessing import reduction

from rushlight import dtypes
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.tensor import sharing
from rushlight.tensor.shared_memory import SharedBlock, block_of
from rushlight.tensor.storage import Storage, _root, storage_of
from rushlight.tensor.tensor import Parameter, Tensor, make_tensor

_lock = threading.Lock()
_held: dict = {}  # blocks sent by path and not yet received, by descriptor of ours


class BlockPath:
    """A block as the name of its sender's open file, which the receiver opens anew.

    Quicker than sending a descriptor over a socket, and without a thread that serves it: forking a
    process with threads is what Python warns of.
    """

    def __init__(self, block: SharedBlock):
        _let_go()
        block.count(sent=1)
        descriptor = os.dup(block.descriptor)
        with _lock:
            _held[descriptor] = block
        self.path = f"/proc/{os.getpid()}/fd/{descriptor}"

    def detach(self) -> int:
        """The receiver's own descriptor."""
        try:
            return os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            raise RuntimeError(
                f"the process that sent a tensor ended before it was received ({self.path} is "
                "gone): a sender must live until its tensors have arrived"
            ) from None
        except PermissionError as error:
            raise RuntimeError(
                f"the memory of a tensor cannot be opened ({self.path}: {error.strerror}): sender "
                "and receiver must belong to one user"
            ) from None


def _let_go():
    """Close what was held for receivers that have it now: at every sending and receiving."""
    with _lock:  # queues send from threads of their own
        for descriptor in [each for each, block in _held.items() if block.count()]:
            del _held[descriptor]
            os.close(descriptor)


def _handle(block):
    return BlockPath(block) if _has_proc() else reduction.DupFd(block.descriptor)


def _forget_held():
    """A forked process has nothing to keep for its parent's receivers."""
    global _lock
    _lock = threading.Lock()  # a thread of the parent's may have held it
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_held)


def _has_proc():
    return os.path.isdir("/proc/self/fd")


def _attach(handle, nbytes):
    _let_go()
    block = SharedBlock.attach(handle.detach(), nbytes)
    if isinstance(handle, BlockPath):
        block.count(received=1)
    return sharing.storage_over(block)


def rebuild_tensor(handle, nbytes, dtype_name, offset, shape, strides, kind, requires_grad):
    """The tensor at a byte offset of a block that arrived; strides in bytes."""
    storage = _attach(handle, nbytes)
    dtype = dtypes.NAMES[dtype_name]
    array = np.ndarray(shape, BY_CODE[dtype.code], storage.array, offset, strides)
    tensor = make_tensor(array, dtype)
    tensor._storage = storage
    if kind is Parameter:
        return Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def rebuild_storage(handle, nbytes):
    """The storage of a block that arrived."""
    return _attach(handle, nbytes)


def _reduce_tensor(tensor):
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the data, "
            "call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    if tensor.is_meta or not tensor.numel():  # no memory to share
        return tensor.__reduce_ex__(2)
    storage = storage_of(tensor)
    sharing.share(storage, tensor)
    array = tensor._array
    block = block_of(array)
    offset = array.ctypes.data - block.address
    return rebuild_tensor, (
        _handle(block), block.nbytes, tensor.dtype.name, offset, array.shape, array.strides,
        type(tensor), tensor.requires_grad,
    )  # fmt: skip


def _reduce_storage(storage):
    sharing.share(storage)
    block = block_of(_root(storage.array))
    return rebuild_storage, (_handle(block), block.nbytes)


def install() -> None:
    """Let the queues, pipes and processes of the standard library send tensors this way."""
    for kind in (Tensor, Parameter):
        reduction.ForkingPickler.register(kind, _reduce_tensor)
    reduction.ForkingPickler.register(Storage, _reduce_storage)


def init_reductions() -> None:
    """PyTorch's name of :func:`install`."""
    install()
