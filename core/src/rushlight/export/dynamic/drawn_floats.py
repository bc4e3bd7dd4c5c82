"""Floats that a program reads from tensors, and what it computes of them, while it is captured.

Whole numbers are told from each other by captures at several values; of floats each operation is a
node of the graph as soon as it is done. A float that reaches the graph otherwise, through
``math.exp`` for example, differs from capture to capture, which is an error.
"""

from __future__ import annotations

import math
import operator
import sys

from rushlight.export.dynamic.drawn import DrawnInt, Draws, UnfitError
from rushlight.export.dynamic.drawn_conditions import FloatCondition
from rushlight.export.dynamic.expressions import (
    COMPARISONS,
    Expression,
    SymBool,
    SymFloat,
    SymInt,
    symbol,
)
from rushlight.export.dynamic.number_functions import combined, expression_of
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from rushlight.fx.locations import at_user_line, is_ours
from rushlight.fx.node import Node

LONGEST = 200  # of an expression, which archives hold as text


# ------------------------------------------------------------------------------------- expressions
def computed(function, values):
    """What a node is that calls `function` on numbers: a :class:`SymFloat`, SymInt or SymBool;
    None where it has no expression."""
    if function in COMPARISONS:
        return SymBool(function, *map(expression_of, values))
    found = combined(function, values)
    if found is None:
        return None
    if found.length() > LONGEST:
        raise NotImplementedError(
            f"a float of more than {LONGEST} numbers and operations cannot be captured: compute it "
            "with tensors, before item()"
        )
    try:
        # whole numbers of a file may be large, and their powers without end
        plain = function(*(float(plain_of(value)) for value in values))
    except (ArithmeticError, ValueError, TypeError):
        plain = math.nan
    if not found.is_float() and plain == plain and not isinstance(plain, complex):
        return SymInt(int(plain), found)
    return SymFloat(math.nan if isinstance(plain, complex) else plain, "itself", found)


def plain_of(value):
    """A number without what it comes from."""
    if isinstance(value, float):
        return float.__pos__(value)
    return int.__index__(value) if type(value) is not bool else value


# ----------------------------------------------------------------------------------- while captured
def _arithmetic(function):
    def left(self, other):
        other = _operand(other)
        return NotImplemented if other is None else self.step(function, self, other)

    def right(self, other):
        other = _operand(other)
        return NotImplemented if other is None else self.step(function, other, self)

    return left, right


def _operand(value):
    """The other number of an operation, as a float; None for what is none."""
    if isinstance(value, DrawnInt):
        return value.as_float()
    return value if isinstance(value, DrawnFloat) else _plain_operand(value)


def _plain_operand(value):
    return float(value) if isinstance(value, int | float) else None


def _compared(kind):
    def compare(self, other):
        if isinstance(other, DrawnInt):
            other = other.as_float()
        if not isinstance(other, int | float):
            return NotImplemented
        return FloatCondition(kind, self, other, self.draws)

    return compare


def _refused(name):
    """A method that needs the value: the framework's own code gets the capture's."""
    plain = getattr(float, name)

    def method(self, *args):
        if is_ours(sys._getframe(1)):
            return plain(self, *args)
        if self.draws.assumed is not None and self.draws.assumed.pin(self.expression.symbols()):
            return plain(self, *args)
        raise GuardOnDataDependentSymNode(
            at_user_line(
                f"{name.strip('_')}() of {self.expression} needs its value "
                f"({self.draws.described()}): captured programs add, subtract, multiply and divide "
                "such floats and raise them to powers; compute other functions with tensors, "
                "before item()"
            )
        )

    return method


class DrawnFloat(float):
    """A float that a program reads from a tensor, or computes of one."""

    expression: Expression

    def __new__(cls, value, expression, node, draws):
        """The float of this capture, its expression, and the node that it is."""
        made = super().__new__(cls, value)
        made.expression, made.drawn_node, made.draws = expression, node, draws
        return made

    def as_plain(self) -> float:
        """The float of this capture alone."""
        return float.__pos__(self)

    def as_float(self) -> DrawnFloat:
        """The float itself."""
        return self

    def step(self, function, *values):
        """A node that calls `function`, and what it gives."""
        return self.draws.step(function, *values)

    __hash__ = float.__hash__
    __eq__, __ne__ = _compared(operator.eq), _compared(operator.ne)
    __lt__, __le__ = _compared(operator.lt), _compared(operator.le)
    __gt__, __ge__ = _compared(operator.gt), _compared(operator.ge)
    __add__, __radd__ = _arithmetic(operator.add)
    __sub__, __rsub__ = _arithmetic(operator.sub)
    __mul__, __rmul__ = _arithmetic(operator.mul)
    __truediv__, __rtruediv__ = _arithmetic(operator.truediv)
    __pow__, __rpow__ = _arithmetic(operator.pow)
    __floordiv__, __rfloordiv__ = _refused("__floordiv__"), _refused("__rfloordiv__")
    __mod__, __rmod__ = _refused("__mod__"), _refused("__rmod__")
    __divmod__, __rdivmod__ = _refused("__divmod__"), _refused("__rdivmod__")
    __int__, __trunc__, __round__ = map(_refused, ("__int__", "__trunc__", "__round__"))
    __floor__, __ceil__, __abs__ = map(_refused, ("__floor__", "__ceil__", "__abs__"))

    def __neg__(self):
        return self.step(operator.neg, self)

    def __pos__(self):
        return self

    def __bool__(self):
        condition = self != 0
        return condition.holds if is_ours(sys._getframe(1)) else condition.decided()


class FloatDraws(Draws):
    """The numbers that one capture reads, floats too."""

    def read_float(self, node, source="", real=None) -> DrawnFloat:
        """Another float, which `node` is; `real` is that of the example, where the capture has
        values."""
        name = self._free_name("zuf", self.floats)
        value = self.floats[name] = self._sample(name, 1.25, real)
        self.sources[name] = at_user_line(source)
        node.meta["val"] = SymFloat(value, "itself", symbol(name))
        found = DrawnFloat(value, symbol(name), node, self)
        if name in self.pinned:
            kind, same = (operator.ne, found) if math.isnan(value) else (operator.eq, value)
            FloatCondition(kind, found, same, self).assume()
        return found

    def step(self, function, *values) -> DrawnFloat:
        """A node that calls `function` on numbers that depend on values, and the float it gives;
        UnfitError where the numbers of this capture give none."""
        try:
            plain = function(*map(plain_of, values))
        except (ArithmeticError, ValueError) as error:
            raise UnfitError(str(error)) from None
        if isinstance(plain, complex):
            raise UnfitError(f"{function.__name__} of a negative number")
        node = self.recorder.node("call_function", function, values, {})
        found = computed(function, values)
        node.meta["val"] = found
        return DrawnFloat(plain, found.expression, node, self)


# --------------------------------------------------------------------------------------- afterwards
def finished(graph):
    """Drop floats of a graph that nobody reads, and let the others know their expressions, of which
    sizes may be part."""
    own = [node for node in graph.nodes if _is_own(node)]
    for node in reversed(own):
        if not node.users:
            graph.erase_node(node)
    for node in (node for node in own if not node.meta.get("of_sizes")):
        values = [a.meta.get("val") if isinstance(a, Node) else a for a in node.args]
        if node.users:
            node.meta["val"] = computed(node.target, values)


def _is_own(node):
    value = node.meta.get("val")
    computed_float = isinstance(value, SymFloat) and value.form == "itself"
    return computed_float and not node.meta.get("reads_values")
