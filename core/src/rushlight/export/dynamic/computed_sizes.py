"""What nodes that compute with sizes give at every size, once a program's sizes are known."""

from __future__ import annotations

import math

from rushlight.export.dynamic.expressions import COMPARISONS, SymBool, SymFloat, SymInt
from rushlight.export.dynamic.number_functions import combined, expression_of
from rushlight.fx.experimental.tracked_numbers import plain_of
from rushlight.fx.node import Node, map_arg


def described(node) -> None:
    """Let a node that computes with sizes know what its value is; one that does not depend on any
    is no node: what reads it gets the number."""
    values = [arg.meta["val"] if isinstance(arg, Node) else arg for arg in node.args]
    found = value_of(node.target, values)
    if getattr(found, "depends_on_sizes", False):
        node.meta["val"] = found
        return
    for user in list(node.users):
        user.args = map_arg(user.args, lambda read: found if read is node else read)
    node.graph.erase_node(node)


def value_of(function, values):
    """What a function gives for numbers, some of which depend on sizes: a number where none
    does."""
    if not any(hasattr(value, "depends_on_sizes") for value in values):
        return function(*values)
    if function in COMPARISONS:
        return SymBool(function, *map(expression_of, values))
    found = combined(function, values)
    try:
        plain = function(*map(_plain, values))
    except (ArithmeticError, ValueError):
        plain = math.nan  # at a size that the program refuses
    return SymFloat(plain, "itself", found) if found.is_float() else SymInt(plain, found)


def _plain(value):
    if value is None:  # of round(x, None)
        return None
    return float.__pos__(value) if isinstance(value, float) else int.__index__(value)


class Computed:
    """What nodes that compute with sizes give, told while the captures of a program are compared:
    sizes of tensors that are made with them are these."""

    def __init__(self, quantities):
        self.quantities = quantities
        self.values: dict = {}

    def note(self, row, args):
        """Take what a node gives in all captures; `args` are those of the first, unified."""
        node = row[0]
        if not node.meta.get("of_sizes") or any(
            isinstance(arg, Node) and arg not in self.values for arg in args
        ):
            return
        values = [self.values[arg] if isinstance(arg, Node) else arg for arg in args]
        found = self.values[node] = value_of(node.target, values)
        if isinstance(found, SymInt):
            numbers = tuple(plain_of(each.meta["val"]) for each in row)
            self.quantities.known.setdefault(numbers, found.expression)
