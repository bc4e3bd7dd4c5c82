"""What :class:`~rushlight.Tensor` has beside ops, for classes that define ``__torch_dispatch__``:
their tensors may hold no elements, so that what reads these asks by ATen's op, or is an error.
"""

from __future__ import annotations

import functools
from copy import deepcopy

from rushlight import devices, dtypes
from rushlight.autograd.mode import no_grad
from rushlight.machine import np
from rushlight.ops._transforms.wrappers import Placeholder, placeholder, refusing
from rushlight.ops.creation.conversion import parse_to, zero_
from rushlight.ops.creation.program_tensors import _local_scalar_dense, _to_copy
from rushlight.ops.creation.tensors import ones_like
from rushlight.ops.indexing.captured_items import put
from rushlight.tensor.dispatch import stack
from rushlight.tensor.layout import strided
from rushlight.tensor.memory_format import contiguous_format, is_laid_out, preserve_format
from rushlight.tensor.shape import contiguous_strides, normalize_size
from rushlight.tensor.subclasses import retyped
from rushlight.tensor.tensor import Tensor
from rushlight.utils import dispatching
from rushlight.utils.dispatching import process

_new = object.__new__
_as_strided = np.lib.stride_tricks.as_strided


def make_wrapper(cls, size, strides=None, storage_offset=None, memory_format=None, **options):
    """An instance of `cls` without elements; see ``Tensor._make_wrapper_subclass``."""
    dtype, device = options.pop("dtype", None), options.pop("device", None)
    layout, requires_grad = options.pop("layout", strided), options.pop("requires_grad", False)
    _check_class(cls)
    _check_others(layout, memory_format, options)
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    shape, steps = _sized(size, strides)
    found, element = _new(cls), placeholder((), dtype.code)
    array = _as_strided(element, shape, [n * element.itemsize for n in steps]).view(_NoElements)
    found._array, found._dtype, found._node, found._storage = array, dtype, None, None
    device = devices.cpu if device is None else devices.as_device(device)
    if device is not devices.cpu:
        found._device = device
    if storage_offset:
        found._wrapper_offset = storage_offset
    return Tensor.requires_grad_(found, requires_grad)


def _sized(size, strides):
    """Shape and strides, in elements, of tuples of ints."""
    if not isinstance(size, tuple | list):
        raise TypeError(
            "_make_wrapper_subclass(): argument 'size' (position 2) must be tuple of ints, not "
            f"{type(size).__name__}"
        )
    shape = normalize_size((tuple(size),))
    steps = contiguous_strides(shape) if strides is None else tuple(strides)
    if len(steps) != len(shape):
        raise RuntimeError(
            f"_make_wrapper_subclass(): dimensionality of sizes ({len(shape)}) must match "
            f"dimensionality of strides ({len(steps)})"
        )
    return shape, steps


def _check_class(cls):
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            "possible. Make sure your class inherits from Tensor."
        )
    if not cls.__dict__.get("_dispatches", getattr(cls, "_dispatches", False)):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")


def _check_others(layout, memory_format, others):
    if layout is not strided:
        raise NotImplementedError(
            f"_make_wrapper_subclass(): layout {layout} is not available; give strided"
        )
    if memory_format not in (None, contiguous_format, preserve_format):
        raise NotImplementedError(
            f"_make_wrapper_subclass(): memory_format={memory_format} is not available, "
            "give strides"
        )
    for name, value in others.items():
        if name not in _OTHERS:
            raise TypeError(f"_make_wrapper_subclass() got an unexpected keyword argument '{name}'")
        if value:
            raise NotImplementedError(
                f"_make_wrapper_subclass(): {name}={value!r} is not available; sizes, strides, "
                "device and layout are those that the tensor is made with"
            )


# Who answers for sizes and the like; None and False are the tensor itself.
_OTHERS = (
    "dispatch_sizes_strides_policy", "dispatch_device", "dispatch_layout", "_extra_dispatch_keys",
    "storage_size", "pin_memory",
)  # fmt: skip


def holds_elements(tensor) -> bool:
    """Whether a tensor has memory of its own, as those of ``_make_subclass`` have."""
    return type(tensor._array) is not _NoElements


def _unsupported(name, described=""):
    def method(self, *args, **kwargs):
        text = described.format(type(self).__name__)
        raise RuntimeError(f".{name}() is not supported for tensor subclasses{text}")

    method.__name__ = name
    return method


def _number(kind):
    def method(self):
        return kind(self.item())

    return method


class _NoElements(Placeholder):
    """The shape, dtype and strides of a tensor without elements."""

    __slots__ = ()


refusing(
    _NoElements,
    "this function reads the elements of its arguments, and a tensor that _make_wrapper_subclass "
    "made has none: use ops, of which __torch_dispatch__ is told, or the tensors inside of it",
)


