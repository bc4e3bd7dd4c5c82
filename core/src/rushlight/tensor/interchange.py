"""Between tensors and the rest of Python: numbers, lists, NumPy, DLPack, pickles, copies."""

from __future__ import annotations

import importlib
import numbers
from copy import deepcopy

from rushlight import devices, dtypes
from rushlight.autograd.later import later
from rushlight.autograd.mode import mode
from rushlight.autograd.node import LEAF
from rushlight.dtypes import EIGHT_BITS, FLOAT, INTEGER, default, held
from rushlight.errors import argument_error
from rushlight.machine import memory, np
from rushlight.machine.arrays import BY_ARRAY_DTYPE, BY_CODE, WIDER, cast, of_one_kind
from rushlight.machine.meta_array import meta_array
from rushlight.tensor.dispatch import STATE, answered
from rushlight.tensor.shape import Size, normalize_size
from rushlight.tensor.storage import Storage, row_of, storage_of
from rushlight.tensor.tensor import Parameter, Tensor, _new, add_methods, make_tensor


def array_of_data(data, dtype=None):
    """A new array and its dtype, found from numbers, nested sequences, arrays or tensors."""
    if isinstance(data, np.ndarray | np.generic):
        array, found = of_one_kind(np.array(data))
        if found is None:
            raise TypeError(
                f"can't convert np.ndarray of type {data.dtype}. The only supported types are: "
                + ", ".join(d.name for d in dtypes.ALL)
            )
        return array, found
    if isinstance(data, Storage):
        found = dtype or dtypes.int64
        return row_of(data, found)._array.copy(), found
    if isinstance(data, bytearray):
        found = dtype or dtypes.int64
        return cast(np.frombuffer(data, np.uint8).copy(), found.code), found
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        return array_of_data(np.asarray(data))
    shape = _shape_of(data)
    leaves = list(_leaves(data))
    found = dtype or _dtype_of(leaves)
    plain = [x.item() if isinstance(x, (Tensor, np.generic)) else x for x in leaves]
    if found.category == INTEGER and not found.is_signed:
        plain = [_unsigned(x, found) for x in plain]
    try:
        kind = BY_CODE[found.code]
        with np.errstate(over="ignore", invalid="ignore"):  # too large is infinite, as in PyTorch
            array = np.array(plain, WIDER.get(kind, kind))
    except OverflowError:
        _check_words(plain)
        raise RuntimeError(f"value cannot be converted to type {found} without overflow") from None
    except (TypeError, ValueError) as error:
        if any(isinstance(x, str) for x in plain):
            raise TypeError("new(): invalid data type 'str'") from None
        if found.category == INTEGER and any(x != x for x in plain):  # nan
            raise RuntimeError(
                f"value cannot be converted to type {found} without overflow"
            ) from None
        raise TypeError(f"tensor(): could not convert data: {error}") from None
    return cast(array, found.code).reshape(shape), found


def _unsigned(number, dtype):
    """A number of a sequence as an unsigned dtype holds it."""
    if dtype is not dtypes.uint64:
        if isinstance(number, int):
            _check_words((number,))
        return held(number, dtype) if isinstance(number, (int, float)) else number
    if not isinstance(number, int):
        raise TypeError(f"an integer is required for a tensor of uint64, got {number!r}")
    if not 0 <= number <= dtypes.iinfo(dtype).max:
        raise OverflowError(f"can't convert {number} to uint64")
    return number


def _check_words(numbers_given):
    """Refuse whole numbers that no int64 holds."""
    for number in numbers_given:
        if isinstance(number, int) and not -(1 << 63) <= number < 1 << 63:
            raise ValueError(f"Overflow when unpacking long long: {number}")


def _shape_of(data):
    if isinstance(data, (Tensor, np.ndarray)):
        return tuple(data.shape)
    if isinstance(data, (list, tuple)) or (
        hasattr(data, "__len__")
        and hasattr(data, "__getitem__")
        and not isinstance(data, str | dict)
    ):
        if not len(data):
            return (0,)
        return (len(data), *_shape_of(data[0]))
    return ()


