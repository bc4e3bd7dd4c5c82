"""Tensors that pretend to have elements, on any device, and the mode that makes them.

They tell what a program would make (shapes, strides, dtypes, devices, what has a gradient) without
memory or time for it: :class:`FakeTensorMode` runs ATen's ops on tensors of device ``meta``.
"""

from __future__ import annotations

import contextlib
import weakref

from rushlight import devices
from rushlight._subclasses.fake_errors import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorDeviceMismatchError,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from rushlight._subclasses.fake_run import Run
from rushlight._subclasses.known_elements import KnownElements
from rushlight.autograd.mode import no_grad
from rushlight.dtypes import bool_, get_default_dtype, int64
from rushlight.ops.creation.program_tensors import _local_scalar_dense
from rushlight.ops.indexing.slicing import unbind
from rushlight.tensor.construction import without_values
from rushlight.tensor.dispatch import overriding
from rushlight.tensor.layout import strided
from rushlight.tensor.tensor import Parameter, Tensor
from rushlight.utils._python_dispatch import (
    DisableDispatchModes,
    TorchDispatchMode,
    _get_current_dispatch_mode_stack,
    _on,
)
from rushlight.utils._pytree import tree_leaves
from rushlight.utils.dispatch_steps import tensors_in
from rushlight.utils.dispatching import by_classes

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorDeviceMismatchError",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


class FakeTensor(Tensor):
    """A tensor without elements that says it is on `device`; :class:`FakeTensorMode` makes them.

    Args:
        fake_mode: whose it is.
        elem: a tensor of device meta, of its shape, strides and dtype.
        device: where it pretends to be.
        constant: a tensor with its elements, where they are known.
    """

    fake_mode: FakeTensorMode
    constant: Tensor | None
    _elem: Tensor

    @staticmethod
    def __new__(cls, fake_mode, elem, device, constant=None):
        with devices.any_device():
            self = Tensor._make_wrapper_subclass(
                cls, tuple(elem.shape), strides=elem.stride(), dtype=elem.dtype,
                storage_offset=elem.storage_offset(), device=device,
            )  # fmt: skip
        self.fake_mode, self._elem, self.constant = fake_mode, elem, None
        if constant is not None:
            fake_mode.known.keep(self, constant)
        return self

    @property
    def fake_device(self):
        """Where it pretends to be."""
        return self.device

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        mode = next(v for v in tree_leaves((args, kwargs)) if isinstance(v, FakeTensor)).fake_mode
        return mode._run(func, args, kwargs or {})

    def untyped_storage(self):
        """The memory that is not there, one for all views of it."""
        return self._elem.untyped_storage()

    def tolist(self):
        """The elements, where they are known."""
        if not self.shape:
            return _local_scalar_dense(self)
        return [FakeTensor.tolist(part) for part in unbind(self)]

    def __repr__(self):
        parts = [f"device='{self.device}'"] if self.device.type != "cpu" else []
        parts.append(f"size={tuple(self.shape)}")
        if self.dtype not in (get_default_dtype(), int64, bool_):
            parts.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{self.grad_fn.name()}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        shown = f"FakeTensor(..., {', '.join(parts)})"
        return f"Parameter({shown})" if isinstance(self, Parameter) else shown


