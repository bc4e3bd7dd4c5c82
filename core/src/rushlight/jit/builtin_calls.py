"""Calls of Python's builtins and of this package's functions in compiled Python."""

from __future__ import annotations

import ast
import typing

from rushlight import devices
from rushlight.autograd.mode import enable_grad, no_grad, set_grad_enabled
from rushlight.jit import futures, kinds, marks, scalars, statement_calls, tree
from rushlight.jit.frontend import calls
from rushlight.jit.frontend.values import Bound, Items, Static
from rushlight.jit.kinds import BOOL, COMPLEX, DEVICE, FLOAT, INT, STR, TENSOR, UNKNOWN, ClassType
from rushlight.jit.targets import Target
from rushlight.jit.tracer import trace_state
from rushlight.tensor.shape import Size

CALLS: dict = dict(statement_calls.CALLS)


def _call(*objects):
    def keep(function):
        for value in objects:
            CALLS[value] = function
        return function

    return keep


def _each(make, *objects):
    for value in objects:
        CALLS[value] = make(value)


def _first(compiler, node):
    args, _ = compiler.arguments(node)
    if not args:
        compiler.fault(node, "an argument is missing")
    return args[0]


# -------------------------------------------------------------------------------- conversions
def _conversion(python):
    name = python.__name__

    def call(compiler, node, hint):
        if not node.args:
            value = {"int": 0, "float": 0.0, "bool": False, "str": ""}[name]
            return tree.Const(value, type=kinds.SIMPLE[name], at=compiler.at(node))
        args, _ = compiler.arguments(node)
        if len(args) == 1:
            return calls.convert(name, args[0], compiler.at(node))
        if name != "complex" or len(args) > 2:
            compiler.fault(node, f"{name}() takes one argument here, got {len(args)}")
        target = scalars.Scalar("Complex", complex, "torch.")
        return tree.Call(target, args, {}, type=COMPLEX, at=compiler.at(node))

    return call


_each(_conversion, int, float, bool, str, complex)


@_call(len)
def _len(compiler, node, hint):
    value = compiler.value(node.args[0])
    kind = getattr(value, "type", None)
    if isinstance(kind, ClassType) and kind.kind == "module" and kind.scope[0].is_container:
        return tree.Const(len(kind.scope[0].children), type=INT, at=compiler.at(node))
    if isinstance(value, Static) and isinstance(value.value, Items):
        return tree.Const(len(value.value.items), type=INT, at=compiler.at(node))
    if isinstance(kind, ClassType) and kind.kind in ("class", "module"):
        bare = ast.copy_location(ast.Call(func=node.func, args=[], keywords=[]), node)
        return compiler.call_object(Bound(value, "__len__"), bare)
    value = compiler.as_expr(value, node)
    if isinstance(kind, ClassType) and kind.kind == "tuple":
        return tree.Const(len(kind.attributes), type=INT, at=compiler.at(node))
    if isinstance(kind, kinds.Type) and kind.name == "Tuple":
        return tree.Const(len(kind.args), type=INT, at=compiler.at(node))
    if not calls.has_length(value.type):
        compiler.fault(node, f"a value of type '{value.type}' has no length")
    return calls.length(value, compiler.at(node))


@_call(range)
def _range(compiler, node, hint):
    args, _ = compiler.arguments(node)
    args = [a if a.type in (INT, UNKNOWN) else calls.convert("int", a, a.at) for a in args]
    return calls.counted(args, compiler.at(node))


@_call(list)
def _list(compiler, node, hint):
    if not node.args:
        kind = hint if hint is not None and hint.name == "List" else kinds.list_of(TENSOR)
        return tree.Sequence("list", [], type=kind, at=compiler.at(node))
    return calls.listed(_first(compiler, node), compiler, node)


