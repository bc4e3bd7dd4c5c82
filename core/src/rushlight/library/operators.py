"""Operators of namespaces: ``rushlight.ops.NAMESPACE.NAME``.

An :class:`Operator` has a schema, kernels by device, and what is registered for it: shapes without
data, a gradient, a batching rule, a dtype for autocast. Calling one binds the arguments, and runs a
generated autograd function, so that it records, batches and composes as any other op.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util

from rushlight import devices, dtypes
from rushlight.autograd.mode import no_grad
from rushlight.library.fake_sizes import NoSizes, get_ctx, in_context, sized_by
from rushlight.library.kinds import OpOverload, OpOverloadPacket
from rushlight.library.recording import generated_function
from rushlight.library.tags import Tag
from rushlight.machine import np
from rushlight.ops._transforms.capturing import captured_operator
from rushlight.tensor.dispatch import STATE, asked, call_overrides, interpret, stack
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import EXACT, Tensor

NAMESPACES: dict = {}
COMPOSITE = "composite"  # a kernel for every device whose own ops are recorded


class Operator(OpOverload):
    """One overload of an operator; call it as a function."""

    def __init__(self, schema, *, custom=False):
        self._schema, self._custom = schema, custom
        self.namespace, self.__name__ = schema.name.split("::")
        self.__qualname__, self.__module__ = str(self), "rushlight.ops"
        self.kernels, self.fake, self.vmap, self.autocast = {}, None, None, {}
        self.backward = self.setup_context = self._function = None
        self.tags: list = []
        self.overrides = None  # a function under the key "Autograd" that records by itself

    # ------------------------------------------------------------------ what it is
    def name(self) -> str:
        """The full name, for example ``mylib::scale``."""
        return self._schema.name + ("." + self._schema.overload if self._schema.overload else "")

    @property
    def _overloadname(self):
        return self._schema.overload or "default"

    @property
    def overloadpacket(self):
        """All overloads of the same name."""
        return getattr(NAMESPACES[self.namespace], self.__name__)

    _overloadpacket = overloadpacket

    @property
    def _nondeterministic_seeded(self):
        """Whether it is tagged as one that takes numbers from a generator."""
        return Tag.nondeterministic_seeded in self.tags

    @property
    def _writes(self):
        """Whether it writes to an argument."""
        return self._schema.is_mutable

    def __deepcopy__(self, memo):
        """The object itself, as of a function: copied tables keep their keys."""
        return self

    def __repr__(self):
        name = f"{self.namespace}.{self.__name__}"
        return f"<OpOverload(op='{name}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self.namespace}.{self.__name__}.{self._overloadname}"

    # ------------------------------------------------------------------ calling
    def __call__(self, /, *args, **kwargs):
        """Run the operator on bound arguments."""
        if STATE.modes and stack.interpreters:
            return interpret(self, args, kwargs)
        if stack.overrides or STATE.dispatching:
            found = [v for v in asked(args, kwargs) if getattr(v, "_level", None) is None]
            if found:
                return call_overrides(self, found, args, kwargs)
        values = self._schema.bind(args, dict(kwargs))
        if self.autocast:
            values = self._autocasted(values)
        if self.overrides is not None:
            return self._split_call(self.overrides, values)
        if COMPOSITE in self.kernels or (not self._custom and self.backward is None):
            return self.run(values)
        if self._function is None:
            self._function = generated_function(self)
        return self._function.call(values)

    def run(self, values):
        """The kernel for the devices of the given tensors, nothing recorded here; in a captured
        program a node instead."""
        if stack.levels and self.is_whole() and _is_captured(values):
            return captured_operator(self, values)
        kernel = self._kernel(values)
        if not self._custom:
            return self._split_call(kernel, values)
        with no_grad():
            result = self._split_call(kernel, [_detached(v) for v in values])
        written = [a.is_write for a in self._schema.arguments]
        for value, write in zip(values, written, strict=True):
            for tensor in _tensors(value) if write else ():
                storage_of(tensor).version += 1
        self._schema.check_result(result)
        self._check_aliases(values, result)
        return result

    def sizes_by(self, kernel):
        """The rule for sizes of results that the fake kernel, which `kernel` calls, asks for; None
        where there is no fake kernel."""
        return None if self.fake is None else sized_by(kernel)

    def is_whole(self):
        """Whether programs have it as a node: its shapes are known without running its kernels."""
        known = self._custom or self.fake is not None or {"meta", None} & self.kernels.keys()
        return bool(known) and COMPOSITE not in self.kernels

    def _split_call(self, function, values):
        """Keyword-only arguments go by name."""
        arguments = self._schema.arguments
        count = sum(not a.keyword_only for a in arguments)
        names = [a.name for a in arguments[count:]]
        return function(*values[:count], **dict(zip(names, values[count:], strict=True)))

    def _kernel(self, values):
        tensors = [t for v in values for t in _tensors(v)]
        kinds = {t._device.type for t in tensors} or {"cpu"}
        kind = "meta" if "meta" in kinds else next(iter(kinds))
        if kind == "meta" and self.fake is not None:
            return functools.partial(in_context, get_ctx() or NoSizes(), self.fake)
        kernel = self.kernels.get(kind) or self.kernels.get(COMPOSITE)
        if kind != "meta" or not self._custom:
            kernel = kernel or self.kernels.get(None)
        if kernel is not None:
            return kernel
        if kind == "meta":
            if self._custom and self._schema.is_mutable and not self._schema.returns:
                return _nothing
            kind_of_error = RuntimeError if self._custom else NotImplementedError
            raise kind_of_error(
                f"There was no fake impl registered for {self.name()}: tensors on the meta device "
                f"need one. Please use `{self.__name__}.register_fake` to add a fake impl."
            )
        raise NotImplementedError(
            f"Could not run '{self.name()}' with arguments from the '{kind.upper()}' backend: "
            f"kernels are registered for {sorted(map(str, self.kernels)) or 'no device'}; use "
            "rushlight.library.register_kernel or impl"
        )

    def _check_aliases(self, values, result):
        results = [t for t in _tensors(result) if t._device is devices.cpu]
        inputs = [t for v in values for t in _tensors(v) if t._device is devices.cpu]
        seen = list(inputs)
        for out in results:
            if any(out is t or np.may_share_memory(out._array, t._array) for t in seen):
                raise RuntimeError(
                    f"{self.name()}: The output of this custom operator (1) must not also be an "
                    "input to this custom operator and (2) may not alias any inputs to this custom "
                    "operator or other returns. Return a clone() instead."
                )
            seen.append(out)

    def _autocasted(self, values):
        from rushlight.amp.mode import is_autocast_enabled

        for kind, dtype in self.autocast.items():
            if not is_autocast_enabled(kind):
                continue
            return [_cast(v, dtype, kind) for v in values]
        return values


def _is_captured(values):
    """Whether a tensor belongs to a program that is being captured."""
    levels = (getattr(t, "_level", None) for v in values for t in _tensors(v))
    return any(level is not None and level.kind == "capture" and level.alive for level in levels)


def _nothing(*args, **kwargs):
    """What an operator that only writes to its arguments does without data."""


def _detached(value):
    """What a kernel is given: tensors whose elements NumPy may look at."""
    if isinstance(value, Tensor):
        return value.detach() if value._node is not None else value
    return [_detached(v) for v in value] if isinstance(value, list | tuple) else value


def _cast(value, dtype, kind):
    if isinstance(value, list | tuple):
        return type(value)(_cast(v, dtype, kind) for v in value)
    if (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and value._dtype is not dtypes.float64
        and value.device.type == kind
    ):
        return value.to(dtype)
    return value


def _tensors(value):
    """The tensors of a value, or of a flat list of them."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [v for v in value if type(v) in EXACT or isinstance(v, Tensor)]
    return []


