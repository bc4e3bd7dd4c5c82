"""Parameters computed from others: ``register_parametrization`` and what belongs to it.

A parametrized tensor becomes a property of a class made for its module; the tensors it is computed
from live in ``module.parametrizations.<name>`` as ``original`` (or ``original0``, ...).
"""

from __future__ import annotations

import contextlib
import copy
from contextlib import contextmanager

from rushlight.autograd.mode import no_grad
from rushlight.nn.containers import ModuleDict, ModuleList
from rushlight.nn.parameter import Parameter
from rushlight.tensor.tensor import Tensor

_caching = {"depth": 0, "values": {}}


@contextmanager
def cached():
    """A context in which every parametrized tensor is computed once."""
    _caching["depth"] += 1
    try:
        yield
    finally:
        _caching["depth"] -= 1
        if not _caching["depth"]:
            _caching["values"] = {}


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors they start from."""

    def __init__(self, modules, original, unsafe=False):
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = original
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, (Tensor, tuple, list)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._take_original(original, new)
        else:
            for i, part in enumerate(new):
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                part.requires_grad_(original.requires_grad)
                self._register(f"original{i}", part)
        if not unsafe:
            self._check(shape, dtype)

    def _take_original(self, original, new):
        if original.dtype != new.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
            )
        with no_grad():
            original.data = new.detach()
        self._register("original", original)

    def _register(self, name, value):
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        else:
            self.register_buffer(name, value)

    def _check(self, shape, dtype):
        value = self()
        if not isinstance(value, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
        if value.dtype != dtype:
            raise ValueError(
                "Registering a parametrization may not change the dtype of the tensor, unless "
                f"`unsafe` flag is enabled.\nunparametrized dtype: {dtype}\nparametrized dtype: "
                f"{value.dtype}"
            )
        if value.shape != shape:
            raise ValueError(
                "Registering a parametrization may not change the shape of the tensor, unless "
                f"`unsafe` flag is enabled.\nunparametrized shape: {shape}\nparametrized shape: "
                f"{value.shape}"
            )

    def originals(self):
        """The tensors that are stored."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Store what gives `value`, through the modules' ``right_inverse``."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else list(value)
            if len(values) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                    f"Got a sequence of length {len(values)}."
                )
            for target, part in zip(self.originals(), values, strict=True):
                if target.dtype != part.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {part.dtype} while the "
                        f"stored one has dtype {target.dtype}"
                    )
                target.data = part.detach()

    def forward(self):
        """The parametrized tensor."""
        if len(self) == 0:
            raise RuntimeError("no parametrization is left")
        value = self[0](*self.originals())
        for module in list(self)[1:]:
            value = module(value)
        return value


def _parametrized_class(module):
    cls = type(module)

    def getstate(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). Save "
            "model.state_dict() and load it into a model parametrized alike."
        )

    def deepcopy(self, memo):
        made = memo.get(id(self))
        if made is None:
            made = memo[id(self)] = self.__new__(type(self))
            made.__dict__.update(copy.deepcopy(self.__dict__, memo))
            made.parametrizations = copy.deepcopy(self.parametrizations, memo)
            # properties live on the class, which copies do not share
            made.__class__ = type(type(self).__name__, type(self).__bases__, dict(vars(type(self))))
        return made

    body = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        body["__deepcopy__"] = deepcopy
    body["__module__"] = cls.__module__
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _add_property(module, name):
    def getter(self):
        parametrization = self.parametrizations[name]
        if not _caching["depth"]:
            return parametrization()
        key = (id(self), name)
        if key not in _caching["values"]:
            _caching["values"][key] = parametrization()
        return _caching["values"][key]

    def setter(self, value):
        _caching["values"].pop((id(self), name), None)
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(getter, setter))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Compute a parameter or buffer of a module by ``parametrization(original)`` from now on."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        found = module.parametrizations[tensor_name]
        if not unsafe:
            _check_added(module, tensor_name, parametrization)
        elif hasattr(parametrization, "right_inverse"):
            current = getattr(module, tensor_name)
            found.append(parametrization)
            with no_grad(), contextlib.suppress(NotImplementedError):
                found.right_inverse(current)
            return module
        found.append(parametrization)
        found.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    made = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _parametrized_class(module)
        module.parametrizations = ModuleDict()
    _add_property(module, tensor_name)
    module.parametrizations[tensor_name] = made
    return module


def _check_added(module, name, parametrization):
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    if after.dtype != before.dtype or after.shape != before.shape:
        raise ValueError(
            "Registering a parametrization may not change the dtype or shape of the "
            f"'{name}' tensor, unless `unsafe` flag is enabled: {before.dtype} {before.shape} "
            f"became {after.dtype} {after.shape}"
        )
    if hasattr(parametrization, "right_inverse"):
        with contextlib.suppress(NotImplementedError):
            inverse = parametrization.right_inverse(after)
            if not isinstance(inverse, Tensor) or inverse.shape != before.shape:
                raise ValueError(
                    "parametrization.right_inverse must return a tensor of the same shape as the "
                    "tensor it is applied to, unless `unsafe` flag is enabled"
                )


def is_parametrized(module, tensor_name=None):
    """Whether a module has a parametrization (of that tensor)."""
    found = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Remove the parametrizations of a tensor; it keeps its value, or gets the original back."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module) -> type:
    """The module's class without parametrizations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Give another module the parametrizations (and originals) of a module."""
    if not is_parametrized(from_module):
        return to_module
    names = [tensor_name] if tensor_name is not None else list(from_module.parametrizations)
    for name in names:
        for parametrization in from_module.parametrizations[name]:
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
            register_parametrization(to_module, name, parametrization, unsafe=True)
        source, target = from_module.parametrizations[name], to_module.parametrizations[name]
        for value, other in zip(source.originals(), target.originals(), strict=True):
            other.data = value.detach()
    return to_module


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
