"""From a declaration to what users call: function, Tensor methods, operators, in-place forms."""

from __future__ import annotations

import importlib

from rushlight.compiler import xp
from rushlight.dtypes import dtype
from rushlight.errors import argument_error
from rushlight.machine import memory, np
from rushlight.ops._calls import elementwise_prepared as _fast
from rushlight.ops._calls import inplace_prepared as _fast_inplace
from rushlight.ops._calls.array_calls import make_door
from rushlight.ops._calls.elementwise_calls import make_elementwise_door
from rushlight.ops._table.attributes import DTYPE, TRUTH
from rushlight.ops._table.numpy_names import first_by_keyword
from rushlight.ops._table.op import ALIASES, OPTIONAL, TENSOR
from rushlight.tensor import construction as make
from rushlight.tensor.asking import SPECIAL
from rushlight.tensor.dispatch import (
    STATE,
    asked,
    call_overrides,
    interpret,
    stack,
    through_levels,
)
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import EXACT, Tensor


def public_function(op):
    """The callable users see: a fast path over `general` where the op's form allows one."""
    general = general_call(op)
    call = _fast_form(op, general) if op.kind != "composite" else _short_composite(op, general)
    call.__name__ = call.__qualname__ = op.name
    call.__module__ = op.body.__module__
    call.__doc__ = op.body.__doc__
    call.__wrapped__ = op.body
    call.op, call.gradient, call.gradients, call.cpu = op, op.gradient, op.gradients, op.cpu
    call.cuda = op.cuda
    call.variant = None
    op.function = call
    return call


def _fast_form(op, general):
    """`general`, behind a fast path when the op is elementwise in one or two tensors."""
    if op.kind == "elementwise" and op.kinds[:1] == (TENSOR,):
        if op.kinds[1:2] != (TENSOR,):
            return _fast.unary(op, general)
        if op.kinds.count(TENSOR) == 2:
            return _fast.binary(op, general)
    return _fast.positional(op, general)


def _short_composite(op, general):
    """`general`, behind the body itself where the first argument is a plain tensor and the others
    are few, plain and in place."""
    if op.kinds[:1] != (TENSOR,) or op.sizes_position >= 0 or op.list_position >= 0:
        return general
    body, least, most = op.body, op.required, op.positional
    plain = _plain_types(op)
    by_name = dict(zip(op.names, plain, strict=True))
    second, third = (*plain[1:3], (), ())[:2]
    one, two, three = (least <= count <= most for count in (1, 2, 3))

    def call(a=_fast.UNSET, b=_fast.UNSET, c=_fast.UNSET, /, *rest, **kwargs):
        if type(a) in EXACT and not STATE.modes:
            if kwargs or rest:
                args = [value for value in (a, b, c) if value is not _fast.UNSET]
                args.extend(rest)
                given = len(args)
                if given <= most and given + len(kwargs) >= least:
                    for value, types in zip(args, plain, strict=False):
                        if type(value) not in types:
                            break
                    else:
                        for name, value in kwargs.items():
                            if type(value) not in by_name.get(name, ()):
                                break
                        else:
                            return body(*args, **kwargs)
                return general(*args, **kwargs)
            if b is _fast.UNSET:
                if one:
                    return body(a)
            elif type(b) in second:
                if c is _fast.UNSET:
                    if two:
                        return body(a, b)
                elif three and type(c) in third:
                    return body(a, b, c)
        args = [value for value in (a, b, c) if value is not _fast.UNSET]
        return general(*args, *rest, **kwargs)

    if "at_once" in op.options:
        return _at_once(op.options["at_once"], call)
    return _itself(call) if op.options.get("itself") else call


def _plain_types(op):
    """For each argument of a composite the types that need no look inside."""
    types = [_UNQUESTIONED | {tuple, list}] * len(op.names)
    for position, optional in _asked_for(op):
        types[position] = EXACT | {type(None)} if optional else EXACT
    for position, _, kind, optional in op.attributes:
        if kind != DTYPE:
            types[position] = _TRUTH if kind == TRUTH else _WHOLE_OR_NONE if optional else _WHOLE
    return types


def _at_once(short, general):
    """A callable that asks `short` first, which gives NotImplemented for what it does not take."""

    def call(*args, **kwargs):
        if args and not kwargs:
            found = short(*args)
            if found is not NotImplemented:
                return found
        return general(*args, **kwargs)

    return call


