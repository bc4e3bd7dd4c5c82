"""Expressions of a function."""

from __future__ import annotations

import ast

from rushlight.jit import kinds, tree
from rushlight.jit.frontend import operators
from rushlight.jit.frontend.operators import BINARY, UNARY
from rushlight.jit.frontend.values import Bound, Static
from rushlight.jit.kinds import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    UNKNOWN,
    ClassType,
)
from rushlight.jit.scalars import FORMAT

_CONSTANTS = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STR, type(None): NONE}


class Expressions:
    """What a function's compiler knows of expressions."""

    def value(self, node, hint=None):
        """An expression, or what is known without one: a module of Python, a function, a method."""
        step = getattr(self, "ex_" + type(node).__name__.lower(), None)
        if step is None:
            self.unsupported(node)
        return step(node, hint)

    def expr(self, node, hint=None):
        """An expression in the intermediate form."""
        return self.as_expr(self.value(node, hint), node)

    def as_expr(self, value, node):
        """A value as an expression."""
        if isinstance(value, tree.Expr):
            return value
        if isinstance(value, Static):
            found = self.resolver.constant(value, self.at(node))
            if found is not None:
                return found
        return self.fault(node, f"{value} cannot be used as a value")

    # -------------------------------------------------------------------------------- leaves
    def ex_constant(self, node, hint):
        """A number, a string, None, True, False, ``...``."""
        if node.value is Ellipsis:
            return tree.Const(Ellipsis, type=UNKNOWN, at=self.at(node))
        kind = _CONSTANTS.get(type(node.value))
        if kind is None:
            self.unsupported(node)
        return tree.Const(node.value, type=kind, at=self.at(node))

    def ex_name(self, node, hint):
        """A variable, or what the name means outside of the function."""
        name = node.id
        if name in self.scope.partial and not self.resolver.rebinds:
            where = self.scope.partial[name]
            if where == "loop":
                self.fault(node, f"{name} is not defined if the loop does not run")
            self.fault(node, f"{name} is not defined in the {where} branch")
        if name in self.statics:
            return self.statics[name]
        kind = self.scope.known.get(name)
        if kind is not None:
            return tree.Name(name, type=kind, at=self.at(node))
        found = self.resolver.name(name, self.at(node))
        if found is None:
            self.fault(node, f"undefined value {name}")
        return found

    def ex_attribute(self, node, hint):
        """``value.name``."""
        return self.attribute(self.value(node.value), node.attr, node)

    def attribute(self, value, name, node):
        """An attribute of a value."""
        if isinstance(value, Static):
            found = self.resolver.attribute(value, name, self.at(node))
            if found is None:
                self.fault(node, f"{value} has no attribute '{name}'")
            return found
        if isinstance(value, Bound):
            self.fault(node, f"a method has no attribute '{name}'")
        kind = value.type
        if isinstance(kind, ClassType):
            return self.member(value, kind, name, node)
        if kind == TENSOR or kind == kinds.DEVICE:
            found = self.resolver.property(value, name, self.at(node))
            if found is not None:
                return found
        if kind.name == "Tuple" and name in kind.fields:
            place = kind.fields.index(name)
            index = tree.Const(place, type=kinds.INT, at=self.at(node))
            return tree.Item(value, index, type=kind.args[place], at=self.at(node))
        if name.startswith("__"):
            self.fault(node, f"'{kind}' object has no attribute or method '{name}'")
        if kind.name == "Optional":
            self.fault(node, f"'{kind}' object has no attribute or method '{name}': did you forget "
                       "to refine it with 'is not None'?")  # fmt: skip
        return Bound(value, name)

    def member(self, value, kind, name, node):
        """An attribute or method of an object of a class."""
        found = self.resolver.member(self, value, kind, name, self.at(node))
        if found is None:
            what = "Module" if kind.kind == "module" else "Class"
            self.fault(node, f"{what} '{kind.text.rpartition('.')[2]}' has no attribute '{name}'")
        return found

    def attribute_type(self, target):
        """The declared type of ``object.name``; None where there is none."""
        value = self.value(target.value)
        if not isinstance(value, tree.Expr) or not isinstance(value.type, ClassType):
            return None
        if value.type.kind == "module" and target.attr in value.type.constants:
            self.fault(target, f"cannot assign to the constant '{target.attr}'")
        found = value.type.attributes.get(target.attr)
        if found is None and self.can_declare(value, target):
            return None
        if found is None and isinstance(value.type, ClassType):
            self.fault(target, f"Tried to set nonexistent attribute: {target.attr}. Did you forget "
                       "to initialize it in __init__()?")  # fmt: skip
        return found

    # ---------------------------------------------------------------------------- containers

    # ------------------------------------------------------------------------------- operators
    def ex_unaryop(self, node, hint):
        """An operator of one operand."""
        if isinstance(node.op, ast.Not):
            return self.condition(node)[0]
        value = self.expr(node.operand)
        if isinstance(value, tree.Const) and isinstance(node.op, ast.USub):
            return tree.Const(-value.value, type=value.type, at=self.at(node))
        kind = INT if value.type == BOOL else value.type
        return tree.Unary(UNARY[type(node.op)], value, type=kind, at=self.at(node))

    def ex_binop(self, node, hint):
        """An operator of two operands."""
        op = BINARY[type(node.op)]
        left, right = self.lists_added(op, self.expr(node.left), self.expr(node.right))
        kind = self.binary_type(op, left, right, node)
        return tree.Binary(op, left, right, type=kind, at=self.at(node))

    def lists_added(self, op, left, right):
        """Both operands; a tuple that is added to a list is one: ``x.size()[:2] + (1, 2)``."""
        if op != "+" or () in (left.type.args, right.type.args):
            return left, right
        if self.fits_list(right, left.type):
            return left, self.as_list(right, left.type)
        if self.fits_list(left, right.type):
            return self.as_list(left, right.type), right
        return left, right

    def binary_type(self, op, left, right, node):
        """The type of an operation; an error where there is none."""
        kind = operators.binary(op, left.type, right.type)
        if kind is None:
            if self.resolver.rebinds:
                return UNKNOWN
            self.fault(node, f"Arguments for call are not valid: {left.type} {op} {right.type}")
        return kind

    # ------------------------------------------------------------------------------ conditions

    # ------------------------------------------------------------------------------- subscripts

    # --------------------------------------------------------------------------- other forms

    def ex_joinedstr(self, node, hint):
        """An f-string: ``"{}".format(...)``."""
        text, values = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += part.value
                if "{}" in part.value:
                    self.fault(part, "the text of an f-string cannot hold '{}'")
                continue
            if part.format_spec is not None or part.conversion == ord("a"):
                self.fault(part, "f-strings have no formats here")
            value = self.expr(part.value)
            quoted = part.conversion == ord("r") and value.type == STR
            text += "'{}'" if quoted else "{}"
            values.append(value)
        form = tree.Const(text, type=STR, at=self.at(node))
        return tree.Call(FORMAT, [form, *values], {}, type=STR, at=self.at(node))

    def ex_starred(self, node, hint):
        """``*value`` outside of calls and tuples."""
        return self.unsupported(node)