class Packet(OpOverloadPacket):
    """All overloads of one name; calling it calls the one that takes the arguments."""

    def __init__(self, namespace, name):
        self.__name__, self.__qualname__, self._namespace = name, name, namespace
        self._qualified_op_name = f"{namespace}::{name}"
        self._overloads: dict[str, Operator] = {}

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self._overloads)

    def __getattr__(self, name):
        overloads = self.__dict__.get("_overloads", {})
        if name in overloads:
            return overloads[name]
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"The underlying op of '{self._namespace}.{self.__name__}' has no overload name "
            f"'{name}'"
        )

    def __call__(self, /, *args, **kwargs):
        """The first overload whose schema takes the arguments."""
        return self.overload_for(args, kwargs)(*args, **kwargs)

    def overload_for(self, args, kwargs):
        """The first overload whose schema takes the arguments."""
        operators = list(self._overloads.values())
        if len(operators) == 1:
            return operators[0]
        for operator in operators:
            try:
                operator._schema.bind(args, dict(kwargs))
            except RuntimeError:
                continue
            return operator
        texts = "; ".join(str(o._schema) for o in operators)
        raise RuntimeError(f"{self}: no overload takes these arguments. Schemas: {texts}")

    def __deepcopy__(self, memo):
        """The object itself, as of a function: copied tables keep their keys."""
        return self

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"