def _itself(general):
    """The callable of an op that gives a tensor itself, where it is row-major already."""

    def call(input, memory_format=None):
        if memory_format is None:
            found = make.dense(input)
            if found is not NotImplemented:
                return found
            return general(input)
        return general(input, memory_format=memory_format)

    return call


# Types that never carry ``__torch_function__``: calls of these only skip the search for it.
_UNQUESTIONED = EXACT | {int, float, bool, str, type(None), complex, slice, Size, dtype}


_TRUTH, _WHOLE, _WHOLE_OR_NONE = {bool}, {int}, {int, type(None)}
_WITH_DOORS = ("op", "view", "elementwise")


def general_call(op):
    """The native call that takes every form of call: modes, subclasses, keywords, ``out=``."""
    run = op.run = _runner(op)
    unquestioned = _UNQUESTIONED if op.list_position >= 0 else _UNQUESTIONED | {tuple, list}

    paths = op.paths
    doors, device_doors, ways = paths.forms, paths.gpu_forms, paths.by_count
    make_it = make_elementwise_door if op.kind == "elementwise" else make_door

    def general(*args, **kwargs):
        try:
            if STATE.modes and stack.interpreters:
                return interpret(op.function, args, kwargs)
            form = (len(args), *kwargs) if kwargs else len(args)
            door = doors.get(form)
            if door is not None:
                result = door(*args, **kwargs)
                if result is not NotImplemented:
                    return result
            if device_doors:
                door = device_doors.get(form)
                if door is not None:
                    result = door(*args, **kwargs)
                    if result is not NotImplemented:
                        return result
            for value in (*args, *kwargs.values()) if kwargs else args:
                if type(value) not in unquestioned and _may_ask():
                    found = asked(args, kwargs)
                    if found:
                        return call_overrides(op.function, found, args, kwargs)
                    break
            if kwargs and "out" in kwargs and "out" not in op.index:
                out = kwargs.pop("out")
                if out is not None:
                    from rushlight.ops._table.inplace import into

                    return into(op, run, out, args, kwargs)
            result = run(op.bind(args, kwargs))
            if form not in doors and op.kind in _WITH_DOORS:
                door = doors[form] = make_it(op, form)
                if door is not None and type(form) is int and form < len(ways):
                    ways[form] = door
            if args and type(args[0]) in EXACT and args[0]._device.type == "cuda":
                _add_device_door(op, device_doors, form)
            return result
        except MemoryError as error:
            raise memory.refused(error) from None

    return general


def _may_ask():
    """Whether a class of this thread's arguments may be asked."""
    return stack.overrides or stack.levels or STATE.dispatching


def _add_device_door(op, doors, form):
    """The short way for a form of call on a GPU, once such a call has been."""
    if form not in doors:
        doors[form] = importlib.import_module("rushlight.ops._calls.cuda_calls").make(op, form)


def _asked_for(op):
    """The positions of arguments that must be tensors, and whether they may be None."""
    if op.options.get("numbers"):
        return ()
    return tuple(
        (position, kind == OPTIONAL)
        for position, kind in enumerate(op.kinds)
        if kind == OPTIONAL or kind == TENSOR and position in op.strict
    )


def _runner(op):
    """How bound values are executed, by the op's kind."""
    kind = op.kind
    if kind == "composite":
        body, positional, names = op.body, op.positional, op.names
        tensors = _asked_for(op)

        def run(values):
            for position, optional in tensors:
                value = values[position]
                if not isinstance(value, Tensor) and not (optional and value is None):
                    if not xp.is_traced(value):
                        raise argument_error(op.name, names[position], "Tensor", value)
            if len(values) == positional:
                return body(*values)
            keywords = dict(zip(names[positional:], values[positional:], strict=True))
            return body(*values[:positional], **keywords)

        return run
    if kind == "elementwise":
        from rushlight.ops._table.elementwise import run_elementwise

        return lambda values: run_elementwise(op, values)
    from rushlight.ops._table.arrays import run_arrays, run_view

    return (
        (lambda values: run_view(op, values))
        if kind == "view"
        else (lambda values: run_arrays(op, values))
    )


