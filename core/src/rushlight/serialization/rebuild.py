"""The functions a checkpoint's pickle calls; each checks what it is given."""

from __future__ import annotations

import importlib
import math

from rushlight import devices
from rushlight.autograd.later import later
from rushlight.dtypes import dtype as dtype_class
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.machine.meta_array import in_block, meta_array, new_block
from rushlight.ops.former.former_methods import TypedStorage
from rushlight.serialization import lazy
from rushlight.serialization.budget import current
from rushlight.serialization.names import UNTYPED
from rushlight.serialization.restricted import shown
from rushlight.tensor.storage import Storage
from rushlight.tensor.subclasses import retyped
from rushlight.tensor.tensor import Parameter, Tensor, make_tensor

_DIMENSIONS = 64
_TENSOR = 290  # bytes of a tensor, its array and its reference to a storage
_META = 480
_PARAMETER = 230
_ATTRIBUTE = 104  # bytes of an entry of a tensor's dict


class PlacedStorage(Storage):
    """A storage as `map_location` functions get it. `held` is the dtype and the marks of elements
    that were computed in it, `plain` what they were before (see :mod:`.lazy`)."""

    __slots__ = ()

    device = devices.cpu
    held = plain = None

    def cpu(self):
        """The storage in the memory of the CPU, where it is."""
        return self

    def cuda(self, device=None, non_blocking=False):
        """Refused: there is no such device."""
        raise RuntimeError("map_location: storages cannot be moved to CUDA; there is no device")


class LoadedStorage:
    """A buffer from a checkpoint, with its element type; `array` is None for meta ones. `named`
    counts how often the pickle has it, `used` how many tensors are over it; `alone` says whether it
    is not seen as other types as well."""

    __slots__ = ("_placed", "alone", "array", "count", "device", "dtype", "named", "shared", "used")

    def __init__(self, array, dtype, count, device=devices.cpu):
        self.array, self.dtype, self.count, self.device = array, dtype, count, device
        self.shared = None if array is None else PlacedStorage(array)
        self.named, self.used, self.alone, self._placed = 0, 0, True, None

    def placed(self):
        """The whole buffer on the GPU that it belongs to: moved there once, for all its tensors."""
        if self._placed is None:
            transfers = importlib.import_module("rushlight.ops._table.transfers")
            self._placed = transfers.moved(self.array.reshape(-1), self.device)
            self.shared = PlacedStorage(self._placed)
        return self._placed

    def block(self):
        """What the tensors of a storage on the meta device are in together."""
        if self._placed is None:
            self._placed = new_block(self.count * self.dtype.itemsize)
        return self._placed

    def filled(self):
        """The bytes have come after tensors were made: a buffer that was moved gets them too."""
        if self._placed is not None and self.array is not None:
            self._placed[...] = self.array.reshape(-1)

    def untouched(self):
        """Whether it is the load's own, and no tensor is over it."""
        return self.alone and not self.used and type(self.shared) is PlacedStorage

    def over(self, array):
        """The same storage with other elements."""
        return LoadedStorage(array, self.dtype, self.count, self.device)

    def public(self):
        """The storage as users know it, where a file holds one outside of any tensor."""
        found = lazy.plain(self)
        if self.dtype is UNTYPED:
            return found.shared
        return TypedStorage(_over(found, self.dtype, 0, (self.count,), (1,)))


def _over(storage, dtype, offset, size, stride):
    item = BY_CODE[dtype.code].itemsize
    if storage.array is None:
        steps = tuple(s * item for s in stride)
        array = in_block(storage.block(), size, BY_CODE[dtype.code], offset * item, steps)
        return make_tensor(array, dtype, storage.device)
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
    current().charge(_TENSOR + 16 * len(size))
    marks = lazy.marks_of(metadata)
    if any(marks) and storage.array is not None:
        out = _marked(storage, dtype, offset, size, stride, marks)
    else:
        out = _over(lazy.plain(storage), dtype, offset, size, stride)
    storage.used += 1
    return _recorded(out, requires_grad)


