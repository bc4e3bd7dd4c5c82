"""Bodies of statements that break as functions of their own.

A loop, ``with`` or ``try`` that cannot be part of a graph as a whole runs as Python; what its
bodies do are functions that are captured, and cut again where they break::

    for i in items:                 for i in items:
        y = torch.relu(x)               _ended, _values = _body_0(x)
        print(i)                        x = _values[0]
        x = torch.sin(y)

The test of a ``while`` is computed before the loop, and at the end of each turn.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from rushlight.capture.hoisting import Taken, hoist_operands, hold
from rushlight.capture.variables import (
    ENDS,
    assigned_for_sure,
    in_order,
    lets_errors_pass,
    needed,
    reads,
    stores,
)

_BROKEN = "break"  # what a body says that ends its loop
_LAZY = frozenset("enumerate filter iter map range reversed zip".split())
_NOTHING = (ast.Pass, ast.Break, ast.Continue)


@dataclass
class Body:
    """A body as a function: its `name`, `statements` and parameters, `inputs`."""

    name: str
    statements: list
    inputs: list


def outlined(statement, known, behind, own, first):
    """A statement taken apart with bodies that are functions, or None where that is not known to do
    the same. `known`: the variables with a value before it; `behind`: those that what is behind it
    reads; `own`: all of the function; `first`: its parameter that `super()` looks at."""
    method = _METHODS.get(type(statement))
    if method is None:
        return None
    outliner = _Outliner(set(known), set(behind), own, first)
    found = method(outliner, copy.deepcopy(statement))
    return found if found is not None and found.bodies else None


class _Outliner:
    """Makes functions of the bodies of one statement."""

    def __init__(self, known, behind, own, first):
        self.known, self.behind, self.own, self.first = known, behind, own, first
        self.bodies: list = []

    def loop(self, node):
        """A ``for`` statement."""
        found = Taken(outside=[node], bodies=self.bodies)
        _hoist_iterable(node.iter, found.before)
        after = needed(node.body) | needed(node.orelse) | self.behind
        body = self._called(node.body, self.known | stores([node.target]), after)
        if body is None:
            return None
        node.body, node.orelse = body, self._or_as_is(node.orelse)
        return found

    def turns(self, node):
        """A ``while`` statement."""
        found = Taken(outside=[node], bodies=self.bodies)
        test, ending = node.test, []
        node.test = hold(test, found.before)
        if node.test is not test:
            again = ast.Assign([ast.Name(node.test.id, ast.Store())], copy.deepcopy(test))
            ending = [ast.copy_location(again, test)]
        self.own = self.own | stores(ending)
        after = needed([*node.body, *ending]) | needed(node.orelse) | self.behind
        after |= reads([node.test])
        body = self._called(node.body, self.known | stores(ending), after, ending)
        if body is None:
            return None
        node.body, node.orelse = body, self._or_as_is(node.orelse)
        return found

    def managed(self, node):
        """A ``with`` statement. Where its manager may go on behind an error, nothing that its body
        assigns may be read there."""
        if not all(map(lets_errors_pass, node.items)) and stores(node.body) & self.behind:
            return None
        given = stores([item.optional_vars for item in node.items if item.optional_vars])
        node.body = self._or_as_is(node.body, given)
        return Taken(outside=[node], bodies=self.bodies)

    def tried(self, node):
        """A ``try`` statement. Nothing that its body assigns may be read behind an error."""
        rescue = needed(node.finalbody)
        for handler in node.handlers:
            rescue |= needed(handler.body)
            rescue |= set() if isinstance(handler.body[-1], ENDS) else self.behind
        rest = needed(node.orelse) | needed(node.finalbody) | self.behind
        if not stores(node.body) & rescue:
            node.body = self._or_as_is(node.body, after=rest)
        if not stores(node.orelse) & needed(node.finalbody):
            node.orelse = self._or_as_is(node.orelse, after=rest)
        node.finalbody = self._or_as_is(node.finalbody)
        return Taken(outside=[node], bodies=self.bodies)

    def _or_as_is(self, statements, given=frozenset(), after=None):
        """Statements as the call of a function, or as they are."""
        after = self.behind if after is None else after
        found = self._called(statements, self.known | given, after)
        return statements if found is None else found

    def _called(self, statements, known, after, ending=()):
        """The call of a function that does what statements do, those at the `ending` of each turn
        of a loop included; None where a variable may have no value. `after`: the variables that are
        read behind it."""
        if all(isinstance(each, _NOTHING) for each in statements) or _jumps_late(statements):
            return None
        whole = [*statements, *ending]
        outputs = sorted(stores(whole) & after)
        sure = set() if _jumps(statements) else assigned_for_sure(whole)
        read = needed(whole)
        inputs = (read & self.own) | (set(outputs) - sure)
        if not inputs <= known:
            return None
        inputs = in_order(inputs | (read & {"super"}), self.first)
        body = Body(
            f"_body_{len(self.bodies)}", _Body(outputs, ending).function(statements), inputs
        )
        self.bodies.append(body)
        return [ast.copy_location(each, statements[0]) for each in _call(body, outputs)]


_METHODS = {
    ast.For: _Outliner.loop, ast.While: _Outliner.turns, ast.With: _Outliner.managed,
    ast.Try: _Outliner.tried,
}  # fmt: skip


def _call(body, outputs):
    """The statements that call a body and do what it says."""
    target = _tuple([_name(n, ast.Store()) for n in ("_ended", "_values")], ast.Store())
    yield ast.Assign([target], ast.Call(_name(body.name), [_name(n) for n in body.inputs], []))
    ends = [each.value.elts[0].value for each in _returns(body.statements)]
    if True in ends:
        test = ast.Compare(_name("_ended"), [ast.Is()], [ast.Constant(True)])
        yield ast.If(test, [ast.Return(_name("_values"))], [])
    if outputs:
        names = _tuple([_name(name, ast.Store()) for name in outputs], ast.Store())
        yield ast.Assign([names], _name("_values"))
    if _BROKEN in ends:
        test = ast.Compare(_name("_ended"), [ast.Eq()], [ast.Constant(_BROKEN)])
        yield ast.If(test, [ast.Break()], [])


def _returns(statements):
    """The return statements of a function with a body, not of those inside of it."""
    for node in statements:
        if isinstance(node, ast.Return):
            yield node
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _returns(ast.iter_child_nodes(node))


def _jumps(statements):
    """Whether a turn of a loop may end before its last statement and the loop, or what is behind
    it, go on."""
    return any(isinstance(n, ast.Break | ast.Continue) for s in statements for n in ast.walk(s))


def _jumps_late(statements):
    """Whether a ``finally`` runs behind a jump, and may change what its loop goes on with."""
    nodes = [node for each in statements for node in ast.walk(each)]
    return any(isinstance(node, ast.Try) and node.finalbody and _jumps([node]) for node in nodes)


class Returns(ast.NodeTransformer):
    """``return x`` becomes ``return True, x``."""

    def visit_Return(self, node):  # noqa: N802 - the name that `ast` asks for
        """A return statement."""
        value = ast.Constant(None) if node.value is None else node.value
        return ast.copy_location(ast.Return(_tuple([ast.Constant(True), value])), node)

    def _whole(self, node):
        return node

    visit_FunctionDef = visit_Lambda = visit_ClassDef = _whole  # noqa: N815


class _Body(Returns):
    """A body as that of a function, which returns how it ended and variables."""

    def __init__(self, outputs, ending):
        self.outputs, self.ending, self.inner = outputs, ending, False

    def function(self, statements):
        """The statements of the function."""
        return [*self._each(copy.deepcopy(statements)), *self._end(statements[-1])]

    def _end(self, node, how=False):
        values = _tuple([_name(name) for name in self.outputs])
        returned = ast.Return(_tuple([ast.Constant(how), values]))
        before = [] if how else copy.deepcopy([*self.ending])
        return [*before, ast.copy_location(returned, node)]

    def _each(self, statements):
        found = []
        for each in statements:
            changed = self.visit(each)
            found += changed if isinstance(changed, list) else [changed]
        return found

    def visit_Break(self, node):  # noqa: N802
        return node if self.inner else self._end(node, _BROKEN)

    def visit_Continue(self, node):  # noqa: N802
        return node if self.inner else self._end(node)

    def _loop(self, node):
        inner, self.inner = self.inner, True
        node.body = self._each(node.body)
        self.inner = inner
        node.orelse = self._each(node.orelse)
        return node

    visit_For = visit_While = _loop  # noqa: N815


def _hoist_iterable(node, before):
    """Assign what an iterable is made of to variables; iterators are made where they are used."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) in _LAZY:
        for each in node.args:
            _hoist_iterable(each, before)
    elif not isinstance(node, ast.Attribute):
        hoist_operands(node, before)


def _name(name, context=None):
    return ast.Name(name, context or ast.Load())


def _tuple(items, context=None):
    return ast.Tuple(list(items), context or ast.Load())