@_call(dict)
def _dict(compiler, node, hint):
    kind = hint if hint is not None and hint.name == "Dict" else kinds.Type("Dict", STR, TENSOR)
    if not node.args and not node.keywords:
        return tree.Mapping([], [], type=kind, at=compiler.at(node))
    args, kwargs = compiler.arguments(node)
    if args:
        target = scalars.Scalar("dict", dict)
        return tree.Call(target, args, {}, type=args[0].type, at=compiler.at(node))
    keys = [tree.Const(k, type=STR, at=compiler.at(node)) for k in kwargs]
    kind = kinds.Type("Dict", STR, compiler.common([v.type for v in kwargs.values()], node))
    return tree.Mapping(keys, list(kwargs.values()), type=kind, at=compiler.at(node))


@_call(tuple)
def _tuple(compiler, node, hint):
    value = _first(compiler, node)
    if value.type.name != "Tuple":
        compiler.fault(node, "cannot turn a list into a tuple: its length is not known")
    return value


# -------------------------------------------------------------------------------------- loops
def _known(compiler, part):
    value = compiler.value(part)
    return value, compiler.unrolled(value, part)


@_call(enumerate)
def _enumerate(compiler, node, hint):
    value, items = _known(compiler, node.args[0])
    if items is not None:
        numbers = (tree.Const(i, type=INT, at=compiler.at(node)) for i in range(len(items)))
        return Static(Items(zip(numbers, items, strict=True)))
    return calls.enumerated(compiler.as_expr(value, node), compiler, node)


@_call(zip)
def _zip(compiler, node, hint):
    pairs = [_known(compiler, part) for part in node.args]
    if any(items is not None for _, items in pairs):
        known = [
            items if items is not None else _indexed(compiler, value, node, pairs)
            for value, items in pairs
        ]
        return Static(Items(zip(*known, strict=False)))
    return calls.zipped([compiler.as_expr(v, node) for v, _ in pairs], compiler, node)


def _indexed(compiler, value, node, pairs):
    """The items of a list beside modules, one by one."""
    count = min(len(items) for _, items in pairs if items is not None)
    value = compiler.as_expr(value, node)
    kind = compiler.element(value.type, node)
    return [
        tree.Item(value, tree.Const(i, type=INT), type=kind, at=compiler.at(node))
        for i in range(count)
    ]


@_call(reversed)
def _reversed(compiler, node, hint):
    value, items = _known(compiler, node.args[0])
    if items is not None:
        return Static(Items(reversed(items)))
    value = compiler.as_expr(value, node)
    step = tree.Const(-1, type=INT)
    return tree.Item(value, tree.Cut(None, None, step), type=value.type, at=compiler.at(node))


# ------------------------------------------------------------------------------------ numbers
def _extremum(function):
    def call(compiler, node, hint):
        args, _ = compiler.arguments(node)
        types = [a.type for a in args]
        kind = types[0]
        if len(args) == 1:
            kind = compiler.element(kind, node)
        elif FLOAT in types:
            kind = FLOAT
        elif TENSOR in types:
            return calls.aten(function.__name__, args, {}, compiler.at(node))
        target = scalars.Scalar(function.__name__, function)
        return tree.Call(target, args, {}, type=kind, at=compiler.at(node))

    return call


CALLS[min], CALLS[max] = _extremum(min), _extremum(max)


def _number(function, kind=None):
    def call(compiler, node, hint):
        args, kwargs = compiler.arguments(node)
        first = args[0].type
        if first == TENSOR:
            return calls.aten(function.__name__, args, kwargs, compiler.at(node))
        python = scalars.FUNCTIONS.get(function.__name__, function)
        found = kind or scalars.result(function.__name__, [a.type for a in args])
        target = scalars.Scalar(function.__name__, python)
        return tree.Call(target, args, kwargs, type=found, at=compiler.at(node))

    return call


_each(_number, abs, ord, chr, hex, oct, bin, divmod, hash)


@_call(round)
def _round(compiler, node, hint):
    if len(node.args) != 1 or node.keywords:
        compiler.fault(node, "round() takes one argument here: scale the number before and after")
    return _number(round, FLOAT)(compiler, node, hint)


