"""The functions a checkpoint's pickle calls; each checks what it is given."""

from __future__ import annotations

import math

from rushlight.backends import np
from rushlight.backends.arrays import BY_CODE
from rushlight.tensor.storage import Storage
from rushlight.tensor.tensor import Parameter, Tensor, make_tensor


class LoadedStorage:
    """A buffer from a checkpoint, with its element type."""

    __slots__ = ("array", "dtype", "shared")

    def __init__(self, array, dtype):
        self.array, self.dtype = array, dtype
        self.shared = Storage(array)


def tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    """A tensor over a loaded storage; sizes and strides must stay inside it."""
    if not isinstance(storage, LoadedStorage):
        raise ValueError(f"a tensor's storage is a {type(storage).__name__}")
    numbers = (offset, *size, *stride)
    if len(size) != len(stride) or any(type(n) is not int or n < 0 for n in numbers):
        raise ValueError(f"a tensor has offset {offset}, size {size}, strides {stride}")
    count = storage.array.size
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if math.prod(size) and not last < count:
        raise ValueError(
            f"a tensor of size {tuple(size)}, strides {tuple(stride)}, offset {offset} does not "
            f"fit into its storage of {count} elements"
        )
    item = storage.array.itemsize
    if math.prod(size):
        steps = tuple(s * item for s in stride)
        array = np.ndarray(tuple(size), storage.array.dtype, storage.array, offset * item, steps)
    else:
        array = np.empty(tuple(size), BY_CODE[storage.dtype.code])
    out = make_tensor(array, storage.dtype)
    out._storage = storage.shared
    return out.requires_grad_() if requires_grad is True else out


def parameter(data, requires_grad=True, hooks=None):
    """A parameter around loaded data."""
    if not isinstance(data, Tensor):
        raise ValueError(f"a parameter's data is a {type(data).__name__}")
    return Parameter(data, requires_grad is True)


def from_type(function, kind, args, state):
    """A tensor subclass of PyTorch as the plain tensor or parameter it was."""
    if function not in (tensor, parameter) or kind not in (Tensor, Parameter):
        raise ValueError("a tensor subclass that is not allowed here")
    return function(*args)


def encode(text, encoding):
    """Bytes, as pickle protocol 2 writes them."""
    if type(text) is not str or encoding != "latin1":
        raise ValueError(f"bytes in encoding {encoding!r}")
    return text.encode("latin1")
