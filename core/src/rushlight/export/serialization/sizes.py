"""Sizes that may differ, and what graphs compute with them, as the archive's JSON has them."""

from __future__ import annotations

import ast
import functools
import math
import operator
import re

from rushlight import symbolic_numbers
from rushlight.export.dynamic.drawn_floats import computed
from rushlight.export.dynamic.expressions import (
    COMPARISONS,
    NAMES,
    Expression,
    SymBool,
    SymFloat,
    SymInt,
    ValueRanges,
    number,
    symbol,
    times,
)
from rushlight.export.serialization.values import (
    STRIDED,
    FormatError,
    device,
    identifier,
    scalar_type,
)
from rushlight.fx.node import Node
from rushlight.tensor.tensor import Tensor

# Functions of numbers that graphs call; their names in archives are those of their modules.
_OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv,
    operator.pow, operator.eq, operator.ne, operator.le, operator.ge, operator.lt, operator.gt,
    operator.neg, operator.pos, operator.and_, operator.or_, math.trunc,
)  # fmt: skip
_SYMBOLIC = (
    symbolic_numbers.sym_float, symbolic_numbers.sym_int, symbolic_numbers.sym_max,
    symbolic_numbers.sym_min, symbolic_numbers.sym_not, symbolic_numbers.sym_sqrt,
    symbolic_numbers.sym_ite,
)  # fmt: skip
_FLOATS = {
    "itself": "{0}",
    "number": "ToFloat({0})",
    "inverted": "IntTrueDiv(Integer(1), {0})",
    "root": "FloatPow(ToFloat({0}), Float('0.5', precision=53))",
    "inverted root": "FloatPow(ToFloat({0}), Float('-0.5', precision=53))",
}
# Beside those of `NAMES`.
_OTHER_KINDS = {
    "CleanDiv": operator.floordiv, "PythonMod": operator.mod, "PowByNatural": operator.pow,
    "Pow": operator.pow,
}  # fmt: skip
DEEPEST = 100
_EXAMPLE = 4  # what numbers that depend on values are where shapes need one


@functools.cache
def functions() -> dict:
    """The functions of numbers by their names in archives."""
    found: dict = {f"{f.__module__}.{f.__name__}": f for f in _OPERATORS}
    found["torch._sym_sqrt"] = symbolic_numbers.sym_sqrt  # as PyTorch writes it
    return found | {f"torch.{function.__name__}": function for function in _SYMBOLIC}


@functools.cache
def _targets():
    return {function: name for name, function in functions().items()}


@functools.cache
def _kinds():
    return {name: kind for kind, name in NAMES.items()} | _OTHER_KINDS


@functools.cache
def _comparisons():
    return {name: kind for kind, name in COMPARISONS.items()}


# Numbers by class: the table of a graph that describes them, and what an argument is called.
_TABLES = {
    SymInt: ("sym_int_values", "as_sym_int"),
    SymFloat: ("sym_float_values", "as_sym_float"),
    SymBool: ("sym_bool_values", "as_sym_bool"),
}


# ----------------------------------------------------------------------------------------- writing
def is_number(node) -> bool:
    """Whether a node computes a size, or a float of one."""
    return isinstance(node, Node) and type(node.meta.get("val")) in _TABLES


def size(value) -> dict:
    """A size of a tensor."""
    if isinstance(value, SymInt):
        return {"as_expr": _described(value)}
    if value is None:
        raise FormatError("a tensor has a size that no expression gives: it cannot be written")
    return {"as_int": int(value)}


def tensor_meta(tensor: Tensor, where=None, requires_grad=None, known=None) -> dict:
    """What is known of a tensor beside its elements, which are row-major; `known` are its sizes
    where some may differ."""
    sizes, step = list(known or tensor.shape), 1
    steps: list[int] = []
    for one in reversed(sizes):
        steps.insert(0, step)
        step = _step(step, one)
    asks = tensor.requires_grad if requires_grad is None else requires_grad
    return {
        "dtype": scalar_type(tensor.dtype),
        "sizes": [size(n) for n in sizes],
        "requires_grad": asks,
        "device": device(tensor.device if where is None else where),
        "strides": [size(n) for n in steps],
        "storage_offset": {"as_int": 0},
        "layout": STRIDED,
    }


def _step(step, size):
    """The stride of the next dimension."""
    found = int(step) * max(int(size or 0), 1)
    parts = [n.expression if isinstance(n, SymInt) else int(n or 1) for n in (step, size)]
    if all(isinstance(part, int) for part in parts):
        return found
    left, right = parts if isinstance(parts[1], Expression) else parts[::-1]
    return SymInt(found, times(left, right))


def _described(value):
    if isinstance(value, SymInt):
        # what depends on values has no example
        hint = None if value.expression.depends_on_values() else {"as_int": int(value)}
        return {"expr_str": value.expression.as_sympy(), "hint": hint}
    if isinstance(value, SymBool):
        sides = f"{value.left.as_sympy()}, {value.right.as_sympy()}"
        return {"expr_str": f"{COMPARISONS[value.kind]}({sides})", "hint": None}
    if value.form not in _FLOATS:
        raise FormatError(f"the {value.form} of a size cannot be written")
    text = _FLOATS[value.form].format(value.expression.as_sympy())
    unknown = value.expression.depends_on_values()
    return {"expr_str": text, "hint": None if unknown else {"as_float": float(value)}}


def numbers(graph) -> dict:
    """The tables of a graph's numbers."""
    found: dict[str, dict] = {table: {} for table, _ in _TABLES.values()}
    for node in filter(is_number, graph.nodes):
        table, _ = _TABLES[type(node.meta["val"])]
        found[table][node.name] = {"as_expr": _described(node.meta["val"])}
    return found