CALLS[all], CALLS[any] = _number(all, BOOL), _number(any, BOOL)
CALLS[pow] = _number(pow, FLOAT)


@_call(sum)
def _sum(compiler, node, hint):
    args, _ = compiler.arguments(node)
    if args[0].type == TENSOR:
        return calls.aten("sum", args, {}, compiler.at(node))
    target = scalars.Scalar("sum", sum)
    kind = compiler.element(args[0].type, node)
    return tree.Call(target, args, {}, type=kind, at=compiler.at(node))


@_call(sorted)
def _sorted(compiler, node, hint):
    args, kwargs = compiler.arguments(node)
    target = scalars.Scalar("sorted", sorted)
    return tree.Call(target, args, kwargs, type=args[0].type, at=compiler.at(node))


@_call(Size)
def _size(compiler, node, hint):
    return compiler.coerced(_first(compiler, node), kinds.list_of(INT), node, "Size")


@_call(marks._unwrap_optional)
def _unwrapped(compiler, node, hint):
    value = _first(compiler, node)
    target = scalars.Scalar("_unwrap_optional", marks._unwrap_optional, "torch.")
    kind = kinds.without_none(value.type)
    return tree.Call(target, [value], {}, type=kind, at=compiler.at(node))


@_call(getattr)
def _getattr(compiler, node, hint):
    name = getattr(compiler.value(node.args[1]), "value", None)
    if not isinstance(name, str):
        compiler.fault(node, "getattr needs a name that is known before the program runs")
    value = compiler.value(node.args[0])
    if len(node.args) == 3 and not compiler.resolver.has(compiler, value, name):
        return compiler.value(node.args[2])
    return compiler.attribute(value, name, node)


# ------------------------------------------------------------------------------- this package
@_call(marks.annotate, typing.cast)
def _annotate(compiler, node, hint):
    kind = compiler.annotation(node.args[0])
    value = compiler.coerced(compiler.expr(node.args[1], kind), kind, node, "annotate")
    return tree.Cast("annotate", value, type=kind, at=compiler.at(node))


@_call(marks.is_scripting)
def _is_scripting(compiler, node, hint):
    return tree.Const(True, type=BOOL, at=compiler.at(node))


@_call(trace_state.is_tracing)
def _is_tracing(compiler, node, hint):
    return tree.Const(False, type=BOOL, at=compiler.at(node))


@_call(devices.device)
def _device(compiler, node, hint):
    args, _ = compiler.arguments(node)
    target = scalars.Scalar("device", devices.device, "torch.")
    return tree.Call(target, args, {}, type=DEVICE, at=compiler.at(node))


class _Context(Target):
    """The making of a context that switches gradients."""

    def written(self, printer, call):
        """The class of the program that stands for it."""
        from rushlight.jit.forms import contexts
        from rushlight.jit.units import UNIT

        kind = UNIT.class_type(getattr(contexts, self.python.__name__))
        for name in ("__enter__", "__exit__"):
            UNIT.method(kind, name)
        return f"{printer.type(kind)}({printer.arguments(call.args, {})})"


def _context(kind):
    def call(compiler, node, hint):
        args, _ = compiler.arguments(node)
        target = _Context(kind)
        return tree.Call(target, args, {}, type=UNKNOWN, at=compiler.at(node))

    return call


_each(_context, no_grad, enable_grad, set_grad_enabled)


@_call(futures.fork)
def _fork(compiler, node, hint):
    inner = ast.Call(func=node.args[0], args=node.args[1:], keywords=node.keywords)
    value = compiler.expr(ast.copy_location(inner, node))
    return futures.forked(value, compiler.at(node))


@_call(futures.wait)
def _wait(compiler, node, hint):
    value = _first(compiler, node)
    if value.type.name != "Future":
        compiler.fault(node, f"wait needs a Future, got {value.type}")
    return tree.Call(futures.WAIT, [value], {}, type=value.type.args[0], at=compiler.at(node))


__all__ = ["CALLS"]
