"""Where gradients end: in ``.grad`` of leaves, and summed where several come to one place."""

from __future__ import annotations

import sys
import threading

from rushlight.machine import np
from rushlight.machine.forking import ACCUMULATION
from rushlight.tensor.dispatch import is_dispatching
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor, make_tensor


class _Layouts(threading.local):
    enforced = True  # whether gradients that are taken over get their leaf's strides


layouts = _Layouts()


def summed(owned, key, old, piece, create=False):
    """The sum of two gradients that come to `key`; in place when `old` is a sum this pass made
    itself, which `owned` tells."""
    if create or type(piece) is not Tensor or type(old) is not Tensor:
        # Dense + sparse is dense; the other way round is an error.
        total = piece + old if old.layout != "strided" == piece.layout else old + piece
        if total.layout == "sparse_coo":
            total.is_sum = True
        return total
    if key in owned:
        return old.add_(piece)
    owned.add(key)
    return old + piece


def accumulate(leaf, grad, create, lone=False):
    """Add into ``leaf.grad``. The first gradient is taken over if nobody else holds its memory."""
    with ACCUMULATION:
        old = leaf._grad
        if old is None:
            if lone and leaf._array.flags.c_contiguous or create:
                leaf._grad = grad
            else:
                leaf._grad = grad if lone and not layouts.enforced else _copied(leaf, grad, lone)
        elif old.layout != "strided":
            leaf._grad = grad + old if grad.layout == "strided" else old + grad
        elif create:
            leaf._grad = old + grad
        elif old._dtype is grad._dtype and _plain(old) and type(grad._array) is np.ndarray:
            np.add(old._array, grad._array, out=old._array)
            storage_of(old).version += 1
        else:
            old.add_(grad)


def _copied(leaf, grad, lone):
    """A gradient with memory of its own, in the layout of its leaf."""
    array = grad._array
    if not isinstance(array, np.ndarray) or type(grad) is not Tensor:
        if is_dispatching(grad):
            return grad.detach()
        return grad.detach().clone() if grad.layout != "sparse_coo" else grad.taken()
    order = _order_of(leaf._array)
    if order is None:
        return grad if lone else make_tensor(array.copy("C"), grad._dtype)
    made = array.transpose(order).copy("C").transpose(np.argsort(order))
    return make_tensor(made, grad._dtype)


def _order_of(array):
    """The dimensions from the largest stride to the smallest, where this is another order than
    theirs and the elements fill one block of memory; else None."""
    if not isinstance(array, np.ndarray) or array.flags.c_contiguous:
        return None
    order = sorted(range(array.ndim), key=lambda dim: -array.strides[dim])
    return order if array.transpose(order).flags.c_contiguous else None


def _plain(tensor):
    """Whether a gradient is an ordinary array of a dtype that NumPy adds as we do."""
    return (
        type(tensor) is Tensor
        and type(tensor._array) is np.ndarray
        and tensor._dtype.itemsize >= 4
        and tensor._node is None
        and tensor._array.flags.writeable
        and not tensor._inference
    )


_WHOLE = (type(None), memoryview)  # what a buffer stands on that is no part of a larger array
_BUFFERS = (memoryview, bytearray)  # what an array stands on that starts on a cache line


def takeable(grad):
    """Whether a gradient object nobody else holds also owns its memory alone."""
    if type(grad) is not Tensor or grad._node is not None or grad._storage is not None:
        return False
    array = grad._array
    if sys.getrefcount(array) > 3 or not array.flags.c_contiguous:
        return False
    # A kernel's result may be the aligned part of a buffer that it alone holds.
    base = array.base
    return base is None or (
        sys.getrefcount(base) <= 3
        and (type(base) in _BUFFERS or type(getattr(base, "base", 0)) in _WHOLE)
    )
