"""Tensor: an array with a dtype, a device, and a position in the recorded graph.

The class knows no operation by name: every declaration in :mod:`rushlight.ops` binds its methods
and operators here. On the CPU ``_array`` is a NumPy view with the tensor's shape and strides.
"""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from operator import attrgetter
from typing import Any

from rushlight import devices
from rushlight.autograd.handle import LATER, RemovableHandle, add_hook
from rushlight.autograd.later import later
from rushlight.autograd.mode import mode
from rushlight.autograd.node import LEAF, STALE, Node, as_function
from rushlight.dtypes import FLOAT
from rushlight.machine import memory, np
from rushlight.tensor import subclasses
from rushlight.tensor.asking import install
from rushlight.tensor.dispatch import (
    PLAIN,
    STATE,
    _disabled,
    _undispatched,
    answered,
    is_dispatching,
)
from rushlight.tensor.layout import strided
from rushlight.tensor.shape import Size, strides_of
from rushlight.tensor.storage import Alias, Storage, storage_of

_new = object.__new__
_ndarray = np.ndarray
_engine: Any = None  # the engine module, which needs this one: it puts itself here


def sized(tensor) -> Size:
    """The shape of a tensor; machine code replaces this function."""
    return Size(tensor._array.shape)


class Tensor:
    """A multi-dimensional array of one dtype that records what is computed from it.

    Make one with :func:`rushlight.tensor`, :func:`rushlight.zeros`, ... The legacy constructor
    ``Tensor(2, 3)`` gives uninitialised memory and ``Tensor([1, 2])`` a tensor of default dtype.
    """

    __slots__ = ("__dict__", "__weakref__", "_array", "_dtype", "_node", "_storage")

    # Rare state: defaults on the class, set on the instance when needed.
    _index = 0  # output number of `_node`
    _grad = None
    _base = None  # of a view: the tensor it views; `_path` is how
    _path = ()
    _device = devices.cpu
    _hooks: dict | None = None
    _post_hooks: dict | None = None
    _retain: Any = None
    _inference = False
    _writable = None  # why an in-place write through this view is refused
    names = (None,)

    def __new__(cls, *args, **kwargs):
        """The legacy constructor."""
        tensor = _construct(*args, **kwargs)
        return tensor if cls is Tensor else subclasses.retyped(tensor, cls)

    # ------------------------------------------------------------------ what it is
    _node: Any  # how it was made: None, LEAF, STALE or a Node

    dtype = property(attrgetter("_dtype"), doc="The element type.")
    device = property(attrgetter("_device"), doc="Where the elements live.")

    @property
    def shape(self) -> Size:
        """The extent of every dimension, as a :class:`rushlight.Size`."""
        return sized(self)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._array.size * self._dtype.itemsize

    is_cuda = property(lambda self: self._device.type == "cuda", doc="True on a GPU.")
    is_cpu = property(lambda self: self._device.type == "cpu", doc="True on the CPU.")
    is_meta = property(lambda self: self._device.type == "meta", doc="True without memory.")
    is_sparse = False
    is_sparse_csr = False
    is_quantized = False
    is_nested = False
    is_mkldnn = is_mps = is_xpu = is_xla = is_mtia = is_ipu = is_maia = is_vulkan = False
    layout = strided

    def __len__(self):
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    __hash__ = object.__hash__  # by identity: `==` compares elements

    def __repr__(self):
        if STATE.dispatching and (answer := answered(self, "__repr__")):
            return answer(self)
        from rushlight.tensor.printing import text_of_class

        return text_of_class(self, isinstance(self, Parameter))

    def __format__(self, spec):
        if self._array.ndim == 0 and self._device.type != "meta" and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    # ------------------------------------------------------------------ autograd
    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded."""
        node = self._node
        if node is STALE:
            if type(self._path) is not tuple:  # its history is lost, and asking for that an error
                return self._base.requires_grad
            self._refresh()
            node = self._node
        return node is not None

    @requires_grad.setter
    def requires_grad(self, value):
        if type(value) is not bool:
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start or stop recording what is done to this leaf; returns the tensor."""
        if type(requires_grad) is not bool:
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        if not self.is_leaf:
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if requires_grad and self._dtype.category < FLOAT:
            raise RuntimeError(
                "only Tensors of floating point dtype can require gradients; this one is "
                f"{self._dtype}"
            )
        if requires_grad and not mode.inference and self.is_inference():
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed."
            )
        if not requires_grad and self._node is LEAF and self._hooks is None:
            self._hooks = OrderedDict()  # graphs that lead here take the pass that looks again
        elif requires_grad and self._hooks is not None and not self._hooks:
            self._hooks = None
        self._node = LEAF if requires_grad else None
        return self

    @property
    def is_leaf(self) -> bool:
        """True if the user made it, or it needs no gradient: nothing was recorded for it."""
        if self._node is STALE:
            self._refresh()
        return self._node is None or self._node is LEAF

    @property
    def grad_fn(self):
        """The recorded call that made this tensor, or None."""
        if self._node is STALE:
            self._refresh()
        node = self._node
        return None if node is None or node is LEAF else as_function(node)

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` this is."""
        return self._index

    @property
    def grad(self):
        """The gradient accumulated by `backward`; None until then."""
        found, node = self._grad, self._node
        if found is None is not node is not LEAF and self._retain is None and not self.is_leaf:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
                "backward() does not fill it; if you want it to, call retain_grad() on this Tensor "
                "before. If you meant another one, access the leaf Tensor instead.",
                stacklevel=2,
            )
        return found

    @grad.setter
    def grad(self, value):
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign a tensor as its own grad")
            if value._device.type != self._device.type:
                raise RuntimeError(
                    f"assigned grad is on another device: expected {self._device}, got "
                    f"{value._device}"
                )
            if value._array.shape != self._array.shape:
                raise RuntimeError(
                    f"assigned grad has data of a different size: expected "
                    f"{list(self._array.shape)}, got {list(value._array.shape)}"
                )
            if value._dtype is not self._dtype:
                raise RuntimeError(
                    f"assigned grad has data of a different type: expected {self._dtype}, got "
                    f"{value._dtype}"
                )
        self._grad = value

    @grad.deleter
    def grad(self):
        self._grad = None

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add the gradient of this tensor into ``.grad`` of every leaf it was computed from.

        `gradient` (same shape as this tensor) may be left out for a tensor of one element.
        `retain_graph` keeps saved values for another call (default: `create_graph`);
        `create_graph` records the backward pass itself; `inputs` limits it to some tensors.
        """
        _engine.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook) -> RemovableHandle:
        """Call ``hook(grad)`` with this tensor's complete gradient; a result replaces it."""
        if self._node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._node is LEAF:
            return self._leaf_hooked("_hooks", hook)
        return add_hook(self._hooks_of_node(), hook)

    def _leaf_hooked(self, kind, hook, last=False) -> RemovableHandle:
        if getattr(self, kind) is None:
            setattr(self, kind, OrderedDict())
        return add_hook(getattr(self, kind), hook, last)

    def _hooks_of_node(self):
        node: Any = self._node
        if node.tensor_hooks is None:
            node.tensor_hooks = {}
        return node.tensor_hooks.setdefault(self._index, OrderedDict())

    @property
    def _backward_hooks(self):
        """The hooks of this tensor's gradient, by the numbers of their handles; or None."""
        if not isinstance(self.grad_fn, Node):
            return self._hooks
        return (self._node.tensor_hooks or {}).get(self._index)

    def register_post_accumulate_grad_hook(self, hook) -> RemovableHandle:
        """Call ``hook(tensor)`` after a gradient was accumulated into this leaf's ``.grad``."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._node is not LEAF:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        return self._leaf_hooked("_post_hooks", hook)

    def retain_grad(self) -> None:
        """Keep ``.grad`` of this non-leaf tensor too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._node is LEAF or self._retain is not None:
            return
        reference = weakref.ref(self)

        def keep(grad):
            tensor = reference()
            if tensor is not None:
                tensor._grad = grad if tensor._grad is None else tensor._grad + grad

        self._retain = keep, None
        self._keep_grad()

    def _keep_grad(self, kept=True):
        """Have the gradient kept where the history of this tensor is now, and nowhere else."""
        keep, hooks = self._retain
        if hooks is not None:
            hooks.pop(id(keep) + LATER, None)
        hooks = self._hooks_of_node() if kept else None
        if kept:
            hooks[id(keep) + LATER] = keep
        self._retain = keep, hooks

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was asked for."""
        return self._retain is not None

    def detach(self) -> Tensor:
        """The same memory, outside the recorded graph."""
        out = self._alias()
        out._storage = storage_of(self)
        return out

    def _alias(self):
        plain = (cls := type(self)) in EXACT
        out = _new(Tensor if plain or not subclasses.of_package(cls) else cls)
        out._array, out._dtype, out._node, out._storage = self._array, self._dtype, None, None
        if self._device is not devices.cpu:
            out._device = self._device
        if self.is_inference():
            out._inference = True
        return out if plain else subclasses.of_same_class(Tensor, self, out)

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version counter of its own."""
        out = self._alias()
        out._storage = Alias(self._array, storage_of(self))
        return out

    @data.setter
    def data(self, value):
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if value._dtype.category < FLOAT and self.requires_grad:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                f"dtype, but got {value._dtype}"
            )
        self._array, self._dtype = value._array, value._dtype
        self._storage = storage_of(value)
        if value._device is not self._device:
            self._device = value._device

    @property
    def _version(self) -> int:
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._writes

    @property
    def _writes(self) -> int:
        """How often its memory was written to, as far as that is counted."""
        return 0 if self._storage is None else self._storage.version

    def is_inference(self) -> bool:
        """Whether it was made under `inference_mode`, or is a view of such a tensor."""
        return self._inference or self._base is not None and self._base._inference

    def _refresh(self):
        """Replay a view's path on its base, after the base's history changed."""
        base, path = self._base, self._path
        if not base.requires_grad:
            self._node = None
            return
        previous, mode.recording = mode.recording, True
        try:
            fresh = base
            for operation, values in path:
                fresh = operation.replay(fresh, values)
            self._node, self._index = fresh._node, fresh._index
        finally:
            mode.recording = previous
        if self._retain is not None and isinstance(self._node, Node):
            self._keep_grad()

    # ------------------------------------------------------------------ memory
    def _is_view(self) -> bool:
        return self._base is not None

    def stride(self, dim: int | None = None):
        """Steps in elements from one index to the next, for all dimensions or one."""
        return strides_of(self) if dim is None else strides_of(self)[dim]

    def storage_offset(self) -> int:
        """Where the first element is in its storage, in elements."""
        owner = storage_of(self)
        return (memory.start_of(self._array) - owner._start()) // self._dtype.itemsize

    def data_ptr(self) -> int:
        """Address of the first element; 0 on the meta device."""
        return memory.start_of(self._array) if self._device.type != "meta" else 0

    def untyped_storage(self) -> Storage:
        """The memory shared by this tensor and its views."""
        return storage_of(self)

    def is_set_to(self, tensor) -> bool:
        """True if both are the same memory with the same shape and strides."""
        a, b = ((memory.start_of(x), x.shape, x.strides) for x in (self._array, tensor._array))
        return a == b and storage_of(self)._is_of(storage_of(tensor))

    def element_size(self) -> int:
        """Bytes per element."""
        return self._dtype.itemsize

    def dim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    def numel(self) -> int:
        """Number of elements."""
        return self._array.size

    nelement = numel
    ndimension = dim

    def size(self, dim: int | None = None):
        """The shape, or the extent of one dimension."""
        if dim is None:
            return sized(self)
        if type(dim) is int:
            try:
                return self._array.shape[dim]
            except IndexError:
                pass  # the text below says what is wrong
        ndim = self._array.ndim
        if not -max(ndim, 1) <= dim < max(ndim, 1) or not ndim:
            low, high = -max(ndim, 1), max(ndim, 1) - 1
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{low}, {high}], but got "
                f"{dim})"
            )
        return self._array.shape[dim]

    def is_floating_point(self) -> bool:
        """True for float dtypes."""
        return self._dtype.category == FLOAT

    def is_complex(self) -> bool:
        """True for complex dtypes."""
        return self._dtype.category > FLOAT

    def is_signed(self) -> bool:
        """True for dtypes with negative values."""
        return self._dtype.is_signed

    # ------------------------------------------------------------------ subclasses
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        install(cls, Tensor)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """Run `function` on plain tensors; results become `cls`, as PyTorch does for subclasses.
        NotImplemented where `types` has a class that `cls` is none of."""
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        return subclasses.run_plain(Tensor, cls, function, args, kwargs or {})

    __torch_dispatch__ = staticmethod(_undispatched)

    def as_subclass(self, cls):
        """The same elements as an instance of `cls`: a view without the attributes of this object.

        Raises:
            TypeError: `cls` is no class, or neither Tensor nor a subclass of it.

        Example:
            >>> import rushlight
            >>> class Metres(rushlight.Tensor): ...
            >>> x = rushlight.ones(2, requires_grad=True)
            >>> x.as_subclass(Metres).sum().backward()
            >>> x.grad
            tensor([1., 1.])
        """
        return subclasses.viewed_as(Tensor, self, cls)

    @staticmethod
    def _make_wrapper_subclass(cls, size, *rest, **options):
        """A tensor of the subclass `cls`, which defines ``__torch_dispatch__``, without elements.

        Args:
            size: its shape, a tuple of ints.
            strides: in elements; by default row-major.
            storage_offset, memory_format, layout, pin_memory: what the tensor says of itself.
            dtype: by default :func:`rushlight.get_default_dtype`.
            device, requires_grad: by default the CPU, and False.

        Raises:
            TypeError: `cls` is no subclass of Tensor, or defines no ``__torch_dispatch__``.
            RuntimeError: `strides` are not as many as extents.

        Example:
            >>> import rushlight
            >>> class Wrapper(rushlight.Tensor):
            ...     def __new__(cls, inner):
            ...         return rushlight.Tensor._make_wrapper_subclass(cls, inner.shape)
            ...     def __init__(self, inner):
            ...         self.inner = inner
            ...     @classmethod
            ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            ...         print(func)
            ...         return func(args[0].inner, *args[1:], **(kwargs or {}))
            >>> _ = Wrapper(rushlight.ones(2)) * 3
            aten.mul.Tensor
        """
        return later("dispatching_methods").make_wrapper(cls, size, *rest, **options)

    @staticmethod
    def _make_subclass(cls, data, requires_grad=False):
        return subclasses.retyped(data.detach(), cls).requires_grad_(requires_grad)


class _ParameterMeta(type):
    """Parameters are also the tensors of subclasses that were made ones."""

    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and hasattr(instance, "_is_param")


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A leaf tensor that a Module counts among its parameters; requires grad by default.

    ``Parameter(data, requires_grad=True)`` shares memory with `data`. One of a subclass of Tensor
    is of that class, and ``isinstance(p, Parameter)`` is true of it.
    """

    __torch_function__ = staticmethod(_disabled)

    def __new__(cls, data=None, requires_grad=True):
        """A parameter that shares memory with `data`."""
        if data is None:
            data = _construct(0)
        if type(data) is not Tensor and not isinstance(data, Tensor):
            raise TypeError(f"Parameter data must be a Tensor, not {type(data).__name__}")
        if type(data) not in EXACT and (
            is_dispatching(data) or not subclasses.of_package(type(data))
        ):
            return subclasses.parameter_of(data, requires_grad)
        if data.layout is not strided:
            raise NotImplementedError(
                f"Parameter: tensors of layout {data.layout} are not available as parameters; make "
                "one of the elements, Parameter(x.values()), and the tensor from it in forward"
            )
        out = _new(cls)
        out._array, out._dtype, out._node = data._array, data._dtype, None
        out._storage = storage_of(data)
        if data._device is not devices.cpu:
            out._device = data._device
        if data.is_inference():
            out._inference = True
        return out.requires_grad_(requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


EXACT = frozenset({Tensor, Parameter})
PLAIN.update(EXACT)


def add_methods(**functions) -> None:
    """Bind functions to Tensor; one without a public name takes that of the method."""
    for name, function in functions.items():
        if function.__name__.startswith(("_", "<", "call")):
            function.__name__ = function.__qualname__ = name
        setattr(Tensor, name, function)


def make_tensor(array, dtype, device=devices.cpu) -> Tensor:
    """A tensor around an array that already has the dtype; no copy. Arrays of other kinds than
    NumPy's own know the device they are on."""
    out = _new(Tensor)
    out._array, out._dtype, out._node, out._storage = array, dtype, None, None
    if type(array) is not _ndarray:
        device = getattr(array, "home", device)
    if device is not devices.cpu:
        out._device = device
    if mode.inference:
        out._inference = True
    return out


def _construct(*args, **kwargs):
    """The legacy constructor; sizes or data."""
    from rushlight.tensor.interchange import legacy_tensor

    return legacy_tensor(*args, **kwargs)
