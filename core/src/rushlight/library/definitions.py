"""Defining operators from Python: `custom_op`, `Library`, and the functions that register parts."""

from __future__ import annotations

import functools
import warnings

from rushlight.devices import device
from rushlight.library import operators
from rushlight.library.operators import COMPOSITE, Operator
from rushlight.library.schema import infer_schema, parse
from rushlight.library.tags import Tag
from rushlight.refusals import refusal

_DEVICES = "cpu cuda fpga hip hpu ipu maia mps mtia ve xla xpu".split()
_KEYS = {
    "": COMPOSITE,
    "CompositeImplicitAutograd": COMPOSITE,
    "CompositeExplicitAutograd": None,
    "default": COMPOSITE,
    # Kernels of devices that are not here are kept, and never called.
    **dict(zip(_DEVICES, _DEVICES, strict=True)),
    **dict(zip(map(str.upper, _DEVICES), _DEVICES, strict=True)),
    "Lazy": "lazy",
    "lazy": "lazy",
    "PrivateUse1": "privateuseone",
    "privateuseone": "privateuseone",
    "Vulkan": "vulkan",
    "vulkan": "vulkan",
}


class CustomOpDef:
    """An operator made by :func:`custom_op`: call it, and register its parts by its methods."""

    def __init__(self, namespace, name, schema, function):
        self._namespace, self._name, self._schema = namespace, name, schema
        self._qualname, self._init_fn = f"{namespace}::{name}", function
        self._opoverload = operators.add(Operator(schema, custom=True), replace=True)
        self.__name__, self.__doc__ = name, getattr(function, "__doc__", None)
        self.__wrapped__ = function
        self._disabled = {}

    def __call__(self, /, *args, **kwargs):
        """Run the operator."""
        return self._opoverload(*args, **kwargs)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, fn=None, /):
        """The implementation for some devices (None or "default": for those without one); also a
        decorator."""

        def register(function):
            for kind in _device_types(device_types):
                self._opoverload.kernels[kind] = function
            return function

        return register if fn is None else register(fn)

    def set_kernel_enabled(self, device_type, enabled=True):
        """Within ``with``, or from now on: whether the kernel of a device is used instead of the
        function the operator was made from."""
        return _Switch(self, device_type, enabled)

    def register_fake(self, fn, /):
        """The shapes and dtypes of the results, for tensors on the meta device."""
        self._opoverload.fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """``backward(ctx, *grads)`` gives one gradient for each argument; ``setup_context(ctx,
        inputs, output)`` saves for it what it needs."""
        _set_autograd(self._opoverload, backward, setup_context, repr(self))

    def register_vmap(self, func=None, /):
        """``func(info, in_dims, *args)`` gives ``(results, out_dims)``; also a decorator."""

        def register(function):
            self._opoverload.vmap = function
            return function

        return register if func is None else register(func)

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """There is no dispatch below autograd to take part in."""
        raise refusal("library.CustomOpDef.register_torch_dispatch")

    def register_effect(self, effect):
        """Calls run in the order of the program: there is nothing to say about it."""
        raise refusal("library.CustomOpDef.register_effect")

    def register_autocast(self, device_type, cast_inputs):
        """Inside of `autocast` for this device, floating-point arguments become `cast_inputs`."""
        register_autocast(self, device_type, cast_inputs)


class _Switch:
    def __init__(self, definition, kind, enabled):
        self.kernels, self.kind, self.definition = (
            definition._opoverload.kernels,
            kind,
            definition,
        )
        self.before = self.kernels.get(kind)
        stored = definition._disabled
        if enabled and kind in stored:
            self.kernels[kind] = stored.pop(kind)
        elif not enabled and kind in self.kernels:
            stored[kind] = self.kernels.pop(kind)
            self.kernels.setdefault(None, definition._init_fn)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.before is None:
            self.kernels.pop(self.kind, None)
        else:
            self.kernels[self.kind] = self.before
            self.definition._disabled.pop(self.kind, None)


def _device_types(device_types):
    if device_types is None:
        return (None,)
    kinds = (device_types,) if isinstance(device_types, str) else tuple(device_types)
    return tuple(None if kind == "default" else device(kind).type for kind in kinds)


def _set_autograd(operator, backward, setup_context, shown):
    if operator._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown} with schema "
            f"{operator._schema}. Please create a functional operator and register an autograd "
            "formula for that."
        )
    operator.backward, operator.setup_context, operator._function = backward, setup_context, None


