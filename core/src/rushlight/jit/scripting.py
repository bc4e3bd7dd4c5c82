"""``script``: functions, modules and classes of Python, compiled."""

from __future__ import annotations

import functools
import inspect

from rushlight.jit import module_types
from rushlight.jit._state import _enabled
from rushlight.jit.callables import ScriptFunction
from rushlight.jit.dataclass_methods import is_written
from rushlight.jit.modules import ScriptModule
from rushlight.jit.shared_containers import ScriptDict, ScriptList
from rushlight.jit.units import UNIT
from rushlight.nn.module import Module


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Compile a function, a module or a class; make a list or dict one that compiled functions
    change where it is.

    A function becomes a :class:`ScriptFunction`, a module a :class:`ScriptModule` over the same
    parameters and buffers: its ``forward``, what that calls, and methods marked with
    :func:`export` are compiled. A class is compiled where it is used. With ``PYTORCH_JIT=0`` in the
    environment everything is returned as it is. Of a list or dict, whose values must be of one
    type, it gives a copy that checks what is added. A program that is not TorchScript is a
    RuntimeError that shows the line.

    >>> @rushlight.jit.script
    ... def scaled(x, times: int = 2):
    ...     return x * times
    >>> scaled(rushlight.ones(2), 3)
    tensor([3., 3.])
    """
    if not _enabled:
        return obj
    if isinstance(obj, ScriptModule | ScriptFunction):
        return obj
    if isinstance(obj, Module):
        return _module(obj)
    if inspect.isclass(obj):
        return _class(obj)
    if inspect.isfunction(obj) or inspect.ismethod(obj):
        function = ScriptFunction(UNIT.function(inspect.unwrap(obj)), obj.__doc__)
        return functools.update_wrapper(function, obj, updated=())
    if isinstance(obj, ScriptList | ScriptDict):
        return obj
    if isinstance(obj, list | dict):
        return ScriptList(obj) if isinstance(obj, list) else ScriptDict(obj)
    raise TypeError(
        f"jit.script: expected a function, a module or a class, got {type(obj).__name__}"
    )


def _module(module):
    made = module_types.compiled(module, UNIT)
    for part in made.modules():
        kind = type(part)._script_type
        scope = kind.scope[0]
        for name in _entries(scope, part is made):
            scope.method(kind, name)
    return made


def _entries(scope, outermost):
    """The methods that are compiled although nothing has called them yet."""
    python = getattr(scope, "python", None)
    if python is None:
        return
    forward = inspect.getattr_static(python, "forward", None)
    default = forward is inspect.getattr_static(Module, "forward")
    if outermost and not default and getattr(forward, "_jit_mark", None) is None:
        yield "forward"
    for name in dir(python):
        found = inspect.getattr_static(python, name)
        if getattr(found, "_jit_mark", None) == "export":
            yield name


def _class(obj):
    if issubclass(obj, Module):
        raise RuntimeError(
            f"Type '{obj.__name__}' cannot be compiled since it inherits from nn.Module, consider "
            "passing an instance instead"
        )
    UNIT.marked[obj] = "class"
    kind = UNIT.class_type(obj)
    if kind is None:
        raise RuntimeError(
            f"jit.script: the class '{obj.__name__}' cannot be compiled: TorchScript has classes "
            "of one's own, enums and named tuples"
        )
    if kind.kind == "class":
        for name, found in vars(obj).items():
            if not inspect.isfunction(found) or getattr(found, "_jit_mark", None) is not None:
                continue
            if name == "__init__" or not is_written(obj, name):  # the rest where it is used
                UNIT.method(kind, name)
    return obj


def interface(obj):
    """Mark a class whose methods say what objects of other classes can do: an attribute annotated
    with it may hold any module that has those methods.

    >>> @rushlight.jit.interface
    ... class Scorer:
    ...     def score(self, x: rushlight.Tensor) -> rushlight.Tensor:
    ...         pass
    """
    if not inspect.isclass(obj):
        raise RuntimeError(f"interface must be applied to a class, got {type(obj).__name__}")
    UNIT.marked[obj] = "interface"
    return obj


def script_if_tracing(fn):
    """A function that is compiled when it is first called in a trace, and called as it is
    otherwise."""
    compiled: list = []

    @functools.wraps(fn)
    def call(*args, **kwargs):
        from rushlight.jit.tracer.trace_state import is_tracing

        if not is_tracing():
            return fn(*args, **kwargs)
        if not compiled:
            compiled.append(script(fn))
        return compiled[0](*args, **kwargs)

    call._jit_unwrapped = True
    return call
