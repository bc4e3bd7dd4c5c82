"""Types of Python modules: which attributes they have and of which types, what is constant, what
stays in Python. Modules of one class with equal attributes share a type and its compiled code."""

from __future__ import annotations

import inspect
import types
import typing

from rushlight.jit import hints, kinds, objects, tree
from rushlight.jit.forms import packed
from rushlight.jit.kinds import BOOL, NONE, TENSOR, UNKNOWN, ClassType
from rushlight.jit.module_names import PACKED
from rushlight.jit.python_names import is_public
from rushlight.jit.source import CompileError, NotSupportedError, Source
from rushlight.nn import containers, parameter
from rushlight.nn.module import Module
from rushlight.tensor.homes import home_of
from rushlight.tensor.tensor import Tensor

_LOOPED = (containers.ModuleList, containers.Sequential, containers.ModuleDict)
_SCALARS = (bool, int, float, str, type(None))
OWN = frozenset(Module().__dict__) | {"_is_full_backward_hook"}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class ModuleScope:
    """What belongs to the type of modules beside its attributes."""

    def __init__(self, unit, module):
        self.unit, self.python, self.sample = unit, type(module), module
        self.statics: dict = {}  # functions and other objects that are known
        self.failed: dict = {}  # attribute -> why it has no type
        self.children = list(module._modules)
        self.is_container = isinstance(module, _LOOPED)

    def method(self, kind, name):
        """A method, compiled; None if there is none."""
        if name not in kind.methods:
            if name == PACKED:
                form = self._packed_form()
                kind.methods[name] = self.unit.compiled(form, f"{kind}.{name}", kind)
                return kind.methods[name]
            python = inspect.getattr_static(self.python, name, None)
            if isinstance(python, staticmethod):
                return self.unit.function(python.__func__)
            if not inspect.isfunction(python):
                return None
            if is_public(python):
                found = layer_function(kind, name, python)
            else:
                full = f"{kind}.{name}"
                found = self.unit.compiled(python, full, kind)
            kind.methods[name] = found
        return kind.methods[name]

    def takes_packed(self):
        """Whether it is a recurrent layer, with a method for packed sequences."""
        return is_public(self.python.forward) and self._packed_form() is not None

    def _packed_form(self):
        found = (packed.LAYERS[part] for part in self.python.__mro__ if part in packed.LAYERS)
        return next(found, None)


def layer_function(kind, name, python):
    """A method of one of Rushlight's own layers: it runs as it is."""
    from rushlight.jit.layer_types import returned

    params = [tree.Param("self", kind)]
    for param in list(inspect.signature(python).parameters.values())[1:]:
        has = param.default is not param.empty
        known = TENSOR if not has else UNKNOWN
        params.append(tree.Param(param.name, known, param.default if has else None, has))
    source = Source("", "<rushlight>", 1, name)
    made = tree.Function(f"{kind}.{name}", params, returned(kind, name), None, source)
    made._code = python
    return made


# ---------------------------------------------------------------------------------------- types
def module_type(module, unit) -> ClassType:
    """The type of a module; its children's types are found first."""
    _refuse_uninitialized(module)
    _refuse_hooks(module)
    scope = ModuleScope(unit, module)
    kind = ClassType("", "module")
    kind.constants = {
        "__parameters__": [n for n, p in module._parameters.items() if p is not None],
        "__buffers__": [n for n, b in module._buffers.items() if b is not None],
    }
    kind.constants["__weights__"] = kind.constants["__parameters__"]  # of frozen modules too
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        kind.attributes[name] = TENSOR if value is not None else NONE
    kind.attributes["training"] = BOOL
    for name, child in module._modules.items():
        if child is None:
            kind.attributes[name] = NONE
        else:
            kind.attributes[name] = _child_type(child, unit)
    _declared(module, scope, kind, unit)
    return _shared(module, scope, kind, unit)


def _refuse_uninitialized(module):
    weights = (module._parameters | module._buffers).items()
    missing = [name for name, weight in weights if parameter.is_lazy(weight)]
    if missing:
        raise RuntimeError(
            f"'{type(module).__name__}' has uninitialized parameters {', '.join(missing)}: run it "
            "once before it is compiled"
        )


def _child_type(child, unit):
    own = getattr(type(child), "_script_type", None)
    return own if own is not None else module_type(child, unit)


def _declared(module, scope, kind, unit):
    """Attributes that are neither tensors nor modules."""
    declared = _hints(type(module))
    constants = set(getattr(type(module), "__constants__", ()))
    constants |= {n for n, h in declared.items() if _is_final(h)}
    if is_public(type(module).forward):
        constants |= set(module.__dict__)
    for name, hint in declared.items():
        child = kind.attributes.get(name)
        if isinstance(child, ClassType):
            found = _type_or_none(hint, unit)
            if isinstance(found, ClassType) and found.kind == "interface":
                _checked_interface(child, found)
                kind.attributes[name] = found
        elif name in kind.attributes and not _is_final(hint):
            found = _type_or_none(hint, unit)
            if found is not None and kinds.fits(kind.attributes[name], found):
                kind.attributes[name] = found
    for name, value in module.__dict__.items():
        if name in OWN or name in kind.attributes:
            continue
        if name in constants and _is_constant(value):
            kind.constants[name] = value
        else:
            _attribute(scope, kind, name, value, declared.get(name), unit)
    for name in constants - set(module.__dict__):
        if hasattr(type(module), name) and _is_constant(getattr(type(module), name)):
            kind.constants[name] = getattr(type(module), name)


