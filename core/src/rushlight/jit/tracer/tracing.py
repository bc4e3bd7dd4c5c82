"""``trace``: programs from the calls that a function or a module makes on example inputs."""

from __future__ import annotations

import functools
import inspect

from rushlight.jit import kinds, tensors, tree
from rushlight.jit._state import _enabled
from rushlight.jit.callables import ScriptFunction
from rushlight.jit.kinds import INT, TENSOR
from rushlight.jit.modules import ScriptModule
from rushlight.jit.scripting import script
from rushlight.jit.source import Source
from rushlight.jit.tracer import written_buffers
from rushlight.jit.tracer.checking import check
from rushlight.jit.tracer.creations import recorded_creations
from rushlight.jit.tracer.recorder import OutsideWriteError, Recorder
from rushlight.jit.tracer.results import check_result
from rushlight.jit.tracer.trace_state import ACTIVE
from rushlight.jit.tracer.traced_modules import _copied, _is_leaf, _leaves, _paths
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor

_AT = (1, 0, 1)


def size_of(value, dim):
    """``value.size(dim)`` as an expression."""
    args = [value._recorded, tree.Const(dim, type=INT, at=_AT)]
    return tree.Call(tensors.Aten("size"), args, {}, type=INT, at=_AT)


def detached(value, inner):
    """``value.detach()``, recorded; `inner` is its result."""
    target = tensors.OnTensor("detach")
    made = tree.Call(target, [value._recorded], {}, type=TENSOR, at=_AT)
    return ACTIVE[-1].keep(made, inner)


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
    _store_inputs=True,
):
    """A program of the calls that a function or a module makes on example inputs.

    Control flow of Python is followed once and is not part of it; a value of a tensor that Python
    looks at gives a :class:`TracerWarning` and becomes a constant, as does a tensor that is made
    without any traced argument. Sizes of traced tensors stay sizes. Layers of Rushlight and
    compiled functions stay calls. With `check_trace` the function is traced once more, with each of
    `check_inputs` (a list of tuples; default: the example inputs), and run: another program raises
    :class:`TracingCheckError`, results that differ by more than `check_tolerance` give a warning.
    Returns a :class:`ScriptModule` or :class:`ScriptFunction`.

    >>> traced = rushlight.jit.trace(lambda x: x.relu() * 2, rushlight.ones(2))
    >>> traced(rushlight.ones(3))
    tensor([2., 2., 2.])
    """
    if not _enabled:
        return func
    inputs = _inputs(example_inputs, example_kwarg_inputs, func)
    if isinstance(func, ScriptModule | ScriptFunction):
        return func
    if isinstance(func, Module):
        return trace_module(
            func, {"forward": inputs}, None, check_trace, check_inputs, check_tolerance, strict
        )
    if not callable(func):
        raise TypeError(f"jit.trace: expected a function or a module, got {type(func).__name__}")
    names = _names(func, len(inputs))

    def program(given):
        name = _function_name(func)
        return ScriptFunction(_recorded(func, names, given, {}, name, None, strict))

    made = program(inputs)
    if check_trace:
        check(made, program, func, check_inputs or [inputs], check_tolerance)
    return made


def trace_module(
    mod,
    inputs,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_inputs_is_kwarg=False,
    _store_inputs=True,
):
    """:func:`trace` for several methods of a module: `inputs` has example inputs by their names;
    with `example_inputs_is_kwarg` those of a method are a dict by its parameters."""
    if not _enabled:
        return mod
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    if _is_leaf(mod) and list(inputs) == ["forward"]:
        return script(mod)
    made = _copied(mod, list(inputs))
    kind = type(made)._script_type
    for name, values in inputs.items():
        method = getattr(mod, name)
        named = values if example_inputs_is_kwarg else None
        values = _inputs(values, named, method)
        names = ["self", *_names(method, len(values))]
        known = _paths(mod, tree.Name("self", type=kind, at=_AT), kind)
        run = mod if name == "forward" else method
        rest = f"{kind}.{name}", kind, strict
        with _leaves(mod, kind):
            kind.methods[name] = _with_buffers(mod, run, names, values, known, rest)
        if check_trace:
            again = functools.partial(_method_again, mod, name, strict)
            check(getattr(made, name), again, run, check_inputs or [values], check_tolerance)
    return made


