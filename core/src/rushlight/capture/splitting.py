"""Cutting a program in two where it cannot be part of a graph.

Of a function that breaks at a statement three are made: what it does until then, which gives its
variables; what it does behind, which takes them; and one with the parameters of the function itself
that calls the first, runs what cannot be captured as Python, and calls the second. All three do
what the function does whatever way it goes, so that any of them may run as Python, too.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from rushlight.capture.generators import emptied
from rushlight.capture.hoisting import Taken, taken_apart
from rushlight.capture.outlining import Returns, outlined
from rushlight.capture.sources import function_of_tree, node_of
from rushlight.capture.variables import (
    assigned_for_sure,
    in_order,
    needed,
    parameters,
    reads,
    stores,
)

# What asks for variables by name, or changes those of others.
_BY_NAME = frozenset(["locals", "vars", "eval", "exec", "dir"])
_KEPT = (ast.Global, ast.Nonlocal, ast.Delete, ast.Yield, ast.YieldFrom, ast.Await)
_FUNCTIONS = (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp, ast.AsyncFunctionDef)
_ARRIVED = "_arrived"  # an attribute of the statements that end a first part


@dataclass
class Position:
    """Where a function breaks: `taken` is the statement, taken apart; `before` and `behind` what
    its path through the branches around runs before and after."""

    lists: list  # the lists of statements around, outermost first, with the index in each
    taken: Taken
    before: list
    behind: list

    @property
    def statement(self):
        """The statement that breaks."""
        held, at = self.lists[-1]
        return held[at]


def split(function, error, part, called):
    """A function that does what `function` does in parts, or None where a break cannot be cut out.

    `part(function)` is what runs a part, `called(value)` what is called for something that the
    program calls outside of graphs.
    """
    tree = _tree_of(function)
    if tree is None or not error.nodes or not _may_be_cut(tree, function):
        return None
    position = _position_of(tree, error.nodes)
    if position is None:
        return None
    return _Cut(function, tree, position).joined(part, called)


def _tree_of(function):
    """The function as a list of statements, with its nodes."""
    node = node_of(function.__code__)
    if not isinstance(node, ast.Lambda):
        return node
    body = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef("program", node.args, [body], []), node)


def _may_be_cut(tree, function):
    """Whether the variables of a function are its own, and its names stand for themselves."""
    if "super" in reads(tree.body) and _first_parameter(tree) is None:
        return False
    at_once = emptied(tree, function)
    for each in (found for statement in tree.body for found in ast.walk(statement)):
        name = getattr(each, "id", None) or getattr(each, "attr", None) or ""
        mangled = name[:2] == "__" and name[-2:] != "__"
        if isinstance(each, _KEPT) or name in _BY_NAME or mangled:
            return False
        if isinstance(each, _FUNCTIONS) and function.__code__.co_cellvars:
            if id(each) not in at_once:
                return False
    return True


def _position_of(tree, nodes):
    """Where a function breaks, or None where that is no point to cut."""
    expressions = [n for n in reversed(nodes) if isinstance(n, ast.expr)]
    statements = [n for n in reversed(nodes) if isinstance(n, ast.stmt)]
    if not statements:  # a lambda
        statements = tree.body
    here, lists, before = tree.body, [], []
    for depth, each in enumerate(statements):
        at = next((i for i, other in enumerate(here) if other is each), None)
        if at is None or hasattr(each, _ARRIVED):
            return None
        lists.append((here, at))
        before += here[:at]
        inner = statements[depth + 1 :]
        if not inner or not isinstance(each, ast.If):
            break
        here = each.body if any(inner[0] is other for other in each.body) else each.orelse
    behind = [other for held, at in reversed(lists) for other in held[at + 1 :]]
    taken = None
    if inner or not (expressions and isinstance(each, ast.For)):
        names = set(parameters(tree.args))
        known, own = names | assigned_for_sure(before), names | stores(tree.body)
        taken = outlined(each, known, needed(behind), own, _first_parameter(tree))
    taken = taken or taken_apart(each, [] if inner else expressions)
    return Position(lists, taken, before, behind)


def _first_parameter(tree):
    """The parameter that `super()` looks at, where it keeps its value; else None."""
    given = [*tree.args.posonlyargs, *tree.args.args]
    return given[0].arg if given and given[0].arg not in stores(tree.body) else None


class _Cut:
    """The two ends of a function."""

    def __init__(self, function, tree, position):
        self.function, self.tree, self.position = function, tree, position
        self.names = parameters(tree.args)
        taken = position.taken
        self.known = set(self.names) | assigned_for_sure([*position.before, *taken.before])
        self.first_body, self.marker = _first(position)
        self.changed = stores(self.first_body)
        self.own = set(self.names) | stores(tree.body) | stores([*taken.before, *taken.outside])

    def joined(self, part, called):
        """The function that runs both ends, or None where the first may not give a variable."""
        taken, behind = self.position.taken, self.position.behind
        ways = [[*taken.after, *behind]]
        if taken.test is not None:
            ways.append([*taken.otherwise, *behind])
        given = [self._needed(way) for way in ways]
        outside = [*taken.outside, *([ast.Expr(taken.test)] if taken.test is not None else [])]
        read = needed(outside) & self.own
        behind_it = set().union(*given) - assigned_for_sure(taken.outside)
        passed = sorted((read | behind_it) & (self.changed | set(self.names)))
        if not set(passed) <= self.known:
            return None
        passed = [name for name in passed if name in self.changed]
        first = self._ending(passed)
        inputs = self._in_order(needed(first) & {*self.names, "super"})
        values = {"_first": part(self._part(first, inputs)), "_called": called}
        values |= {b.name: part(self._part(b.statements, b.inputs)) for b in taken.bodies}
        rests = []
        for i, (way, names) in enumerate(zip(ways, given, strict=True)):
            values[f"_rest_{i}"] = part(self._part(way, names)) if way else _nothing
            rest = ast.Return(_call(f"_rest_{i}", names if way else ()))
            rests.append([*self._without_values(names, way), rest])
        values["_locals"] = locals
        return self._made(self._joining(_call("_first", inputs), passed, rests), values)

    def _needed(self, way):
        """The variables that statements behind the break read."""
        read = needed(way)
        given = {name for name in read & self.own if self._has_value(name)}
        return self._in_order(given | (read & {"super"}))

    def _in_order(self, names):
        """Variables as those of a part, with those that `super()` looks at first."""
        return in_order(names, _first_parameter(self.tree))

    def _has_value(self, name):
        outside = self.position.taken.outside
        return name in self.names or name in self.changed or name in stores(outside)

    def _without_values(self, names, way):
        """What is done where variables that are read behind the break have no value: the same, as
        Python."""
        sure = assigned_for_sure(self.position.taken.outside) | self.known
        missing = [ast.Constant(name) for name in names if name not in sure]
        if missing:
            held = ast.Call(ast.Attribute(_call("_locals", ()), "keys", ast.Load()), [], [])
            missed = ast.UnaryOp(ast.Not(), ast.Compare(ast.Set(missing), [ast.LtE()], [held]))
            yield ast.If(missed, [*copy.deepcopy(way), ast.Return(None)], [])

    def _ending(self, passed):
        """The statements until the break, as those of a function that gives ``(False, variables)``
        there, and ``(True, result)`` where it ends before."""
        self.marker.value = _tuple([ast.Constant(False), _tuple(map(_name, passed))])
        return [*self.first_body, ast.Return(_tuple([ast.Constant(True), ast.Constant(None)]))]

    def _joining(self, first, passed, rests):
        """The statements of the function that calls the others."""
        target = _tuple([_name("_ended", ast.Store()), _name("_values", ast.Store())], ast.Store())
        body = [
            ast.Assign([target], first),
            ast.If(_name("_ended"), [ast.Return(_name("_values"))], []),
        ]
        if passed:
            names = _tuple([_name(name, ast.Store()) for name in passed], ast.Store())
            body.append(ast.Assign([names], _name("_values")))
        taken = self.position.taken
        body += [_Outside().visit(copy.deepcopy(each)) for each in taken.outside]
        if taken.test is not None:
            body.append(ast.If(taken.test, rests[0], []))
        return [*body, *rests[-1]]

    def _part(self, statements, names):
        given = [ast.arg(name) for name in names]
        args = ast.arguments([], given, kwonlyargs=[], kw_defaults=[], defaults=[])
        found = self._made(statements, args=args)
        found.__defaults__ = found.__kwdefaults__ = None
        return found

    def _made(self, body, values=None, args=None):
        args = _plain(self.tree.args) if args is None else args
        node = ast.FunctionDef(self.tree.name, args, body, [])
        ast.copy_location(node, self.position.statement)
        return function_of_tree(ast.fix_missing_locations(node), self.function, values or {})


def _first(position):
    """The statements of a function until it breaks, and the one that ends it there; what it
    returns has a mark."""
    marker = ast.Return(None)
    setattr(marker, _ARRIVED, True)
    found, below = [*position.taken.before, marker], None
    for held, at in reversed(position.lists):
        if below is not None:
            around = copy.copy(held[at])
            for name in ("body", "orelse"):
                branch = getattr(around, name)
                setattr(around, name, found if branch is below else _ended(branch))
            found = [around, *_ended(held[at + 1 :])]
        found, below = [*_ended(held[:at]), *found], held
    return found, marker


def _ended(statements):
    return [Returns().visit(copy.deepcopy(each)) for each in statements]


class _Outside(ast.NodeTransformer):
    """``f(x)`` becomes ``_called(f)(x)``, but for functions that look at who calls them."""

    def visit_Call(self, node):  # noqa: N802
        self.generic_visit(node)
        name = getattr(node.func, "id", "")
        if name != "super" and not name.startswith("_body_"):
            node.func = ast.copy_location(ast.Call(_name("_called"), [node.func], []), node.func)
        return node

    def _whole(self, node):
        return node

    visit_FunctionDef = visit_Lambda = visit_ClassDef = _whole  # noqa: N815


def _plain(given):
    """Parameters without annotations, and without what their defaults compute."""
    found = copy.deepcopy(given)
    for each in ast.walk(found):
        if isinstance(each, ast.arg):
            each.annotation = None
    found.defaults = [ast.Constant(None) for _ in found.defaults]
    found.kw_defaults = [each and ast.Constant(None) for each in found.kw_defaults]
    return found


def _nothing():
    """What is behind a break at the end of a function."""


def _name(name, context=None):
    return ast.Name(name, context or ast.Load())


def _tuple(items, context=None):
    return ast.Tuple(list(items), context or ast.Load())


def _call(name, names):
    return ast.Call(_name(name), [_name(each) for each in names], [])