def _checked_interface(child, wanted):
    for name in wanted.methods:
        if child.scope[0].method(child, name) is None:
            raise CompileError(f"module {child} has no method '{name}' of the interface {wanted}")


def _attribute(scope, kind, name, value, hint, unit):
    """One attribute: as annotated, else as its value is."""
    if hint is not None and not _is_final(hint):
        try:
            kind.attributes[name] = hints.type_of(hint, unit)
        except hints.Unreadable as error:
            scope.failed[name] = str(error)
        return
    from rushlight.jit.marks import Attribute

    if isinstance(value, Attribute):
        kind.attributes[name] = hints.type_of(value.type, unit)
        return
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | type) or hasattr(
        value, "function"
    ):
        scope.statics[name] = value
        return
    found = hints.of_value(value, unit)
    if found == UNKNOWN:
        scope.failed[name] = (
            "This attribute exists on the Python module, but we failed to convert Python type: "
            f"'{type(value).__name__}' to a TorchScript type."
            + (" Empty containers need an annotation in the class." if value in ([], {}) else "")
        )
        return
    kind.attributes[name] = found


def _shared(module, scope, kind, unit):
    """The type, or the one that an equal module has already."""
    own = {n: t for n, t in kind.attributes.items()}
    key = (
        type(module),
        tuple((n, id(t) if isinstance(t, ClassType) else str(t)) for n, t in own.items()),
        repr(sorted(kind.constants.items(), key=lambda item: item[0])),
        tuple((n, id(v)) for n, v in scope.statics.items()),
        _settings(module),
    )
    known = unit.names.setdefault("module types", {})
    if key not in known:
        text = unit.name(type(module))
        found = ClassType(text, "module")
        found.attributes, found.constants = own, kind.constants
        found.scope = (scope, None, None)
        found.python = python_class(found, scope)
        known[key] = found
    return known[key]


def _settings(module):
    """What else decides how a layer of Rushlight is written: its plain attributes."""
    if not is_public(type(module).forward):
        return ()
    return tuple((n, repr(v)) for n, v in module.__dict__.items()
                 if n not in OWN and isinstance(v, (*_SCALARS, tuple)))  # fmt: skip


def python_class(kind, scope):
    """The class of compiled modules of a type."""
    methods = [
        name for name in dir(scope.python)
        if not name.startswith("__") and _compilable(scope.python, name)
    ]  # fmt: skip
    made = objects.python_class(kind, methods)
    if is_public(scope.python.forward):
        space = {"_script_type": kind, "original_name": scope.python.__name__,
                 "__module__": "rushlight.jit"}  # fmt: skip
        space["_run_forward"] = objects.CodeOf(kind, "forward")
        return type("RecursiveScriptModule", (made.__bases__[0], scope.python), space)
    for name, value in vars(scope.python).items():
        if getattr(value, "_jit_mark", None) == "ignored" or isinstance(value, staticmethod):
            setattr(made, name, value)
    return made


def _compilable(python, name):
    if hasattr(Module, name) and name != "forward":
        return False
    found = inspect.getattr_static(python, name)
    return inspect.isfunction(found) and getattr(found, "_jit_mark", None) not in (
        "ignored", "unused",
    )  # fmt: skip


def _is_constant(value):
    if isinstance(value, list | tuple):
        return all(_is_constant(v) for v in value)
    return isinstance(value, _SCALARS) or kinds.of_value(value) in (kinds.DEVICE, kinds.INT)


def _is_final(hint):
    return hint is typing.Final or typing.get_origin(hint) is typing.Final


def _type_or_none(hint, unit):
    try:
        return hints.type_of(hint, unit)
    except hints.Unreadable:
        return None


def _hints(python):
    found: dict = {}
    for part in reversed(python.__mro__):
        if home_of(part).startswith("rushlight.") or part is object:
            continue
        try:
            found.update(inspect.get_annotations(part, eval_str=True))
        except (NameError, TypeError):
            found.update(inspect.get_annotations(part))
    found.pop("training", None)
    return found


def _refuse_hooks(module):
    if any(module.__dict__.get(name) for name in _HOOKS):
        raise NotSupportedError(
            f"the hooks of {type(module).__name__} cannot be compiled: remove them before "
            "jit.script, and add hooks to the compiled module"
        )


# -------------------------------------------------------------------------------------- modules
def compiled(module, unit, memo=None):
    """A compiled copy of a module, over the same parameters and buffers."""
    memo = {} if memo is None else memo
    if id(module) in memo:
        return memo[id(module)]
    if isinstance(module, objects.script_modules()):
        return module
    kind = module_type(module, unit)
    made = kind.python.__new__(kind.python)
    memo[id(module)] = made
    state = dict(module.__dict__)
    state["_parameters"], state["_buffers"] = dict(module._parameters), dict(module._buffers)
    state["_modules"] = {
        name: None if child is None else compiled(child, unit, memo)
        for name, child in module._modules.items()
    }
    for name, value in state.items():
        if name in kind.attributes and isinstance(value, list | dict):
            state[name] = value.copy()
        elif type(value).__name__ == "Attribute":
            state[name] = value.value
    made.__dict__.update(state)
    return made


__all__ = ["ModuleScope", "Tensor", "compiled", "module_type"]
