"""Operators by their nodes in Python's tree, and the types of their results."""

from __future__ import annotations

import ast

from rushlight.jit.kinds import BOOL, COMPLEX, FLOAT, INT, NUMBER, STR, TENSOR, UNKNOWN

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
COMPARE = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_NUMBERS = (BOOL, INT, FLOAT, COMPLEX, NUMBER)


def binary(op, left, right):
    """The type of ``left op right``; None where there is no such operation."""
    if UNKNOWN in (left, right):
        return TENSOR if TENSOR in (left, right) else UNKNOWN
    if TENSOR in (left, right):
        other = right if left == TENSOR else left
        return TENSOR if other == TENSOR or other in _NUMBERS else None
    if left in _NUMBERS and right in _NUMBERS:
        return _number(op, left, right)
    if left == STR:
        known = (op == "+" and right == STR) or op == "%" or (op == "*" and right == INT)
        return STR if known else None
    if left.name == "List":
        if op == "+" and right.name == "List":
            return left if UNKNOWN not in left.args else right
        return left if op == "*" and right == INT else None
    if right.name == "List" and op == "*" and left == INT:
        return right
    if op == "+" and left.name == right.name == "Tuple":
        return type(left)("Tuple", *left.args, *right.args)
    return None


def _number(op, left, right):
    if op in ("/", "**"):
        return COMPLEX if COMPLEX in (left, right) else FLOAT
    for kind in (COMPLEX, NUMBER, FLOAT):
        if kind in (left, right):
            return kind
    if op in ("&", "|", "^") and left == right == BOOL:
        return BOOL
    return INT


def comparison(op, left, right):
    """The type of ``left op right`` for a comparison."""
    if op in ("<", "<=", ">", ">=", "==", "!=") and TENSOR in (left, right):
        return TENSOR
    if UNKNOWN in (left, right) and op not in ("is", "is not", "in", "not in"):
        return UNKNOWN
    return BOOL