def custom_op(
    name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None
) -> CustomOpDef:
    """Make an operator of a Python function of tensors; as a decorator or with `fn`.

    `name` is ``"namespace::name"``; `mutates_args` names the arguments written to (``"unknown"``:
    any). The schema is read from the annotations unless given. The function may do anything, use
    NumPy, Numba, SciPy or a C library: nothing in it is recorded. Register a gradient with
    :func:`register_autograd`. `tags` is a :class:`~rushlight.Tag` or several: the overload's
    ``tags`` are these and ``Tag.pt2_compliant_tag``.

    >>> from rushlight.library import custom_op
    >>> @custom_op("docs::double", mutates_args=())
    ... def double(x: rushlight.Tensor) -> rushlight.Tensor:
    ...     return rushlight.from_numpy(x.numpy() * 2)
    >>> double.register_autograd(lambda ctx, grad: double(grad))
    >>> rushlight.ops.docs.double(rushlight.ones(2))
    tensor([2., 2.])
    """

    def define_it(function):
        space, found, base = name.partition("::")
        if not found or not space.isidentifier() or not base.isidentifier():
            raise ValueError(f"custom_op: expected a name 'namespace::name', got {name!r}")
        text = schema
        if text is None:
            text = infer_schema(function, mutates_args=mutates_args)
        found = parse(f"{name}{text}")
        if any(a.keyword_only and a.type == "Tensor" for a in found.arguments):
            raise NotImplementedError(
                f"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. "
                f"Got: {found}"
            )
        if schema is not None and mutates_args != "unknown":
            written = {a.name for a in found.arguments if a.is_write}
            if written != set(mutates_args):
                raise ValueError(
                    f"Attempted to create a custom op with `mutates_args={mutates_args}` and "
                    f"`schema={schema}`. The schema suggests that the op mutates {written} "
                    "which is different from what was provided to us in `mutates_args`."
                )
        made = CustomOpDef(space, base, found, function)
        made._opoverload.tags = [*dict.fromkeys((*_tags(tags), Tag.pt2_compliant_tag))]
        for kind in _device_types(device_types):
            made._opoverload.kernels[kind] = function
        return made

    return define_it if fn is None else define_it(fn)  # type: ignore[return-value]


def _once_defined(op, register) -> None:
    """Call ``register(operator)`` for what is meant; a name may be that of a later operator."""
    if isinstance(op, str):
        operators.when_defined(op, register)
    else:
        register(_operator(op))


def _operator(op) -> Operator:
    """The operator meant by a name, an operator, or what `custom_op` made."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, operators.Packet):
        return next(iter(op._overloads.values()))
    if isinstance(op, Operator):
        return op
    if isinstance(op, str):
        return operators.find(op)
    raise ValueError(f"expected an operator or its name, got {type(op).__name__}")


def register_autograd(op, backward, /, *, setup_context=None, lib=None) -> None:
    """Register the gradient of an operator: see :meth:`CustomOpDef.register_autograd`."""
    operator = _operator(op)
    _set_autograd(operator, backward, setup_context, str(operator))


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """Register the shapes and dtypes of the results, for tensors on the meta device."""
    operator = _operator(op)

    def register(function):
        if operator.fake is not None and not allow_override:
            raise RuntimeError(f"register_fake(...): {operator.name()} already has a fake impl")
        operator.fake = function
        return function

    return register if func is None else register(func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Register the implementation for some devices (None or "default": for those without one). An
    operator that is named may be defined later."""

    def register(function):
        kernels = dict.fromkeys(_device_types(device_types), function)
        _once_defined(op, lambda operator: operator.kernels.update(kernels))
        return function

    return register if func is None else register(func)