class Namespace:
    """The operators of one namespace, as attributes."""

    def __init__(self, name):
        self._name, self._packets = name, {}

    def __getattr__(self, name):
        packet = self.__dict__.get("_packets", {}).get(name)
        if packet is None:
            raise AttributeError(
                f"'_OpNamespace' '{self.__dict__.get('_name')}' object has no attribute '{name}'"
            )
        return packet

    def __dir__(self):
        return sorted(self._packets)

    def __repr__(self):
        return f"<operators of {self._name}>"


def lookup(name):
    """What ``rushlight.ops.<name>`` is: a namespace of operators, which may be empty so far."""
    if name == "aten" and name not in NAMESPACES:
        from rushlight.library.aten import AtenNamespace

        NAMESPACES[name] = AtenNamespace()
    if name == "higher_order":
        return importlib.import_module("rushlight.fx.experimental.control_flow")
    return NAMESPACES.setdefault(name, Namespace(name))


def namespace(name):
    """The namespace of that name; made if there is none."""
    if name == "aten":
        raise ValueError("the operators of aten are fixed; choose a namespace of your own")
    if name not in NAMESPACES:
        if importlib.util.find_spec("rushlight.ops." + name) is not None:
            raise ValueError(
                f"the namespace {name!r} is taken by a module of rushlight.ops; choose another, "
                f"for example 'my_{name}'"
            )
        NAMESPACES[name] = Namespace(name)
    return NAMESPACES[name]


def add(operator, *, replace=False):
    """Make an operator known under its name."""
    packets = namespace(operator.namespace)._packets
    packet = packets.setdefault(operator.__name__, Packet(operator.namespace, operator.__name__))
    if operator._overloadname in packet._overloads and not replace:
        raise RuntimeError(
            f"Tried to register an operator ({operator._schema}) with the same name and overload "
            "name multiple times. Each overload's schema should only be registered once."
        )
    packet._overloads[operator._overloadname] = operator
    waiting = (operator.namespace, operator.__name__, operator._overloadname)
    for register in _waiting.pop(waiting, ()):
        register(operator)
    return operator


def remove(operator):
    """Forget an operator."""
    packets = NAMESPACES[operator.namespace]._packets
    packet = packets.get(operator.__name__)
    if packet is not None and packet._overloads.get(operator._overloadname) is operator:
        del packet._overloads[operator._overloadname]
        if not packet._overloads:
            del packets[operator.__name__]


def _parts(name):
    """Namespace, name and overload of ``namespace::name`` or ``namespace::name.overload``."""
    space, found, rest = name.partition("::")
    if not found:
        raise ValueError(f"expected a name of the form 'namespace::name', got {name!r}")
    if space == "aten":
        raise NotImplementedError(
            f"nothing can be registered for {name}: the operators of aten are fixed; define an "
            "operator in a namespace of your own"
        )
    base, _, overload = rest.partition(".")
    return space, base, overload or "default"


def _found(space, base, overload):
    packet = NAMESPACES[space]._packets.get(base) if space in NAMESPACES else None
    return None if packet is None else packet._overloads.get(overload)


def find(name) -> Operator:
    """The operator called ``namespace::name`` or ``namespace::name.overload``."""
    operator = _found(*_parts(name))
    if operator is None:
        raise RuntimeError(f"operator {name} does not exist; define it first")
    return operator


_waiting: dict[tuple[str, str, str], list] = {}  # what implementations of later operators wait for


def when_defined(name, register) -> None:
    """Call ``register(operator)`` for the operator of a name: now, or as soon as it is defined."""
    parts = _parts(name)
    operator = _found(*parts)
    if operator is None:
        _waiting.setdefault(parts, []).append(register)
    else:
        register(operator)
