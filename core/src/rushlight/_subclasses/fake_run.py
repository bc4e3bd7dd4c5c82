"""One op on tensors that pretend: on tensors of device meta, then with the device of the result."""

from __future__ import annotations

from rushlight import devices
from rushlight._subclasses.fake_errors import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorDeviceMismatchError,
)
from rushlight.dtypes import bool_, uint8
from rushlight.library.tags import Tag
from rushlight.ops._transforms.wrappers import ReadsValuesError
from rushlight.tensor.construction import without_values
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

# Ops whose other tensors may be on any device.
_COPIES = frozenset(["copy", "copy_", "_to_copy"])
_INDEXES = frozenset(["index", "index_put", "index_put_"])
_LIFTS = frozenset(["lift_fresh", "lift_fresh_copy", "lift"])


class Run:
    """A call of an overload `func` in a `mode`; `kind` is the class of the tensors that pretend."""

    def __init__(self, mode, kind, func, args, kwargs):
        self.mode, self.kind, self.func = mode, kind, func
        self.name = func.__name__.partition(".")[0]
        self.args, self.kwargs = pytree.tree_map(self._fake, (args, dict(kwargs)))
        leaves = pytree.tree_leaves((self.args, self.kwargs))
        self.fakes = [v for v in leaves if isinstance(v, kind)]

    def result(self):
        """What the call gives."""
        known, tags = self.mode.known, getattr(self.func, "tags", ())
        if Tag.data_dependent_output in tags:
            return self._asked()
        if Tag.dynamic_output_shape in tags and not self._has_size():
            raise DynamicOutputShapeException(self.func)
        device = self._device()
        if self.name in _LIFTS:
            return self.fakes[0]
        found = self._on_meta()
        results = [v for v in pytree.tree_leaves(found) if isinstance(v, Tensor)]
        made = {id(v): self._pretending(v, device) for v in results}
        out = pytree.tree_map(lambda v: made[id(v)] if isinstance(v, Tensor) else v, found)
        given = self.kwargs.get("generator") is None and "random" not in self.name
        if given and known.of(self.fakes) and device.type == "cpu":
            known.compute(self._on_known, self.fakes, pytree.tree_leaves(out))
        else:
            for fake in self._written():
                known.forget(fake)
        return out

    # ---------------------------------------------------------------------------------- arguments
    def _fake(self, value):
        """An argument, as one that pretends where it is a tensor."""
        if not isinstance(value, Tensor):
            return value
        if isinstance(value, self.kind):
            if value.fake_mode is not self.mode:
                raise AssertionError("Mixing fake modes NYI")
            return value
        if self.name in _LIFTS:
            return self._lifted(value)
        if not self.mode.allow_non_fake_inputs:
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode "
                f"with 'allow_non_fake_inputs'. Found in {self.func}"
            )
        return self.mode.from_tensor(value)

    def _lifted(self, value):
        """A tensor that a program makes of numbers, which are known."""
        constant = value.clone() if value.device.type == "cpu" else None
        return self.kind(self.mode, without_values(value), value.device, constant)

    def _device(self):
        """Where the result is: as the call says, else where its tensors are; a number in a tensor
        on the CPU goes with all."""
        asked = self.kwargs.get("device")
        if asked is not None:
            return devices.as_device(asked)
        if not self.fakes:
            return devices.as_device(None)
        first = self.fakes[0].device
        if self.name in _COPIES or self.name in _INDEXES:
            return first
        for fake in self.fakes[1:]:
            if fake.device == first or not fake.dim() and fake.device.type == "cpu":
                continue
            if self.fakes[0].dim() or self.fakes[0].device.type != "cpu":
                raise FakeTensorDeviceMismatchError(self.func, first, fake.device)
            first = fake.device
        return first

    # ------------------------------------------------------------------------------------- results
    def _on_meta(self):
        def of_meta(value):
            return value._elem if isinstance(value, self.kind) else value

        args, kwargs = pytree.tree_map(of_meta, (self.args, self.kwargs))
        if kwargs.get("device") is not None or not self.fakes:
            kwargs["device"] = devices.meta
        kwargs.pop("pin_memory", None)
        try:
            return self.func(*args, **kwargs)
        except (NotImplementedError, ReadsValuesError) as error:
            raise DynamicOutputShapeException(self.func) from error

    def _pretending(self, value, device):
        """The tensor for a result of device meta: an argument that was written to, or a new one."""
        for fake in self.fakes:
            if fake._elem is value:
                return self._renewed(fake)
        return self.kind(self.mode, value, device)

    def _renewed(self, fake):
        """The same tensor, with the shape that it now has."""
        if tuple(fake.shape) != tuple(fake._elem.shape) or fake.stride() != fake._elem.stride():
            fake._array = self.kind(self.mode, fake._elem, fake.device)._array
        return fake

    def _written(self):
        schema = getattr(self.func, "_schema", None)
        if schema is None or not schema.is_mutable:
            return []
        written = [a.name for a in schema.arguments if a.is_write]
        by_name = dict(zip([a.name for a in schema.arguments], self.args, strict=False))
        values = [(by_name | self.kwargs).get(name) for name in written]
        return [v for v in pytree.tree_leaves(values) if isinstance(v, self.kind)]

    def _on_known(self):
        args, kwargs = pytree.tree_map(
            lambda v: v.constant if isinstance(v, self.kind) else v, (self.args, self.kwargs)
        )
        return self.func(*args, **kwargs)

    def _has_size(self):
        """Whether arguments tell the shape of a result that mostly depends on elements."""
        masks = any(v.dtype in (bool_, uint8) for v in self.fakes[1:])
        return self.name in _INDEXES and not masks or self.kwargs.get("output_size") is not None

    def _asked(self):
        if not self.mode.known.of(self.fakes):
            raise DataDependentOutputException(self.func)
        return self._on_known()
