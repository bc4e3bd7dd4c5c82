"""Modules of recorded methods: their types, their children, and the layers that stay calls."""

from __future__ import annotations

from rushlight.jit import hints, module_types, objects, tree
from rushlight.jit.forms.layers import form_of
from rushlight.jit.kinds import BOOL, NONE, TENSOR, UNKNOWN, ClassType
from rushlight.jit.modules import ScriptModule, TopLevelTracedModule, TracedModule
from rushlight.jit.python_names import is_public
from rushlight.jit.tracer.trace_state import ACTIVE
from rushlight.jit.tracer.traced_values import Traced
from rushlight.jit.units import UNIT
from rushlight.nn.containers import Sequential
from rushlight.nn.module import Module
from rushlight.nn.utils.parametrize import is_parametrized
from rushlight.tensor.tensor import Tensor

_AT = (1, 0, 1)


def _is_leaf(module):
    """Whether a module stays a call: one of Rushlight's layers that archives can hold."""
    if isinstance(module, ScriptModule):
        return True
    # what computes a weight, or runs before and after a layer, is part of the program
    if is_parametrized(module) or module._forward_pre_hooks or module._forward_hooks:
        return False
    own = is_public(type(module).forward) and not isinstance(module, Sequential)
    return own and form_of(type(module)) is not None


class PlaceholderModule(Module):
    """What a function is saved as."""


class _Traced:
    """The scope of a traced module's type: its methods are those that were recorded."""

    is_container = False

    def __init__(self, module):
        self.python, self.children = type(module), list(module._modules)
        self.statics: dict = {}
        self.failed: dict = {}

    def method(self, kind, name):
        """A recorded or exported method; None if there is none."""
        return kind.methods.get(name)


def _plain_attributes(module):
    """Attributes that are no parameters, buffers or children, of types that TorchScript has."""
    for name, value in vars(module).items():
        if name not in module_types.OWN and _is_plain(value):
            kind = hints.of_value(value, UNIT)
            if kind != UNKNOWN:
                yield name, value, kind


def _is_plain(value):
    """Whether a value is a tensor, a number, a text, None, or a list, tuple or dict of the latter:
    objects of classes are not compiled for an attribute that nothing asked for."""
    if isinstance(value, list | tuple):
        return all(not isinstance(v, Tensor) and _is_plain(v) for v in value)
    if isinstance(value, dict):
        return _is_plain([*value, *value.values()])
    return value is None or isinstance(value, bool | int | float | str | Tensor)


def _exported(module):
    """The methods that :func:`rushlight.jit.export` marked, by name."""
    found: dict = {}
    for kind in reversed(type(module).__mro__):
        for name, each in vars(kind).items():
            if getattr(each, "_jit_mark", None) == "export":
                found[name] = each
            else:
                found.pop(name, None)  # another in its stead
    return dict(sorted(found.items()))


def _traced_type(module, methods):
    kind = ClassType(UNIT.name(type(module)), "module")
    kind.constants = {
        "__parameters__": [n for n, p in module._parameters.items() if p is not None],
        "__buffers__": [n for n, b in module._buffers.items() if b is not None],
    }
    kind.scope = (_Traced(module), None, None)
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        kind.attributes[name] = NONE if value is None else TENSOR
    kind.attributes["training"] = BOOL
    kind.attributes.update({name: found for name, _, found in _plain_attributes(module)})
    base = TopLevelTracedModule if methods else TracedModule
    kind.python = objects.python_class(
        kind, list(dict.fromkeys([*methods, *_exported(module)])), base
    )
    return kind


def _copied(module, methods, memo=None):
    """A module of recorded methods over the parameters and buffers of another."""
    memo = {} if memo is None else memo
    if id(module) in memo:
        return memo[id(module)]
    if not methods and _is_leaf(module):
        made = memo[id(module)] = module_types.compiled(module, UNIT)
        return made
    kind = _traced_type(module, methods)
    made = memo[id(module)] = kind.python.__new__(kind.python)
    Module.__init__(made)
    made.train(module.training)
    made._parameters, made._buffers = dict(module._parameters), dict(module._buffers)
    for name, child in module._modules.items():
        made._modules[name] = None if child is None else _copied(child, [], memo)
        kind.attributes[name] = NONE if child is None else type(made._modules[name])._script_type
    for name, value, _ in _plain_attributes(module):
        made.__dict__[name] = value.copy() if isinstance(value, list | dict) else value
    for name, function in _exported(module).items():
        if name not in methods:
            kind.methods[name] = UNIT.compiled(function, f"{kind}.{name}", kind)
    return made


def function_module(function):
    """A module whose ``forward`` is a compiled function."""
    made = _copied(PlaceholderModule(), ["forward"])
    kind, of = type(made)._script_type, function.function
    params = [tree.Param("self", kind), *of.params]
    name = f"{kind}.forward"
    kind.methods["forward"] = tree.Function(name, params, of.returns, of.body, of.source)
    return made


def _paths(module, expr, kind, known=None):
    """Expressions of all parameters, buffers and children by their ids."""
    known = {} if known is None else known
    known.setdefault(id(module), expr)
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        if value is not None:
            known.setdefault(id(value), tree.Get(expr, name, type=TENSOR, at=_AT))
    for name, child in module._modules.items():
        inner = kind.attributes[name]
        if child is not None and id(child) not in known:
            _paths(child, tree.Get(expr, name, type=inner, at=_AT), inner, known)
    return known


class _leaves:  # noqa: N801 - reads as a word
    """Inside, calls of a module's layers that stay calls are recorded as such."""

    def __init__(self, module, kind):
        self.changed = []
        for name, child in module.named_modules():
            if name and _is_leaf(child):
                self.changed.append((child, _type_at(kind, name)))

    def __enter__(self):
        for child, kind in self.changed:
            function = kind.scope[0].method(kind, "forward")
            if function is not None:
                child.__dict__["forward"] = _recording(child, function)

    def __exit__(self, *exc):
        for child, _ in self.changed:
            child.__dict__.pop("forward", None)


def _type_at(kind, path):
    for name in path.split("."):
        kind = kind.attributes[name]
    return kind


def _recording(module, function):
    names = [p.name for p in function.params[1:]]

    def forward(*args, **kwargs):
        if not ACTIVE or not any(isinstance(v, Traced) for v in (*args, *kwargs.values())):
            return type(module).forward(module, *args, **kwargs)
        values = list(args)
        for param, name in zip(function.params[1 + len(args) :], names[len(args) :], strict=True):
            values.append(kwargs.get(name, param.default))
        return ACTIVE[-1].compiled(function, module, values)

    return forward
