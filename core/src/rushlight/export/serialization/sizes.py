"""Sizes that may differ, and what graphs compute with them, as the archive's JSON has them."""

from __future__ import annotations

import ast
import math
import operator

from rushlight import symbolic_numbers
from rushlight.export.dynamic.expressions import (
    Expression,
    SymFloat,
    SymInt,
    ValueRanges,
    number,
    symbol,
)
from rushlight.export.serialization.values import FormatError, identifier
from rushlight.fx.node import Node

# Functions of numbers that graphs call, by the archive's names.
FUNCTIONS = {
    f"_operator.{name}": getattr(operator, name)
    for name in "add sub mul floordiv mod truediv pow eq ne le ge lt gt neg pos and_ or_".split()
} | {
    f"torch.{name}": getattr(symbolic_numbers, name)
    for name in "sym_float sym_int sym_max sym_min sym_not sym_sqrt sym_ite".split()
}
_TARGETS = {function: name for name, function in FUNCTIONS.items()}
_FLOATS = {
    "float": "ToFloat({0})",
    "reciprocal": "IntTrueDiv(Integer(1), {0})",
    "sqrt": "FloatPow(ToFloat({0}), Float('0.5', precision=53))",
    "rsqrt": "FloatPow(ToFloat({0}), Float('-0.5', precision=53))",
}
_KINDS = {
    "Add": "add", "Mul": "mul", "FloorDiv": "floordiv", "CleanDiv": "floordiv", "Mod": "mod",
    "PythonMod": "mod", "Max": "max", "Min": "min",
}  # fmt: skip
DEEPEST = 100


# ----------------------------------------------------------------------------------------- writing
def is_number(node) -> bool:
    """Whether a node computes a size, or a float of one."""
    return isinstance(node, Node) and isinstance(node.meta.get("val"), SymInt | SymFloat)


def size(value) -> dict:
    """A size of a tensor."""
    if isinstance(value, SymInt):
        return {"as_expr": _described(value)}
    if value is None:
        raise FormatError("a tensor has a size that no expression gives: it cannot be written")
    return {"as_int": int(value)}


def _described(value):
    if isinstance(value, SymInt):
        return {"expr_str": value.expression.as_sympy(), "hint": {"as_int": int(value)}}
    if value.form not in _FLOATS:
        raise FormatError(f"the {value.form} of a size cannot be written")
    text = _FLOATS[value.form].format(value.expression.as_sympy())
    return {"expr_str": text, "hint": {"as_float": float(value)}}


def numbers(graph) -> dict:
    """The tables of a graph's numbers."""
    found = {"sym_int_values": {}, "sym_float_values": {}, "sym_bool_values": {}}
    for node in filter(is_number, graph.nodes):
        table = "sym_int_values" if isinstance(node.meta["val"], SymInt) else "sym_float_values"
        found[table][node.name] = {"as_expr": _described(node.meta["val"])}
    return found


def argument(node) -> dict:
    """A number that a node computes, as an argument."""
    word = "as_sym_int" if isinstance(node.meta["val"], SymInt) else "as_sym_float"
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
    if node.target not in _TARGETS:
        if node.target is math.log:
            raise FormatError(f"node '{node.name}': the logarithm of a size cannot be written")
        return None
    names = ("a", "b", "c")
    inputs = [
        {"name": name, "arg": argument(v) if isinstance(v, Node) else _plain(v), "kind": 1}
        for name, v in zip(names, node.args, strict=False)
    ]
    return {"target": _TARGETS[node.target], "inputs": inputs, "outputs": [argument(node)]}


def _plain(value):
    return {"as_float": value} if isinstance(value, float) else {"as_int": int(value)}


def ranges(constraints) -> dict:
    """The ranges of symbols."""
    return {
        str(key): {
            "min_val": limits.lower,
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
            0 if low is None else low, math.inf if high is None else high
        )
    return result


def read_size(entry, what):
    """A size: a number, or an expression with the example's."""
    if isinstance(entry, dict) and type(entry.get("as_int")) is int:
        return entry["as_int"]
    if isinstance(entry, dict) and isinstance(entry.get("as_expr"), dict):
        found = entry["as_expr"]
        hint = (found.get("hint") or {}).get("as_int")
        if type(hint) is int:
            return SymInt(hint, parsed(found["expr_str"], what))
    raise FormatError(f"{what}: {entry!r} is no size that can be read")


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
    if name not in _KINDS:
        raise ValueError(f"{name} is not known")
    parts = [_expression(part, depth + 1) for part in node.args]
    found = parts[0]
    for part in parts[1:]:
        found = Expression(_KINDS[name], (found, part))
    return found