def argument(node) -> dict:
    """A number that a node computes, as an argument."""
    _, word = _TABLES[type(node.meta["val"])]
    return {word: {"as_name": node.name}}


def listed(values) -> dict:
    """A list of whole numbers, some of which nodes compute."""
    return {
        "as_sym_ints": [
            {"as_name": v.name} if isinstance(v, Node) else {"as_int": int(v)} for v in values
        ]
    }


def call(node) -> dict | None:
    """A node that computes with numbers; None for others."""
    if node.target not in _targets():
        if node.target is math.log:
            raise FormatError(f"node '{node.name}': the logarithm of a size cannot be written")
        return None
    names = ("a", "b", "c")
    inputs = [
        {"name": name, "arg": argument(v) if isinstance(v, Node) else _plain(v), "kind": 1}
        for name, v in zip(names, node.args, strict=False)
    ]
    return {"target": _targets()[node.target], "inputs": inputs, "outputs": [argument(node)]}


def _plain(value):
    return {"as_float": value} if isinstance(value, float) else {"as_int": int(value)}


def ranges(constraints) -> dict:
    """The ranges of symbols."""
    return {
        str(key): {
            "min_val": None if limits.lower == -math.inf else int(limits.lower),
            "max_val": None if limits.upper == math.inf else int(limits.upper),
        }
        for key, limits in constraints.items()
    }


# ----------------------------------------------------------------------------------------- reading
def read_ranges(found) -> dict:
    """The ranges that :func:`ranges` wrote."""
    result = {}
    for name, limits in found.items():
        low, high = limits["min_val"], limits["max_val"]
        for end in (low, high):
            if end is not None and type(end) is not int:
                raise FormatError(f"the range of '{name}' is {limits!r}: expected whole numbers")
        result[symbol(identifier(name, "symbol"))] = ValueRanges(
            -math.inf if low is None else low, math.inf if high is None else high
        )
    return result


def read_size(entry, what):
    """A size: a number, or an expression with the example's."""
    if isinstance(entry, dict) and type(entry.get("as_int")) is int:
        return entry["as_int"]
    if isinstance(entry, dict) and isinstance(entry.get("as_expr"), dict):
        found = entry["as_expr"]
        expression, hint = parsed(found["expr_str"], what), (found.get("hint") or {}).get("as_int")
        if hint is None and expression.depends_on_values():
            return _without_example(expression, what)
        if type(hint) is int:
            return SymInt(hint, expression)
    raise FormatError(f"{what}: {entry!r} is no size that can be read")


def _without_example(expression, what) -> SymInt:
    """A size of which an archive has no example: the one that some number makes it."""
    try:
        return SymInt(expression.value(dict.fromkeys(expression.symbols(), _EXAMPLE)), expression)
    except (ArithmeticError, ValueError) as error:
        raise FormatError(f"{what}: the size {expression} cannot be read: {error}") from None


def read_float(entry, node, what) -> SymFloat:
    """What a node is that reads a float from a tensor, or computes one of numbers."""
    text = entry["as_expr"]["expr_str"]
    name = re.fullmatch(r"Symbol\('(zuf\d+)'\)", text)
    if name is not None:
        return SymFloat(float(_EXAMPLE), "itself", symbol(name[1]))
    try:
        found = computed(node.target, _operands(node))
    except (AttributeError, KeyError, TypeError, ValueError, NotImplementedError):
        found = None
    if not isinstance(found, SymFloat):
        raise FormatError(f"{what}: the float {text!r} of {node.target} cannot be read")
    return found


def _operands(node):
    return [a.meta["val"] if isinstance(a, Node) else a for a in node.args]


def read_bool(entry, node, what) -> SymBool:
    """A comparison of numbers."""
    if node.target in COMPARISONS and any(isinstance(v, SymFloat) for v in _operands(node)):
        return computed(node.target, _operands(node))
    text = entry["as_expr"]["expr_str"]
    kind, sides = parsed_call(text, what)
    if kind not in _comparisons() or len(sides) != 2:
        raise FormatError(f"{what}: the comparison {text!r} cannot be read")
    return SymBool(_comparisons()[kind], *sides)


def parsed_call(text, what):
    """The name of a function that a text of an archive calls, and its arguments as expressions."""
    try:
        body = ast.parse(text, mode="eval").body
        return body.func.id, [_expression(part, 0) for part in body.args]
    except (SyntaxError, ValueError, TypeError, RecursionError, AttributeError) as error:
        raise FormatError(f"{what}: {text!r} cannot be read: {error}") from None


def parsed(text, what) -> Expression:
    """The expression that a text of an archive says; nothing of it is run."""
    try:
        return _expression(ast.parse(text, mode="eval").body, 0)
    except (SyntaxError, ValueError, TypeError, RecursionError, AttributeError) as error:
        raise FormatError(f"{what}: the size {text!r} cannot be read: {error}") from None


def _expression(node, depth):
    if depth > DEEPEST or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError("expected a call such as Mul(Integer(2), Symbol('s0'))")
    name, first = node.func.id, node.args[0]
    if name == "Symbol" and isinstance(first, ast.Constant):
        return symbol(identifier(first.value, "symbol"))
    if name == "Integer":
        return number(ast.literal_eval(first))
    kind = _kinds().get(name)
    if kind is None:
        raise ValueError(f"{name} is not known")
    parts = [_expression(part, depth + 1) for part in node.args]
    found = parts[0]
    for part in parts[1:]:
        found = Expression(kind, (found, part))
    return found