class FakeTensorMode(TorchDispatchMode):
    """Inside of ``with``, tensors are made without elements, on any device, and all ops give such.

    Args:
        allow_fallback_kernels: accepted as in PyTorch; there are no kernels to fall back to.
        allow_non_fake_inputs: whether ops take tensors with elements too, as if they had none.
        shape_env: None; sizes are numbers.
        static_shapes: None or True, as sizes are numbers.
        export: accepted as in PyTorch.

    Raises:
        NotImplementedError: `shape_env` is given, or `static_shapes` is False.
        AssertionError: inside, an op gets a tensor with elements, or one of another mode.
        DynamicOutputShapeException: inside, the shape of a result depends on elements.
        DataDependentOutputException: inside, a number that depends on elements is asked for.
        RuntimeError: inside, an op gets tensors that pretend to be on different devices.

    >>> from rushlight._subclasses import FakeTensorMode
    >>> with FakeTensorMode() as mode:
    ...     layer = rushlight.nn.Linear(40_000, 60_000, device="cuda")
    ...     print(layer(rushlight.empty(8, 40_000, device="cuda")).detach())
    FakeTensor(..., device='cuda:0', size=(8, 60000))
    >>> mode.from_tensor(rushlight.ones(2, 3)).sum(0)
    FakeTensor(..., size=(3,))
    """

    def __init__(
        self, *, allow_fallback_kernels=True, allow_non_fake_inputs=False, shape_env=None,
        static_shapes=None, export=False,
    ):  # fmt: skip
        super().__init__()
        if shape_env is not None or static_shapes is False:
            raise NotImplementedError(
                "FakeTensorMode(): sizes are numbers here; leave out shape_env and "
                'static_shapes=False, or use make_fx(tracing_mode="symbolic") or export.export()'
            )
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env, self.static_shapes, self.export = None, True, export
        self.known = KnownElements()
        self._made: dict = {}  # id of a tensor -> a reference to it, the one that stands for it

    def __enter__(self):
        devices.current.imagining += 1
        return super().__enter__()

    def __exit__(self, *exc):
        devices.current.imagining -= 1
        return super().__exit__(*exc)

    def __deepcopy__(self, memo):
        return self  # what tensors refer to when they are copied

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self._run(func, args, kwargs or {})

    def _handle(self, function, args, kwargs, records=True):
        given = tensors_in(args, kwargs)
        if overriding(args, kwargs) or not any(isinstance(v, FakeTensor) for v in given):
            return super()._handle(function, args, kwargs, records)
        with _on(self):  # the class has the histories; what parts make pretends, too
            return by_classes(function, args, kwargs)

    def _run(self, func, args, kwargs):
        with DisableDispatchModes(_fake_modes()), devices.any_device():
            return Run(self, FakeTensor, func, args, kwargs).result()

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None,
                    trace=True):  # fmt: skip
        """The tensor of this mode that stands for one with elements, the same every time.

        Raises:
            AssertionError: the tensor is one of another mode.
            UnsupportedFakeTensorException: the tensor is sparse or nested.
        """
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        made, key = self._made, id(tensor)
        found = made.get(key)
        if found is not None and found[0]() is tensor:
            return found[1]
        with DisableDispatchModes(_fake_modes()), devices.any_device():
            fake = self._standing_for(tensor)
        made[key] = weakref.ref(tensor, lambda _: made.pop(key, None)), fake
        return fake

    def _standing_for(self, tensor):
        if tensor.layout is not strided or tensor.is_nested:
            raise UnsupportedFakeTensorException(f"tensors of layout {tensor.layout}")
        with no_grad():
            fake = FakeTensor(self, without_values(tensor), tensor.device)
        if isinstance(tensor, Parameter):
            fake = Parameter(fake, tensor.requires_grad)
        elif tensor.requires_grad:
            fake.requires_grad_()
        if tensor.is_leaf and tensor.grad is not None:
            fake.grad = self.from_tensor(tensor.grad)
        return fake


def _fake_modes():
    return [x for x in _get_current_dispatch_mode_stack() if isinstance(x, FakeTensorMode)]


def active_fake_mode():
    """The innermost active mode of tensors that pretend, or None."""
    found = _fake_modes()
    return found[-1] if found else None


@contextlib.contextmanager
def unset_fake_temporarily():
    """Inside of ``with``, no :class:`FakeTensorMode` is active; gives the one that was, or None.

    >>> from rushlight._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
    >>> with FakeTensorMode(), unset_fake_temporarily():
    ...     print(rushlight.ones(2))
    tensor([1., 1.])
    """
    before = active_fake_mode()
    with devices.existing_devices(), DisableDispatchModes(_fake_modes()):
        yield before


def is_fake(x) -> bool:
    """Whether a value is a tensor that pretends.

    >>> from rushlight._subclasses.fake_tensor import FakeTensorMode, is_fake
    >>> is_fake(rushlight.ones(2)), is_fake(FakeTensorMode().from_tensor(rushlight.ones(2)))
    (False, True)
    """
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t):
    """The mode of a tensor that pretends, None of others."""
    return t.fake_mode if isinstance(t, FakeTensor) else None