def _no_number(kind, depth):
    """The error for data of a class of this name at a depth."""
    if kind in ("list", "tuple"):
        return ValueError(f"expected a number at dim {depth}, got a sequence (ragged data)")
    if kind == "str":
        text = "too many dimensions 'str'" if depth else "new(): invalid data type 'str'"
        return ValueError(text) if depth else TypeError(text)
    return RuntimeError(f"Could not infer dtype of {kind}")


def _leaves(data, depth=0, shape=None):
    shape = _shape_of(data) if shape is None else shape
    if depth == len(shape):
        if not isinstance(data, (numbers.Number, np.generic, Tensor)) and not hasattr(
            data, "__float__"
        ):
            raise _no_number(type(data).__name__, depth)
        yield data
        return
    if not hasattr(data, "__len__"):
        raise TypeError(f"not a sequence at dim {depth}: {type(data).__name__}")
    if len(data) != shape[depth]:
        raise ValueError(
            f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})"
        )
    if isinstance(data, (Tensor, np.ndarray)):
        array = data._array if isinstance(data, Tensor) else data
        yield from array.reshape(-1)
        return
    for item in data:
        yield from _leaves(item, depth + 1, shape)


def _dtype_of(leaves):
    """bool only if all are; else the highest kind: int64, the default float, its complex."""
    if not leaves:
        return default.float
    found = None
    for x in leaves:
        if isinstance(x, Tensor):
            kind = x._dtype
        elif isinstance(x, np.generic):
            kind = BY_ARRAY_DTYPE[x.dtype]
        elif isinstance(x, bool):
            kind = dtypes.bool_
        elif isinstance(x, int):
            kind = dtypes.int64
        elif isinstance(x, complex):
            kind = default.float.to_complex()
        else:
            kind = default.float
        found = kind if found is None else dtypes.promote_types(found, kind)
    return found


_LEGACY_WORDS = ("size", "data", "other", "storage")


def arguments_by_word(name, args, named):
    """The arguments of a legacy constructor where one of them is given by its name."""
    if not named:
        return args
    word, value = next(iter(named.items()))
    if args or len(named) > 1 or word not in _LEGACY_WORDS:
        raise TypeError(
            f"{name}(): expected sizes or data, or one of {', '.join(_LEGACY_WORDS)} by its name; "
            f"got {len(args)} positional arguments and {', '.join(named)}"
        )
    if word == "size":
        if not isinstance(value, list | tuple):
            raise argument_error(name, "size", "tuple of ints", value)
        return (Size(value),)
    return (value,)


def legacy_tensor(*args, dtype=None, device=None, **named):
    """``Tensor()``, ``Tensor(2, 3)`` (uninitialised), ``Tensor([1, 2])``, ``Tensor(tensor)``, and
    by words: ``Tensor(size=(2, 3))``, ``data=``, ``other=``, ``storage=``."""
    code, found = default.float.code, default.float
    args = arguments_by_word("Tensor", args, named)
    if len(args) == 1 and isinstance(args[0], Storage):
        return make_tensor(memory.empty((0,), BY_CODE[code]), found).set_(args[0])
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].as_subclass(Tensor)
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        array, _ = array_of_data(args[0], None)
        return make_tensor(array.astype(BY_CODE[code]), found)
    shape = normalize_size(args) if args else (0,)
    return make_tensor(memory.empty(tuple(shape), BY_CODE[code]), found)


# ------------------------------------------------------------------------------------------ numbers
def item(self):
    """The value of a one-element tensor as a Python number."""
    if STATE.dispatching and (answer := answered(self, "item")):
        return answer(self)
    if self._array.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
        )
    if self._device.type == "meta":
        _has_data(self, "item")
    value = self._array.item()
    return _NUMBER[self._dtype](value) if self._dtype in _NUMBER else value


# Of dtypes that NumPy does not know: Python's numbers.
_NUMBER = {dtypes.complex32: complex, **dict.fromkeys((dtypes.bfloat16, *EIGHT_BITS), float)}


def tolist(self):
    """The elements as nested lists of Python numbers."""
    if STATE.dispatching and (answer := answered(self, "tolist")):
        return answer(self)
    _has_data(self, "tolist")
    array = _on_host(self._array)
    return (array.astype(WIDER[array.dtype]) if self._dtype in _NUMBER else array).tolist()


def _on_host(array):
    """The array itself, or a copy in host memory of one on a GPU."""
    return array if isinstance(array, np.ndarray) else array.get()