def _method_again(mod, name, strict, inputs):
    return getattr(trace_module(mod, {name: inputs}, None, False, strict=strict), name)


# -------------------------------------------------------------------------------------- recording
def _inputs(given, named, func):
    if named is not None:
        return _in_order(named, func)
    if isinstance(given, Tensor | dict) or given is None:
        given = (given,) if given is not None else ()
    return tuple(given)


def _in_order(named, func):
    """Keyword arguments as the first positional ones."""
    forward = func.forward if isinstance(func, Module) else func
    signature = inspect.signature(forward)
    given = signature.bind(**named).arguments
    first = list(signature.parameters)[: len(given)]
    if list(given) != first:
        raise NotImplementedError(
            f"jit.trace: keyword arguments {sorted(named)} leave out one of {first}; give it, too"
        )
    return tuple(given.values())


def _names(func, count):
    forward = getattr(func, "forward", func) if isinstance(func, Module) else func
    try:
        found = list(inspect.signature(forward).parameters)[:count]
    except (TypeError, ValueError):
        found = []
    found = [n for n in found if n.isidentifier()]
    return found if len(found) == count else [f"input{i}" for i in range(count)]


def _function_name(func):
    name = getattr(func, "__name__", "function")
    return f"__torch__.{name}" if name.isidentifier() else "__torch__.function"


def _recorded(func, names, inputs, known, name, owner, strict, buffers=()):
    """A function of the calls that `func` makes, of those with `buffers`, too."""
    recorder = Recorder(known)
    own = names[1:] if owner is not None else names
    params = [] if owner is None else [tree.Param("self", owner)]
    given = []
    for label, value in zip(own, inputs, strict=True):
        kind = _input_type(value)
        params.append(tree.Param(label, kind))
        given.append(_traced(recorder, value, tree.Name(label, type=kind, at=_AT)))
    ACTIVE.append(recorder)
    try:
        written = written_buffers.traced(recorder, buffers)
        with recorder.level, recorded_creations(recorder), written:
            found = func(*given)
    finally:
        ACTIVE.pop()
    check_result(found, strict)
    result = recorder.result(found)
    body = [*recorder.body(), tree.Return(result, at=_AT)]
    source = Source("", f"<trace of {name}>", 1, name)
    return tree.Function(name, params, result.type, body, source)


def _with_buffers(mod, run, names, values, known, rest):
    """:func:`_recorded` of a method of `mod`, with the buffers that it writes."""
    buffers = written_buffers.Buffers(mod)
    try:
        made = _recorded(run, names, values, dict(known), *rest)
        written = buffers.written()
    except OutsideWriteError:
        written = buffers.all()
        if not written:
            raise
    if not written:
        return made
    buffers.rewind()
    return _recorded(run, names, values, known, *rest, written)


def _input_type(value):
    if isinstance(value, tuple):
        return kinds.Type("Tuple", *map(_input_type, value))
    found = kinds.of_value(value)
    if found == kinds.UNKNOWN:
        raise RuntimeError(
            "jit.trace: expected example inputs of tensors, and tuples, lists and dicts of them, "
            f"got {type(value).__name__}"
        )
    return found


def _traced(recorder, value, expr):
    """An input with its tensors wrapped."""
    if isinstance(value, Tensor):
        return recorder.wrapped(value, expr)
    if isinstance(value, list | tuple):
        parts = [
            _traced(recorder, v, tree.Item(expr, tree.Const(i, type=INT), type=_input_type(v),
                                           at=_AT))
            for i, v in enumerate(value)
        ]  # fmt: skip
        return type(value)(parts)
    if isinstance(value, dict):
        return {
            k: _traced(recorder, v, tree.Item(expr, recorder.expr(k), type=_input_type(v), at=_AT))
            for k, v in value.items()
        }
    return value
