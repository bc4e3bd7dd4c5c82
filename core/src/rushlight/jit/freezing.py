"""``freeze``: modules whose parameters and attributes are fixed."""

from __future__ import annotations

from rushlight.jit import objects
from rushlight.jit.kinds import ClassType
from rushlight.jit.module_types import python_class
from rushlight.jit.modules import ScriptModule
from rushlight.jit.units import UNIT
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor


def freeze(mod, preserved_attrs=None, optimize_numerics=True, preserve_parameters=False):
    """A copy of a compiled module in evaluation mode without parameters and buffers: their values
    are constants, so that nothing trains or loads over them, and gradients go to the inputs alone.

    `preserved_attrs`: names of attributes and methods that are kept; everything is here.
    `preserve_parameters`: keep parameters and buffers as they are.

    >>> frozen = rushlight.jit.freeze(rushlight.jit.script(rushlight.nn.Linear(2, 2)).eval())
    >>> list(frozen.parameters())
    []
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or "
            "torch.jit.trace to script your 'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing module in training mode is not yet supported: call eval() first"
        )
    for name in preserved_attrs or ():
        if not hasattr(mod, name):
            raise RuntimeError(f"Unknown name: {name}")
    return _frozen(mod, {}, preserve_parameters)


def optimize_for_inference(mod, other_methods=None):
    """:func:`freeze`, for modules that only evaluate: compiled code already runs Rushlight's fused
    operations, and nothing else is changed."""
    return mod if _is_frozen(mod) else freeze(mod.eval(), other_methods)


def _is_frozen(mod):
    return not (mod.training or any(True for _ in mod.parameters()))


def _frozen(mod, memo, keep):
    if id(mod) in memo:
        return memo[id(mod)]
    kind = _fixed_type(type(mod)._script_type, keep)
    made = memo[id(mod)] = kind.python.__new__(kind.python)
    Module.__init__(made)
    for name, value in mod.__dict__.items():
        if name not in ("_parameters", "_buffers", "_modules"):
            made.__dict__[name] = value
    for name, value in (*mod._parameters.items(), *mod._buffers.items()):
        if keep:
            part = made._parameters if name in mod._parameters else made._buffers
            part[name] = value
        else:
            fixed = value.detach().clone() if isinstance(value, Tensor) else value
            made.__dict__[name] = fixed
    for name, child in mod._modules.items():
        made._modules[name] = None if child is None else _frozen(child, memo, keep)
        if child is not None:
            kind.attributes[name] = type(made._modules[name])._script_type
    return made


def _fixed_type(known, keep):
    """The type of a frozen module: the same code over other attributes."""
    name = getattr(known.scope[0], "python", None)
    text = UNIT.name(name) if isinstance(name, type) else f"{known.text}_frozen{len(UNIT.names)}"
    kind = ClassType(text, "module")
    kind.attributes, kind.constants = dict(known.attributes), dict(known.constants)
    own = all(function.body is not None for function in known.methods.values())
    kind.methods, kind.scope = known.methods if own else {}, known.scope
    if not keep:
        kind.constants |= {"__parameters__": [], "__buffers__": []}
    if isinstance(name, type):
        kind.python = python_class(kind, known.scope[0])
        for method in list(known.methods) if not own else ():
            known.scope[0].method(kind, method)
    else:
        methods = known.scope[0].methods_of(known.scope[1]) if known.scope[1] else known.methods
        kind.python = objects.python_class(kind, list(methods))
    return kind
