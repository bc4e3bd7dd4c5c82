"""Generator expressions that are used up where they are written.

A generator expression reads variables when it is asked for items. One that a builtin empties at
once reads what they hold there, so that a function with it may be cut; another one may see what is
assigned behind the cut.
"""

from __future__ import annotations

import ast
import builtins

from rushlight.capture.variables import parameters, stores

_EMPTYING = frozenset("all any dict frozenset list max min set sorted sum tuple".split())


def emptied(tree, function) -> set[int]:
    """The ids of the generator expressions of a function, with the syntax tree `tree`, that are the
    first argument of a builtin which empties them."""
    own = {*parameters(tree.args), *stores(tree.body), *function.__code__.co_freevars}
    found = set()
    for call in (node for statement in tree.body for node in ast.walk(statement)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or not call.args:
            continue
        name = call.func.id
        if name in _EMPTYING and name not in own and _is_builtin(name, function):
            found.add(id(call.args[0]))
    return found


def _is_builtin(name, function):
    return function.__globals__.get(name, getattr(builtins, name)) is getattr(builtins, name)
