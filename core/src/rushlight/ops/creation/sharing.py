"""Methods of tensors about memory that several processes see."""

from __future__ import annotations

from rushlight.tensor import sharing
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor


def is_shared(self) -> bool:
    """Whether the memory can be seen by other processes."""
    return storage_of(self).is_shared()


def share_memory_(self) -> Tensor:
    """Move the memory to where other processes can see it: sent to one (in a queue, a pipe, or as
    an argument of a process) the tensor is not copied, and each sees what the other writes.

    Views of the tensor move along; nothing happens to memory that is shared already.

    >>> counts = rushlight.zeros(3).share_memory_()
    >>> counts.is_shared()
    True
    """
    _check(self)
    if self.is_cuda:
        return self  # a GPU's memory is no process's own
    sharing.share(storage_of(self), self)
    _let_queues_send()
    return self


def _check(tensor):
    if tensor.is_meta:
        raise NotImplementedError("share_memory_(): a tensor on meta has no memory to share")


def _let_queues_send():
    """Standard queues and processes learn how to send tensors when somebody shares one."""
    from importlib import import_module

    import_module("rushlight.multiprocessing.reductions").install()


Tensor.is_shared, Tensor.share_memory_ = is_shared, share_memory_
