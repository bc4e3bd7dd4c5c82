"""Tensors as instances of subclasses, and what a subclass without a ``__torch_function__`` of its
own does: results keep the subclass."""

from __future__ import annotations

import functools

from rushlight.autograd.mode import mode
from rushlight.tensor.dispatch import (
    DisableTorchFunction,
    hidden_from_modes,
    is_dispatching,
    stack,
)
from rushlight.tensor.layout import strided
from rushlight.tensor.storage import storage_of


def viewed_as(base, tensor, cls):
    """A view of all of a tensor that is an instance of `cls`, a subclass of `base`, the class
    Tensor. No mode is told of it, as in PyTorch; function transforms are.

    Where nothing is recorded it only shares the memory: what makes it a view would be among its
    attributes, which methods such as ``__reduce_ex__`` of programs' classes read.
    """
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, base):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            f"possible: {cls.__name__}. Make sure your class inherits from Tensor."
        )
    if tensor.layout is not strided or is_dispatching(tensor):  # these have no views of all
        return retyped(tensor, cls)
    with DisableTorchFunction(), hidden_from_modes():
        if not stack.levels and (tensor._node is None or not mode.recording):
            return retyped(base.detach(tensor), cls)
        view = base.__getitem__(tensor, ...)
    if getattr(view, "_level", None) is not None:
        cls = _of_transform(cls, type(view))
    return retyped(view, cls)


def retyped(tensor, cls):
    """A tensor that nobody else holds, as an instance of `cls`."""
    out = object.__new__(cls)
    out._array, out._dtype, out._node = tensor._array, tensor._dtype, tensor._node
    out._storage = storage_of(tensor)
    out.__dict__.update(tensor.__dict__)
    if out._base is not None:
        out._storage.add_view(out)
    return out


def of_package(cls) -> bool:
    """Whether a class is of this package, whose classes say how they are printed and made. They
    bear PyTorch's name while that is given to this package."""
    return cls.__module__.partition(".")[0] in ("rushlight", "torch")


def without_subclass(base, tensor):
    """The tensor itself, or a plain view of one of a program's class. Function transforms take
    these, as in PyTorch; those that define ``__torch_dispatch__`` they take as they are."""
    cls = type(tensor)
    if cls is base or of_package(cls) or is_dispatching(tensor):
        return tensor
    return viewed_as(base, tensor, base)


def of_same_class(base, tensor, made):
    """What a method that is no op made of a tensor, of the class of the tensor where results of
    its ops are."""
    cls = type(tensor)
    handler = getattr(cls.__torch_function__, "__func__", None)
    if (
        isinstance(made, cls)
        or not stack.overrides
        or handler is not base.__torch_function__.__func__
    ):
        return made
    return retyped(made, cls)


def parameter_of(data, requires_grad):
    """A parameter of a subclass of Tensor."""
    out = data.detach().requires_grad_(requires_grad)
    if type(out) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
            f"detach() returns an instance of the same type, but return type {type(out).__name__} "
            "was found instead. To use the type as a Parameter, please correct the detach() "
            "semantics defined by its __torch_dispatch__() implementation."
        )
    out._is_param = True
    return out


@functools.cache
def _of_transform(cls, wrapper):
    """A subclass of `cls` whose ops a function transform takes, as those of its class `wrapper`,
    once `cls` was asked about them."""
    if issubclass(wrapper, cls):
        return wrapper

    def ask(kind, function, types, args=(), kwargs=None):
        if not stack.overrides:
            return wrapper.__torch_function__(function, types, args, kwargs or {})
        types = tuple(cls if t is kind else t for t in types)
        return cls.__torch_function__(function, types, args, kwargs or {})

    return type(cls.__name__, (cls, wrapper), {"__torch_function__": classmethod(ask)})


def run_plain(base, cls, function, args, kwargs):
    """Call `function` with overrides off and turn resulting tensors into `cls`, a subclass of
    `base`, the class Tensor."""
    with DisableTorchFunction():
        result = function(*args, **kwargs)
        return result if function in _unconverted(base) else _convert(base, cls, result)


@functools.cache
def _unconverted(base) -> frozenset:
    """What gives tensors that exist already, as they are."""
    return frozenset({base.grad.__get__})


def _convert(base, cls, result):
    if isinstance(result, tuple | list):
        items = [_convert(base, cls, item) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    if isinstance(result, base) and not isinstance(result, cls):
        return result.as_subclass(cls)
    return result