class Dispatching(Tensor):
    """The methods, under their names; no tensor is of this class."""

    __slots__ = ()

    def detach(self):
        """The same tensor without history."""
        return process(Tensor.detach, (self,), {})

    def _alias(self):
        return self.detach()

    def item(self):
        """The number in a tensor of one element, which the class is asked for."""
        if self._array.size != 1:
            shown = list(self._array.shape)
            raise RuntimeError(
                f"item(): expected a tensor of one element, got one of shape {shown}"
            )
        return process(_local_scalar_dense, (self,), {})

    numpy = _unsupported("numpy", ".")
    tolist = _unsupported("tolist", ", got {}")
    __bool__, __int__, __float__, __complex__ = map(_number, (bool, int, float, complex))
    __index__ = _number(int)

    def __array__(self, *args, **kwargs):
        return self.numpy()

    def __iter__(self):
        return iter(self.unbind(0))

    def __contains__(self, element):
        return bool((self == element).any())

    __getitem__, __setitem__ = dispatching.getitem, dispatching.setitem

    def index_put_(self, indices, values, accumulate=False):
        """Write (or add) `values` at a tuple of index tensors, in place."""
        return process(put, (self, list(indices), values, accumulate), {})

    def zero_(self):
        """Set every element to zero."""
        return process(zero_, (self,), {})

    def to(self, *args, **kwargs):
        """With another dtype or on another device; the tensor itself when nothing changes."""
        dtype, device, copy, non_blocking, layout = parse_to(args, dict(kwargs))
        options = {}
        if dtype is not None and (copy or dtype is not self._dtype):
            options["dtype"] = dtype
        device = None if device is None else devices.as_device(device)
        if device is not None and (copy or device != self._device):
            options["device"] = device
        if layout not in (None, preserve_format):
            if copy or not self.is_contiguous(memory_format=layout):
                options["memory_format"] = layout
        if not options and not copy:
            return self
        if non_blocking:
            options["non_blocking"] = True
        return process(_to_copy, (self,), options)

    def data_ptr(self):
        """Address of the first element; 0 where the tensor holds none."""
        return Tensor.data_ptr(self) if holds_elements(self) else 0

    def untyped_storage(self):
        """The memory, which tensors without elements have not."""
        if holds_elements(self):
            return Tensor.untyped_storage(self)
        raise RuntimeError("Attempted to access the data pointer on an invalid python storage.")

    def storage_offset(self):
        """Offset of the first element in its storage, as the tensor was made."""
        if holds_elements(self):
            return Tensor.storage_offset(self)
        return self.__dict__.get("_wrapper_offset", 0)

    def is_contiguous(self, memory_format=contiguous_format):
        """Whether the strides are those of a format, by default row-major."""
        if memory_format is not contiguous_format:
            return Tensor.is_contiguous(self, memory_format=memory_format)
        return is_laid_out(self._array, memory_format)

    def __repr__(self):
        if holds_elements(self):
            return Tensor.__repr__(self)
        return f"{type(self).__name__}(..., size={tuple(self.shape)}, dtype={self._dtype})"

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if holds_elements(self):
            return Tensor.__deepcopy__(self, memo)
        return _copied(self, memo)

    def __reduce_ex__(self, protocol):
        if holds_elements(self):
            return Tensor.__reduce_ex__(self, protocol)
        given = (type(self), self._dtype, tuple(self.shape), self.stride(), self.storage_offset())
        state = {k: v for k, v in self.__dict__.items() if k not in _OF_ITSELF}
        rest = (self.layout, self._device, self.requires_grad)
        return rebuild_from_type, (rebuild_wrapper, type(self), (*given, *rest), state)

    def _first_gradient(self):
        return ones_like(self)


def _in_parts(name):
    """The method `name` of Tensor, of whose steps the class is told."""

    def method(self, *args, **kwargs):
        with dispatching.parts():
            return getattr(Tensor, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def _while_told(name, form):
    """`form` where classes are told of ops, and Tensor's method of the name elsewhere."""

    @functools.wraps(form)
    def method(self, *args, **kwargs):
        chosen = form if stack.dispatches else getattr(Tensor, name)
        return chosen(self, *args, **kwargs)

    return method


def _complete(kind):
    """Give `kind` the methods that are no ops and have a name in ATen, which they ask for where a
    program is captured; all forms hold where classes are told of ops."""
    for name, value in vars(Tensor).items():
        if name not in vars(kind) and hasattr(value, "aten_call") and not hasattr(value, "op"):
            setattr(kind, name, _in_parts(name))
    for name, value in list(vars(kind).items()):
        if callable(value) and name in vars(Tensor):
            setattr(kind, name, _while_told(name, value))


_complete(Dispatching)


# Attributes of an object and its history, which copies do not share.
_OF_ITSELF = frozenset(
    "_base _path _hooks _post_hooks _retain _index _writable _device _taken_at "
    "_wrapper_offset".split()
)


def _copied(tensor, memo):
    """A deep copy of a tensor that holds no elements."""
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment."
        )
    with no_grad():
        out = tensor.clone()
    if type(out) is not type(tensor):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for "
            "subclass types that properly implement clone() such that it returns another instance "
            f"of the same subclass, but {type(tensor).__name__} gave {type(out).__name__}"
        )
    memo[id(tensor)] = out
    for name, value in tensor.__dict__.items():
        if name not in _OF_ITSELF:
            out.__dict__[name] = deepcopy(value, memo)
    return Tensor.requires_grad_(out, tensor.requires_grad)


def rebuild_wrapper(cls, dtype, size, stride, storage_offset, layout, device, requires_grad):
    """A tensor without elements, as ``__reduce_ex__`` describes it."""
    return make_wrapper(
        cls, size, strides=stride, storage_offset=storage_offset, dtype=dtype, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


def rebuild_from_type(function, kind, args, state):
    """A tensor of a subclass, made by `function`, with its attributes."""
    out = function(*args)
    if type(out) is not kind:
        out = retyped(out, kind)
    if getattr(kind, "__setstate__", Tensor.__dict__.get("__setstate__")) is not None:
        out.__setstate__(state)
    else:
        out.__dict__.update(state)
    return out