def register_vmap(op, func=None, /, *, lib=None):
    """Register the batching rule: ``func(info, in_dims, *args)`` gives ``(results, out_dims)``."""
    operator = _operator(op)

    def register(function):
        operator.vmap = function
        return function

    return register if func is None else register(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Register the dtype that `autocast` for this device gives floating-point arguments."""
    _operator(op).autocast[device(device_type).type] = cast_inputs


class Library:
    """Operators of a namespace, defined by schema and implemented key by key.

    `kind` is ``"DEF"`` (the namespace is made here), ``"FRAGMENT"`` (definitions added to it) or
    ``"IMPL"`` (implementations only). Its operators are forgotten with :meth:`_destroy`.
    """

    _owned: set[str] = {"aten"}

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported library kind: {kind}")
        if ns in ("prim", "prims"):
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if kind == "DEF":
            if ns in self._owned:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; "
                    "please put all of your definitions in a single Library, or use kind "
                    "'FRAGMENT'"
                )
            self._owned.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined = []

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()) -> str:
        """Define an operator by its schema; returns its name."""
        if self.kind == "IMPL":
            raise RuntimeError("define() needs a Library of kind 'DEF' or 'FRAGMENT'")
        found = parse(schema, self.ns)
        if not found.name.startswith(self.ns + "::"):
            raise RuntimeError(
                f"define: the schema's namespace is that of {found.name}; expected the library's, "
                f"{self.ns}"
            )
        operator = operators.add(Operator(found))
        operator.tags = _tags(tags)
        self._defined.append(operator)
        return found.name if schema.lstrip().startswith(found.name) else operator.__name__

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True) -> None:
        """Implement an operator for a dispatch key: ``"CPU"``, ``"Meta"``, ``"Autograd"``,
        ``"CompositeImplicitAutograd"`` or ``"CompositeExplicitAutograd"``. An operator that is
        named may be defined later."""
        if not callable(fn):
            raise TypeError(
                f"impl: Input function is required to be a callable but found type {type(fn)}"
            )
        if isinstance(op_name, str) and "::" not in op_name:
            op_name = f"{self.ns}::{op_name}"
        key = _checked_key(dispatch_key or self.dispatch_key)
        _once_defined(op_name, lambda operator: _implement(operator, key, fn))

    def fallback(self, fn, dispatch_key="", *, with_keyset=False) -> None:
        """There is no dispatcher that would call `fn` for every operator."""
        raise refusal("library.Library.fallback")

    def _destroy(self):
        """Forget what this library defined."""
        for operator in self._defined:
            operators.remove(operator)
        self._defined.clear()
        self._owned.discard(self.ns)


def _implement(operator, key, function):
    if key in ("Meta", "meta"):
        operator.fake = function
    elif key.startswith("Autograd"):
        operator.overrides = function
    else:
        operator.kernels[_KEYS[key]] = function


def _checked_key(key):
    """The key; NotImplementedError for one that nothing is registered for."""
    if key in ("Meta", "meta") or key.startswith("Autograd") or key in _KEYS:
        return key
    raise NotImplementedError(
        f"impl: the dispatch key {key!r} is not available; use one of "
        f"{sorted(k for k in _KEYS if k)}, 'Meta' or 'Autograd'"
    )


def define(qualname, schema=None, *, lib=None, tags=()):
    """Define the operator ``namespace::name`` with a schema without its name."""
    if isinstance(qualname, Library):  # the older form: a decorator
        library, text, key = qualname, schema, lib or ""

        def decorate(function):
            library.impl(library.define(text), function, key)
            return function

        return decorate
    if not isinstance(qualname, str) or "::" not in qualname:
        raise ValueError(f"define: expected a name 'namespace::name', got {qualname!r}")
    if not isinstance(schema, str) or not schema.lstrip().startswith("("):
        raise ValueError(
            f'define: expected schema to look like "(Tensor x) -> Tensor" but got {schema!r}'
        )
    operators.add(Operator(parse(qualname + schema))).tags = _tags(tags)
    return None


def impl(qualname, types, func=None, *, lib=None):
    """Implement an operator for device types (``"cpu"``) or dispatch keys; also a decorator. The
    operator may be defined later."""
    if isinstance(qualname, Library):  # the older form: a decorator
        library, name, key = qualname, types, func or ""

        def decorate(function):
            library.impl(name, function, key)
            return function

        return decorate
    keys = [_checked_key(key) for key in ((types,) if isinstance(types, str) else types)]

    def register(function):
        for key in keys:
            _once_defined(qualname, functools.partial(_implement, key=key, function=function))
        return function

    if func is None:
        return register
    register(func)
    return None


def _tags(tags):
    """The tags of an operator, of which one may stand alone."""
    return [tags] if isinstance(tags, Tag) else list(tags or ())


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """The former name of :func:`register_fake`."""
    warnings.warn(
        "`rushlight.library.impl_abstract` was renamed to `rushlight.library.register_fake`. "
        "Please use that instead.",
        FutureWarning,
        stacklevel=2,
    )
    return register_fake(qualname, func, lib=lib)


def triton_op(name, fn=None, /, *, mutates_args, schema=None) -> CustomOpDef:
    """Make an operator as :func:`custom_op` does, whose shapes follow from the function itself: it
    is called on tensors of the meta device, too. As a decorator or with `fn`.

    Kernels of Triton take PyTorch's tensors, so the function calls Rushlight's operations, or
    kernels by Numba or CuPy.

    >>> @rushlight.library.triton_op("docs::sine", mutates_args=())
    ... def sine(x: rushlight.Tensor) -> rushlight.Tensor:
    ...     return x.sin() * 2
    >>> sine(rushlight.zeros(2)), sine(rushlight.empty(3, device="meta")).shape
    (tensor([0., 0.]), rushlight.Size([3]))
    """

    def define_it(function):
        made = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        made.register_fake(function)
        return made

    return define_it if fn is None else define_it(fn)  # type: ignore[return-value]
