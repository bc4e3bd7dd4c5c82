"""Conditions: what they say of the types of variables."""

from __future__ import annotations

import ast

from rushlight.jit import kinds, tree
from rushlight.jit.frontend import operators, scope
from rushlight.jit.frontend.operators import COMPARE
from rushlight.jit.kinds import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    STR,
    UNKNOWN,
)

_CONSTANTS = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STR, type(None): NONE}


class Conditions:
    """What a function's compiler knows of conditions."""

    def condition(self, node):
        """A condition with what it says of variables."""
        if isinstance(node, ast.BoolOp):
            return self.logic(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            test, facts = self.condition(node.operand)
            made = tree.Unary("not", test, type=BOOL, at=self.at(node))
            return made, facts.negated()
        if isinstance(node, ast.Compare):
            return self.compared(node)
        if isinstance(node, ast.Call):
            found = self.asked(node)
            if found is not None:
                return found
        value = self.expr(node)
        known = None
        if isinstance(value, tree.Const) and type(value.value) in (bool, type(None)):
            known = bool(value.value)
        if value.type.name == "Optional" and not self.resolver.rebinds:
            self.fault(node, f"Could not cast value of type {value.type} to bool")
        return value, scope.Facts(value=known)

    def logic(self, node):
        """``and`` and ``or``: what the first says holds in the second."""
        union = isinstance(node.op, ast.Or)
        outer, items, facts = self.scope, [], None
        for part in node.values:
            test, said = self.condition(part)
            items.append(test)
            facts = said if facts is None else (scope.either if union else scope.both)(facts, said)
            if facts.value is union:
                break
            self.scope = self.scope.branch(facts.no if union else facts.yes)
        self.scope = outer
        made = tree.Logic("or" if union else "and", items, type=BOOL, at=self.at(node))
        return made, facts

    def compared(self, node):
        """A comparison; a chain is joined with ``and``."""
        left, tests, facts = node.left, [], None
        for op, right in zip(node.ops, node.comparators, strict=True):
            test, said = self.one_comparison(COMPARE[type(op)], left, right, node)
            tests.append(test)
            facts = said if facts is None else scope.both(facts, said)
            left = right
        if len(tests) == 1:
            return tests[0], facts
        return tree.Logic("and", tests, type=BOOL, at=self.at(node)), facts

    def one_comparison(self, op, left, right, node):
        """``left op right``."""
        if op in ("is", "is not"):
            for one, other in ((left, right), (right, left)):
                if isinstance(other, ast.Constant) and other.value is None:
                    return self.compared_with_none(op, one, other, node)
        a, b = self.expr(left), self.expr(right)
        if op in ("==", "!="):
            a, b = self.as_list_beside(a, b, node), self.as_list_beside(b, a, node)
        kind = operators.comparison(op, a.type, b.type)
        value = None
        if isinstance(a, tree.Const) and isinstance(b, tree.Const) and op in ("==", "!="):
            value = (a.value == b.value) == (op == "==")
        made = tree.Compare(op, a, b, type=kind, at=self.at(node))
        return made, scope.Facts(value=value)

    def as_list_beside(self, value, other, node):
        """A tuple as a list where it is compared with one: ``x.shape == (2, 3)``."""
        wanted = other.type
        if value.type.name != "Tuple" or wanted.name != "List":
            return value
        if not self.fits_list(value, wanted):
            self.fault(node, f"a value of type '{self.shown(wanted)}' is not compared with one of "
                       f"type '{self.shown(value.type)}'")  # fmt: skip
        return self.as_list(value, wanted)

    def fits_list(self, value, wanted):
        """Whether a value is a tuple whose items are those of a list of some type."""
        inner = wanted.args[0] if wanted.name == "List" else None
        items = value.type.args if value.type.name == "Tuple" else (None,)
        return inner is not None and all(i is not None and kinds.fits(i, inner) for i in items)

    def as_list(self, value, wanted):
        """A tuple as a list of a type that its items fit."""
        if isinstance(value, tree.Sequence):
            return tree.Sequence("list", value.items, type=wanted, at=value.at)
        if isinstance(value, tree.Name):
            return self.listed(value, wanted)
        self.counter += 1  # a call is made once: its result is the one item of a loop
        held = tree.Name(f"_held{self.counter}", type=value.type, at=value.at)
        once = tree.Sequence("list", [value], type=kinds.list_of(value.type), at=value.at)
        lists = tree.Comprehension("list", None, self.listed(held, wanted), held, once, None,
                                   type=kinds.list_of(wanted), at=value.at)  # fmt: skip
        return tree.Item(lists, tree.Const(0, type=kinds.INT), type=wanted, at=value.at)

    def listed(self, name, wanted):
        """The items of a tuple that has a name."""
        items = [
            tree.Item(name, tree.Const(i, type=kinds.INT), type=kind, at=name.at)
            for i, kind in enumerate(name.type.args)
        ]
        return tree.Sequence("list", items, type=wanted, at=name.at)

    def compared_with_none(self, op, left, right, node):
        """``x is None``."""
        value = self.value(left)
        none = tree.nothing(self.at(right))
        positive = op == "is"
        if not isinstance(value, tree.Expr):
            return tree.Const(not positive, type=BOOL), scope.Facts(value=not positive)
        name = value.name if isinstance(value, tree.Name) else None
        made = tree.Compare(op, value, none, type=BOOL, at=self.at(node))
        if value.type in (UNKNOWN, ANY):
            return made, scope.Facts()
        return made, scope.none_test(name, value.type, positive)

    def ex_boolop(self, node, hint):
        """``and``, ``or``."""
        return self.condition(node)[0]

    def ex_compare(self, node, hint):
        """A comparison, or a chain of them."""
        return self.condition(node)[0]

    def ex_ifexp(self, node, hint):
        """``a if test else b``."""
        test, facts = self.condition(node.test)
        if facts.value is not None:
            return self.value(node.body if facts.value else node.orelse, hint)
        outer = self.scope
        self.scope = outer.branch(facts.yes)
        yes = self.expr(node.body, hint)
        self.scope = outer.branch(facts.no)
        no = self.expr(node.orelse, hint)
        self.scope = outer
        kind = kinds.joined(yes.type, no.type)
        if kind is None and hint is not None and kinds.fits(yes.type, hint):
            kind = hint if kinds.fits(no.type, hint) else None
        if kind is None and {yes.type, no.type} <= {INT, FLOAT, BOOL, kinds.NUMBER}:
            kind = kinds.NUMBER
        if kind is None:
            if not self.resolver.rebinds:
                self.fault(node, f"if-expression's true branch has type {yes.type} but false "
                           f"branch has type {no.type}")  # fmt: skip
            kind = UNKNOWN
        return tree.Choose(test, yes, no, type=kind, at=self.at(node))