def _has_data(tensor, what):
    if tensor._device.type == "meta":
        raise RuntimeError(f"Tensor.{what}() cannot be called on meta tensors")


def _bool(self):
    if self._array.size != 1:
        if not self._array.size:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(item(self))


def _index(self):
    if self._dtype.category >= FLOAT or self._array.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


def _contains(self, element):
    if isinstance(element, (Tensor, numbers.Number)):
        return bool((self == element).any())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
        f"{type(element).__name__}."
    )


def _iter(self):
    if not self._array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


# ------------------------------------------------------------------------------------------ arrays
def numpy(self, *, force=False):
    """The elements as a NumPy array that shares this tensor's memory.

    A tensor that requires grad must be detached first, unless under `no_grad`; ``force=True`` does
    what is needed.
    """
    if STATE.dispatching and (answer := answered(self, "numpy")):
        return answer(self, force=force)
    if force:
        self = self.detach()
    elif mode.recording and self.requires_grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    _has_data(self, "numpy")
    if self._device.type == "cuda":
        if not force:
            raise TypeError(
                f"can't convert {self._device} device type tensor to numpy. Use Tensor.cpu() to "
                "copy the tensor to host memory first."
            )
        self = self.to("cpu")
    if self._dtype in _NUMBER:
        kind, method = dtypes.TITLES[self._dtype.name], "cfloat" if self.is_complex() else "float"
        raise TypeError(f"Got unsupported ScalarType {kind}; convert with .{method}() first")
    storage_of(self).give_away()
    return self._array


def _array_interface(self, dtype=None, copy=None):
    array = numpy(self)
    return array if dtype is None else array.astype(dtype, copy=False)


def _array_wrap(self, array, context=None, return_scalar=False):
    """The tensor that a NumPy function of tensors gives, as :func:`from_numpy`; of truth values it
    is uint8, as in PyTorch."""
    array = np.asarray(array)
    array = array.view(np.uint8) if array.dtype == bool else array
    array, found = of_one_kind(array)
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {array.dtype}. The only supported types are: "
            + ", ".join(d.name for d in dtypes.ALL)
        )
    return make_tensor(array, found)


def _dlpack(self, **options):
    """A DLPack capsule of this tensor's memory."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    _dlpack_device(self)
    storage_of(self).give_away()
    if self._device.type == "cuda":
        return _capsules().export(self._array, **options)
    if self._dtype in _NUMBER:  # which NumPy exports as bits
        return _capsules().of_host(self._array, **options)
    return self._array.__dlpack__(**options)


def _capsules():
    return importlib.import_module("rushlight.compiler.cuda.capsules")


def _dlpack_device(self):
    """DLPack's numbers of the device: kind (1 the CPU, 2 CUDA) and index."""
    if self._device.type == "meta":
        raise ValueError("Unknown device type meta for Dlpack")
    return (2, self._device.index) if self._device.type == "cuda" else (1, 0)


def _cuda_array_interface(self):
    """The tensor's device memory for other libraries; AttributeError on other devices."""
    if self._device.type != "cuda":
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA "
            "data is required use tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
            "aren't required, use var.detach() to get Variable that doesn't require grad."
        )
    storage_of(self)
    return self._array.__cuda_array_interface__


_STANDARD_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def array_namespace(self, *, api_version=None):
    """The functions of the Python array API standard for tensors: :mod:`rushlight.array_api`."""
    if api_version is not None and api_version not in _STANDARD_VERSIONS:
        raise ValueError(
            f"__array_namespace__: api_version must be one of {_STANDARD_VERSIONS}, got "
            f"{api_version!r}"
        )
    return later("array_api")


def to_device(self, device, /, *, stream=None):
    """The tensor on `device`; `stream` must be None, since the CPU has no streams."""
    if stream is not None and self._device.type == "cpu":
        raise ValueError(f"to_device: stream must be None on the CPU, got {stream!r}")
    return self.to(device)


