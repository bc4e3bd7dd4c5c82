"""The functions a checkpoint's pickle calls; each checks what it is given."""

from __future__ import annotations

import importlib
import math

from rushlight import devices
from rushlight.backends import np
from rushlight.backends.arrays import BY_CODE, meta_array
from rushlight.dtypes import dtype as dtype_class
from rushlight.ops.former_methods import TypedStorage
from rushlight.serialization.names import UNTYPED
from rushlight.serialization.restricted import shown
from rushlight.tensor.storage import Storage
from rushlight.tensor.tensor import Parameter, Tensor, make_tensor

_DIMENSIONS = 64


class PlacedStorage(Storage):
    """A storage as `map_location` functions get it."""

    __slots__ = ()

    device = devices.cpu

    def cpu(self):
        """The storage in the memory of the CPU, where it is."""
        return self

    def cuda(self, device=None, non_blocking=False):
        """Refused: there is no such device."""
        raise RuntimeError("map_location: storages cannot be moved to CUDA; there is no device")


class LoadedStorage:
    """A buffer from a checkpoint, with its element type; `array` is None on the meta device."""

    __slots__ = ("_placed", "array", "count", "device", "dtype", "shared", "used")

    def __init__(self, array, dtype, count, device=devices.cpu):
        self.array, self.dtype, self.count, self.device = array, dtype, count, device
        self.shared = None if array is None else PlacedStorage(array)
        self.used, self._placed = False, None

    def placed(self):
        """The whole buffer on the GPU that it belongs to: moved there once, for all its tensors."""
        if self._placed is None:
            transfers = importlib.import_module("rushlight.ops._transfers")
            self._placed = transfers.moved(self.array.reshape(-1), self.device)
            self.shared = PlacedStorage(self._placed)
        return self._placed

    def filled(self):
        """The bytes have come after tensors were made: a buffer that was moved gets them too."""
        if self._placed is not None:
            self._placed[...] = self.array.reshape(-1)

    def public(self):
        """The storage as users know it, where a file holds one outside of any tensor."""
        if self.dtype is UNTYPED:
            return self.shared
        return TypedStorage(_over(self, self.dtype, 0, (self.count,), (1,)))


def _over(storage, dtype, offset, size, stride):
    item = BY_CODE[dtype.code].itemsize
    if storage.array is None:
        return make_tensor(meta_array(size, BY_CODE[dtype.code]), dtype, storage.device)
    if storage.device.type == "cuda":
        steps = tuple(s * item for s in stride)
        whole = storage.placed()
        array = whole._with(size, steps, whole.address + offset * item, BY_CODE[dtype.code])
    elif math.prod(size):
        steps = tuple(s * item for s in stride)
        array = np.ndarray(size, BY_CODE[dtype.code], storage.array, offset * item, steps)
    else:
        array = np.empty(size, BY_CODE[dtype.code])
    out = make_tensor(array, dtype)
    out._storage = storage.shared
    return out


def _checked_size(size, stride, offset=0):
    if not isinstance(size, tuple | list) or not isinstance(stride, tuple | list):
        raise ValueError(f"a tensor has size {shown(size)}, strides {shown(stride)}")
    many = len(size) > _DIMENSIONS or len(size) != len(stride)
    if many or any(type(n) is not int or not 0 <= n < 1 << 62 for n in (offset, *size, *stride)):
        raise ValueError(
            f"a tensor has offset {shown(offset)}, size {shown(size)}, strides {shown(stride)}"
        )
    return tuple(size), tuple(stride)


def _loaded(storage):
    row = storage._row.detach()._array
    return LoadedStorage(row.view(np.uint8), storage.dtype, len(row))


def tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    """A tensor over a loaded storage; sizes and strides must stay inside it."""
    if isinstance(storage, TypedStorage):  # of a plain pickle
        storage = _loaded(storage)
    if not isinstance(storage, LoadedStorage):
        raise ValueError(f"a tensor's storage is a {type(storage).__name__}")
    return _tensor(storage, storage.dtype, offset, size, stride, requires_grad, metadata)


def typed_tensor(
    storage, offset, size, stride, requires_grad=False, hooks=None, dtype=None, metadata=None
):
    """A tensor over untyped storage, with its element type."""
    if not isinstance(storage, LoadedStorage) or not isinstance(dtype, dtype_class):
        raise ValueError(f"a tensor's storage is a {type(storage).__name__}")
    return _tensor(storage, dtype, offset, size, stride, requires_grad, metadata)