def bind(op, function, method, operators, reflected, inplace, aliases):
    """Attach the op to Tensor: its method, aliases, operators and in-place variants."""
    op.method = method
    op.aliases = tuple(aliases)
    ALIASES.update(dict.fromkeys(op.aliases, op.name))
    names = (op.name, *aliases)
    if method:
        for name in names:
            setattr(Tensor, name, function)
    op.inplace = None
    if inplace:
        variant = inplace_view_function if op.kind == "view" else inplace_function
        op.inplace = variant(op, inplace if isinstance(inplace, str) else op.name + "_")
        for name in names if inplace is True else (op.name,):
            setattr(Tensor, name + "_" if inplace is True else inplace, op.inplace)
    for name in operators:
        setattr(Tensor, name, _named(_operator(op, function), name, function))
        if op.inplace is not None and name not in _UNARY | _COMPARISONS:
            inplace_name = "__i" + name[2:]
            setattr(Tensor, inplace_name, _named(_inplace_operator(op), inplace_name, op.inplace))
    for name in reflected:
        setattr(Tensor, name, _named(_operator(op, function), name, function))


_OPERANDS = (Tensor, int, float, complex)
_UNARY = {"__neg__", "__invert__", "__abs__", "__pos__"}
_COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}


def _named(operator, name, function):
    """An operator under the name by which PyTorch names it to ``__torch_function__``."""
    if name in SPECIAL and operator is not function:
        operator.__name__ = operator.__qualname__ = name
    return operator


def _operator(op, function):
    """An operator method: an operand the op cannot take gives NotImplemented, as Python expects.

    A NumPy array is one of them, unless the op says what to do `beside_array`: NumPy's own operator
    then reads the tensor, and the result is a tensor by `__array_wrap__`.
    """
    if len(op.names) < 2 or function is not op.function:
        return function
    if op.kind != "elementwise":
        return _composite_operator(op, function) if op.kind == "composite" else function

    def general(input, other):
        if not isinstance(input, Tensor):
            raise argument_error(op.name, op.names[0], "Tensor", input)
        if not isinstance(other, _OPERANDS) and not hasattr(other, "__array__"):
            found = asked((input, other), {})
            return call_overrides(call, found, (input, other), {}) if found else NotImplemented
        if isinstance(other, np.ndarray):
            beside = op.options.get("beside_array")
            return NotImplemented if beside is None else beside(input, other)
        return function(input, other)

    call = _fast_form(op, general)
    call.__name__, call.variant = op.name, "operator"
    return call


def _composite_operator(op, function):
    """The operator of a composite: as :func:`_operator` for what is no tensor."""
    beside = _beside_arrays(function)

    def general(input, other):
        if isinstance(input, Tensor) and not isinstance(other, Tensor):
            found = asked((input, other), {})
            if found:
                return call_overrides(call, found, (input, other), {})
        return beside(input, other)

    call = _short_composite(op, general)
    call.__name__, call.variant = op.name, "operator"
    return call


def _beside_arrays(function):
    """An operator that leaves NumPy arrays to NumPy."""

    def general(input, other):
        if isinstance(input, Tensor) and isinstance(other, np.ndarray):
            return NotImplemented
        return function(input, other)

    return general


def _inplace_operator(op):
    """``x += other``: `op.inplace`, which leaves NumPy arrays to NumPy."""
    variant = op.inplace.variant
    general = _beside_arrays(op.inplace)
    call = _fast_inplace.short(op, general) if variant == "inplace" else general
    call.op, call.variant = op, variant
    call.__name__ = call.__qualname__ = op.inplace.__name__
    call.__doc__ = op.inplace.__doc__
    return call


def inplace_function(op, name):
    """``x.op_(...)``: the same op, written into its first argument."""
    from rushlight.ops._table.inplace import run_inplace

    return _inplace_call(op, name, run_inplace, "inplace")


def inplace_view_function(op, name):
    """``x.view_op_(...)``: the same view, taken by the tensor itself."""
    from rushlight.ops._table.inplace_views import run_inplace_view

    return _inplace_call(op, name, run_inplace_view, "inplace_view")


def _inplace_call(op, name, run, variant):
    def call(self=_fast.UNSET, *args, **kwargs):
        if self is _fast.UNSET:  # functions name their first argument: ``abs_(input=x)``
            self = first_by_keyword(name, kwargs)
        if STATE.modes and stack.interpreters:
            return interpret(call, (self, *args), kwargs)
        for value in (self, *args):
            if type(value) not in _UNQUESTIONED and _may_ask():
                found = asked((self, *args), kwargs)
                if found:
                    return call_overrides(call, found, (self, *args), kwargs)
                break
        if STATE.levels and stack.levels:
            found = through_levels(call, args, (self, *args), kwargs)
            if found is not NotImplemented:
                return found
        return run(op, self, args, kwargs)

    general = call
    call = _fast_inplace.short(op, general) if variant == "inplace" else general
    call.op, call.variant = op, variant
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"In-place version of :func:`rushlight.{op.name}`."
    return call
