"""What nodes that compute with sizes give at every size, once a program's sizes are known."""

from __future__ import annotations

import operator

from rushlight.export.dynamic.drawn_floats import computed
from rushlight.export.dynamic.expressions import (
    COMPARISONS,
    Expression,
    SymBool,
    SymInt,
    add,
    number,
    times,
)
from rushlight.fx.node import Node, map_arg


def described(node) -> None:
    """Let a node that computes with sizes know what its value is; one that does not depend on any
    is no node: what reads it gets the number."""
    values = [arg.meta["val"] if isinstance(arg, Node) else arg for arg in node.args]
    if any(isinstance(value, float) for value in values):
        node.meta["val"] = computed(node.target, values)
        return
    plain = node.target(*map(int, values))
    if not any(isinstance(value, SymInt) for value in values):
        for user in list(node.users):
            user.args = map_arg(user.args, lambda read: plain if read is node else read)
        node.graph.erase_node(node)
        return
    left, right = (v.expression if isinstance(v, SymInt) else number(v) for v in values)
    if node.target in COMPARISONS:
        node.meta["val"] = SymBool(node.target, left, right)
        return
    if node.target is operator.sub:
        found = add(left, times(-1, right))
    else:
        found = Expression(node.target, (left, right))
    node.meta["val"] = SymInt(plain, found)