def _tensor(storage, dtype, offset, size, stride, requires_grad, metadata):
    size, stride = _checked_size(size, stride, offset)
    item = BY_CODE[dtype.code].itemsize
    count = storage.count * storage.dtype.itemsize // item
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if math.prod(size) and not last < count:
        raise ValueError(
            f"a tensor of size {size}, strides {stride}, offset {offset} does not "
            f"fit into its storage of {count} elements"
        )
    storage.used = True
    out = _over(storage, dtype, offset, size, stride)
    if isinstance(metadata, dict) and (metadata.get("conj") or metadata.get("neg")):
        if math.prod(size) > count:
            raise ValueError(f"a lazy tensor of size {size} repeats its elements")
        if storage.array is not None:  # on the arrays: nothing is compiled for a file
            array = np.conj(out._array) if metadata.get("conj") else out._array
            out = make_tensor(np.negative(array) if metadata.get("neg") else array, dtype)
    return _recorded(out, requires_grad)


def _recorded(out, requires_grad):
    if requires_grad is not True:
        return out
    if not (out.dtype.is_floating_point or out.dtype.is_complex):
        raise ValueError(f"a tensor of dtype {out.dtype} requires a gradient")
    return out.requires_grad_()


def meta_tensor(dtype, size, stride, requires_grad=False):
    """A tensor without data."""
    if not isinstance(dtype, dtype_class):
        raise ValueError(f"a meta tensor has dtype {shown(dtype)}")
    size, _ = _checked_size(size, stride)
    out = make_tensor(meta_array(size, BY_CODE[dtype.code]), dtype, devices.device("meta"))
    return _recorded(out, requires_grad)


def parameter(data, requires_grad=True, hooks=None):
    """A parameter around loaded data."""
    if not isinstance(data, Tensor):
        raise ValueError(f"a parameter's data is a {type(data).__name__}")
    wanted = requires_grad is True
    if wanted and not (data.dtype.is_floating_point or data.dtype.is_complex):
        raise ValueError(f"a parameter of dtype {data.dtype} requires a gradient")
    return Parameter(data.detach(), wanted)


def parameter_with_state(data, requires_grad=True, hooks=None, state=None):
    """A parameter that has attributes of its own."""
    return set_attributes(parameter(data, requires_grad), state)


_KEPT = (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, Tensor)


def set_attributes(out, state):
    """Give a tensor the attributes its file lists: data, under names that are free."""
    if isinstance(state, tuple) and len(state) == 2:  # the second part are slots
        state = state[0]
    for name, value in (state or {}).items() if isinstance(state, dict | type(None)) else ():
        if type(name) is not str or not name.isidentifier():
            raise ValueError(f"a tensor has an attribute {shown(name)}")
        if not name.startswith("_") and not hasattr(type(out), name) and isinstance(value, _KEPT):
            out.__dict__[name] = value
    return out


def from_type(function, kind, args, state):
    """A tensor with attributes, or of a subclass that is allowed."""
    makers = (tensor, parameter, typed_tensor, meta_tensor, parameter_with_state)
    if function not in makers or not isinstance(kind, type) or not isinstance(args, tuple):
        raise ValueError("a tensor subclass that is not allowed here")
    out = function(*args)
    if not issubclass(kind, Tensor):
        raise ValueError(f"a tensor is a {kind.__name__}")
    if kind not in (Tensor, Parameter):
        out = out.as_subclass(kind)
    return set_attributes(out, state)


def encode(text, encoding):
    """Bytes, as pickle protocol 2 writes them."""
    if type(text) is not str or encoding != "latin1":
        raise ValueError(f"bytes in encoding {shown(encoding)}")
    return text.encode("latin1")


def byte_array(data=b"", encoding=None):
    """A bytearray of bytes; of a number it would be memory that the file has not."""
    if encoding is not None:
        return bytearray(encode(data, encoding))
    if type(data) not in (bytes, bytearray):
        raise ValueError(f"a bytearray of a {type(data).__name__}")
    return bytearray(data)


def plain_bytes(data=b""):
    """No bytes, as pickle protocol 2 writes them."""
    return bytes(byte_array(data))


def collection(kind):
    """`kind`, a collection of hashable values, made of a list whose values hash quickly."""
    from rushlight.serialization.restricted import check_key

    def make(items=()):
        if not isinstance(items, list | tuple | set | frozenset | dict):
            raise ValueError(f"a {kind.__name__} of a {type(items).__name__}")
        for item in items:
            if kind.__name__ == "OrderedDict" and not isinstance(items, dict):
                if not isinstance(item, list | tuple) or len(item) != 2:
                    raise ValueError("an OrderedDict of something else than pairs")
                item = item[0]
            check_key(item)
        return kind(items)

    make.__name__ = kind.__name__
    return make