def _marked(storage, dtype, offset, size, stride, marks):
    """A tensor that PyTorch has marked as a conjugate or negative of its elements."""
    budget = current()
    if not budget.complete:  # its elements are still to come
        budget.again = True
        return _over(storage, dtype, offset, size, stride)
    lazy.fill(storage, dtype, size, marks)
    if getattr(storage.shared, "held", None) == (dtype, marks):
        return _over(storage, dtype, offset, size, stride)
    out = _over(lazy.plain(storage), dtype, offset, size, stride)
    budget.charge(math.prod(size) * dtype.itemsize * sum(marks))
    return make_tensor(lazy.computed(out._array, marks), dtype)


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
    current().charge(_META)
    size, stride = _checked_size(size, stride)
    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if math.prod(size) and last >= 1 << 58:
        raise ValueError(f"a meta tensor of size {size} has strides {stride}")
    item = BY_CODE[dtype.code].itemsize
    array = meta_array(size, BY_CODE[dtype.code], tuple([s * item for s in stride]))
    return _recorded(make_tensor(array, dtype, devices.device("meta")), requires_grad)


def parameter(data, requires_grad=True, hooks=None):
    """A parameter around loaded data."""
    if not isinstance(data, Tensor):
        raise ValueError(f"a parameter's data is a {type(data).__name__}")
    wanted = requires_grad is True
    if wanted and not (data.dtype.is_floating_point or data.dtype.is_complex):
        raise ValueError(f"a parameter of dtype {data.dtype} requires a gradient")
    current().charge(_PARAMETER)
    return Parameter(data.detach(), wanted)


def parameter_with_state(data, requires_grad=True, hooks=None, state=None):
    """A parameter that has attributes of its own."""
    return set_attributes(parameter(data, requires_grad), state)


_KEPT = (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, Tensor)


def set_attributes(out, state):
    """Give a tensor the attributes its file lists: data, under names that are free."""
    if isinstance(state, tuple) and len(state) == 2:  # the second part are slots
        state = state[0]
    state = state if isinstance(state, dict) else {}
    current().charge(_ATTRIBUTE * len(state))
    for name, value in state.items():
        if type(name) is not str or not name.isidentifier():
            raise ValueError(f"a tensor has an attribute {shown(name)}")
        if not name.startswith("_") and not hasattr(type(out), name) and isinstance(value, _KEPT):
            out.__dict__[name] = value
    return out


def wrapper(kind, dtype, size, stride, storage_offset, layout, device, requires_grad):
    """A tensor without elements, of a class that defines ``__torch_dispatch__``."""
    if not isinstance(kind, type) or not issubclass(kind, Tensor):
        raise ValueError(f"a tensor subclass is {shown(kind)}")
    if not isinstance(dtype, dtype_class):
        raise ValueError(f"a tensor has dtype {shown(dtype)}")
    current().charge(_META)
    size, stride = _checked_size(size, stride)
    return later("dispatching_methods").make_wrapper(
        kind, size, strides=stride, storage_offset=storage_offset, dtype=dtype, device=device,
        requires_grad=requires_grad is True,
    )  # fmt: skip


def from_type(function, kind, args, state):
    """A tensor with attributes, or of a subclass that is allowed."""
    makers = (tensor, parameter, typed_tensor, meta_tensor, parameter_with_state, wrapper)
    known = any(function is maker for maker in makers)  # tensors would be compared by elements
    if not known or not isinstance(kind, type) or not isinstance(args, tuple):
        raise ValueError("a tensor subclass that is not allowed here")
    out = function(*args)
    if not issubclass(kind, Tensor):
        raise ValueError(f"a tensor is a {kind.__name__}")
    if kind not in (Tensor, Parameter) and type(out) is not kind:
        out = retyped(out, kind)
    set_attributes(out, state)
    if (
        type(out) not in (Tensor, Parameter)
        and isinstance(state, dict)
        and state.get("_is_param") is True
    ):
        out._is_param = True
    return out