# ------------------------------------------------------------------------------------------ copies
def _deepcopy(self, memo):
    if STATE.dispatching and (answer := answered(self, "__deepcopy__")):
        return answer(self, memo)
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment. If you were attempting to deepcopy a module, this may be "
            "because of a tensor computed in its forward and kept as an attribute."
        )
    out = _new(type(self))
    out._dtype, out._node, out._storage = self._dtype, None, None
    out._array = self._array.copy("K")
    if mode.inference:
        out._inference = True
    memo[id(self)] = out
    for key, value in self.__dict__.items():
        if key not in _OF_ITSELF:
            out.__dict__[key] = deepcopy(value, memo)
    if self._node is LEAF:
        out._node = LEAF
    return out


def rebuild(kind, array, dtype_name, requires_grad, state):
    """Make a tensor from what `__reduce_ex__` wrote: `kind` is a class, or one of `_KINDS`."""
    out = _new(_KINDS.get(kind, kind))
    found = dtypes.NAMES[dtype_name]
    out._array, out._dtype, out._node, out._storage = (
        array.view(BY_CODE[found.code]),
        found,
        LEAF if requires_grad else None,
        None,
    )
    out.__dict__.update(state)
    return out


_KEPT = ("_grad", "_is_param")
_OF_ITSELF = frozenset(
    ("_base", "_path", "_hooks", "_post_hooks", "_retain", "_index", "_inference", "_writable")
)


# Classes that bear other names while PyTorch's are installed: pickles are to load without, too.
_KINDS = {"Tensor": Tensor, "Parameter": Parameter}


def _reduce(self, protocol):
    if STATE.dispatching and (answer := answered(self, "__reduce_ex__")):
        return answer(self, protocol)
    if self._hooks and type(self) is Tensor:
        later("hooks").warn_if_has_hooks(self)
    if self._device.type == "meta":
        return _reduce_without_memory(self)
    array = _on_host(self._array)
    if self._dtype in _NUMBER:  # pickled as bits: other versions name its dtype otherwise
        array = array.view(f"u{array.itemsize}")
    kind, state = _kind_of(self), _state_of(self)
    if self._device.type == "cuda":
        return rebuild_on, (
            str(self._device), kind, array, self._dtype.name, self.requires_grad, state
        )  # fmt: skip
    return rebuild, (kind, array, self._dtype.name, self.requires_grad, state)


def _kind_of(tensor):
    kind = type(tensor)
    return kind.__name__ if kind in _KINDS.values() else kind


def _state_of(tensor):
    """The attributes that go with a tensor."""
    state = {k: v for k, v in tensor.__dict__.items() if k in _KEPT or not k.startswith("_")}
    state.pop("_device", None)
    return state


def _reduce_without_memory(tensor):
    layout = tuple(tensor.shape), tensor.stride(), tensor._dtype.name
    rest = tensor.requires_grad, _state_of(tensor)
    return rebuild_without_memory, (_kind_of(tensor), *layout, *rest)


def rebuild_without_memory(kind, shape, stride, dtype_name, requires_grad, state):
    """:func:`rebuild` of a tensor of the meta device."""
    dtype = BY_CODE[dtypes.NAMES[dtype_name].code]
    array = meta_array(shape, dtype, tuple([step * dtype.itemsize for step in stride]))
    out = rebuild(kind, array, dtype_name, requires_grad, state)
    out._device = devices.meta
    return out


def rebuild_on(device, kind, array, dtype_name, requires_grad, state):
    """:func:`rebuild` of a tensor that was on a GPU."""
    out = rebuild(kind, array, dtype_name, False, state)
    moved = Tensor.to(out, device)
    out._array, out._device = moved._array, moved._device
    return out.requires_grad_(requires_grad)


Tensor.item, Tensor.tolist, Tensor.numpy = item, tolist, numpy
add_methods(
    __bool__=_bool,
    __index__=_index,
    __contains__=_contains,
    __float__=lambda self: float(item(self)),
    __int__=lambda self: int(item(self)),
    __complex__=lambda self: complex(item(self)),
    __iter__=_iter,
    __array__=_array_interface,
    __array_wrap__=_array_wrap,
    __dlpack__=_dlpack,
    __dlpack_device__=_dlpack_device,
    __deepcopy__=_deepcopy,
    __reduce_ex__=_reduce,
)
Tensor.__cuda_array_interface__ = property(_cuda_array_interface)
Tensor.__array_priority__ = 1000
Tensor.__array_namespace__, Tensor.to_device = array_namespace, to_device
