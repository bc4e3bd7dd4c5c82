"""Which variables statements read and assign, as far as their text tells."""

from __future__ import annotations

import ast

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_MODES = frozenset(["no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "autocast"])
ENDS = (ast.Return, ast.Raise)


def reads(statements) -> set[str]:
    """The names that statements may read, those of functions inside of them included."""
    found: set = set()
    for node in statements:
        inside = reads(ast.iter_child_nodes(node))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            inside.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            inside.add(node.target.id)
        elif isinstance(node, _COMPREHENSIONS):
            inside -= _stored([each.target for each in node.generators])
        elif isinstance(node, ast.Lambda):
            inside -= set(parameters(node.args))
        found |= inside
    return found


def needed(statements, known=frozenset()) -> set[str]:
    """The names that statements may read before they assign to them; `known`: names of which that
    is not asked."""
    found: set = set()
    known = set(known)
    for node in statements:
        parts = _PARTS.get(type(node))
        if parts is None:
            found |= reads([node]) - known
        else:
            found |= parts(node, known)
        known |= assigned_for_sure([node])
    return found


def _needed_by_branches(node, known):
    branches = needed(node.body, known) | needed(node.orelse, known)
    return (reads([node.test]) - known) | branches


def _needed_by_loop(node, known):
    inside = needed(node.body, known | stores([node.target]))
    return (reads([node.iter, node.target]) - known) | inside | needed(node.orelse, known)


def _needed_by_with(node, known):
    given = stores([item.optional_vars for item in node.items if item.optional_vars])
    return (reads(node.items) - known) | needed(node.body, known | given)


def _needed_by_try(node, known):
    found = needed(node.body, known) | needed(node.finalbody, known)
    for handler in node.handlers:
        found |= reads([handler.type] if handler.type else []) - known
        found |= needed(handler.body, known | {handler.name})
    return found | needed(node.orelse, known | assigned_for_sure(node.body))


_PARTS = {
    ast.If: _needed_by_branches, ast.While: _needed_by_branches, ast.For: _needed_by_loop,
    ast.With: _needed_by_with, ast.Try: _needed_by_try,
}  # fmt: skip


def stores(statements) -> set[str]:
    """The names that statements may assign to."""
    inner: set = set()
    found = set()
    for node in _nodes(statements):
        if isinstance(node, _COMPREHENSIONS):  # their variables are their own
            inner |= {id(each) for own in node.generators for each in ast.walk(own.target)}
        elif (
            isinstance(node, ast.Name)
            and id(node) not in inner
            and not isinstance(node.ctx, ast.Load)
        ):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(a.asname or a.name).partition(".")[0] for a in node.names}
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
    return found


def in_order(names, first) -> list[str]:
    """Variables as the parameters of a function: `first`, which `super()` looks at, before the
    others if that is one of the names."""
    found = sorted(set(names) - {"super", first})
    return [first, *found] if first in names or "super" in names else found


def assigned_for_sure(statements) -> set[str]:
    """The names that have a value behind statements, whatever way the program takes."""
    found: set = set()
    for node in statements:
        if isinstance(node, ast.If):
            branches = [b for b in (node.body, node.orelse) if not (b and isinstance(b[-1], ENDS))]
            ways = [assigned_for_sure(branch) for branch in branches]
            found |= set.intersection(*ways) if ways else set()
        elif isinstance(node, ast.With):
            found |= stores([item.optional_vars for item in node.items if item.optional_vars])
            if all(map(lets_errors_pass, node.items)):
                found |= assigned_for_sure(node.body)
        elif isinstance(node, ast.Assign | ast.FunctionDef | ast.Import | ast.ImportFrom):
            found |= stores([node])
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
            found |= stores([node.target])
    return found


def lets_errors_pass(item):
    """Whether the manager of a ``with`` statement goes on with what its body raises: then the body
    has been run to its end behind the statement."""
    called = getattr(item.context_expr, "func", None)
    return getattr(called, "attr", getattr(called, "id", None)) in _MODES


def parameters(given: ast.arguments) -> list[str]:
    """The names of the parameters of a function."""
    named = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [each.arg for each in named if each is not None]


def _stored(targets):
    return {
        each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)
    }


def _nodes(statements):
    for statement in statements:
        yield from ast.walk(statement)
