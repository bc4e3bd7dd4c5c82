"""Numbers that a program reads from tensors, and comparisons of them, while it is captured.

Each has a value in every capture, a sample, and an expression of the symbols ``u0``, ``u1``, ...
What the program does must not depend on such a number, unless it has said what is known of it.
"""

from __future__ import annotations

import itertools
import math
import operator
import sys
from typing import Any

from rushlight import symbolic_numbers
from rushlight.export.dynamic.expressions import WORDS, Expression, add, number, over, symbol, times
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from rushlight.fx.locations import at_user_line, is_ours


class UnfitError(RuntimeError):
    """A program was captured with numbers that it says it never gets."""


def expression_of(value) -> Expression:
    """The expression of a whole number."""
    return value.expression if isinstance(value, DrawnInt) else number(value)


def _compared(kind):
    def compare(self, other):
        if isinstance(other, float) or not isinstance(other, int):
            return getattr(int, f"__{kind.__name__}__")(self, other)
        return Condition(kind, self, other, self.draws)

    return compare


def _arithmetic(name, combine):
    def left(self, other):
        return self._joined(name, other, lambda: combine(self.expression, expression_of(other)))

    def right(self, other):
        made = lambda: combine(expression_of(other), self.expression)  # noqa: E731
        return self._joined(f"__r{name[2:]}", other, made)

    return left, right


OPPOSITE = {
    operator.ge: operator.lt, operator.lt: operator.ge, operator.gt: operator.le,
    operator.le: operator.gt, operator.eq: operator.ne, operator.ne: operator.eq,
}  # fmt: skip


class DrawnInt(int):
    """A whole number that a program reads from a tensor."""

    expression: Expression

    def __new__(cls, value, expression, draws):
        """The number of this capture, and what it is in every other."""
        made = super().__new__(cls, value)
        made.expression, made.draws = expression, draws
        return made

    def as_plain(self) -> int:
        """The number of this capture alone."""
        return int(self)

    def __int__(self):
        if not is_ours(sys._getframe(1)):
            self.draws.plain.update(self.expression.symbols())
        return int.__index__(self)

    def _joined(self, name, other, expression):
        found = getattr(int, name)(self, other)
        if found is NotImplemented and isinstance(other, float):
            return getattr(self.as_float(), name)(other)
        if type(found) is not int or not isinstance(other, int):
            return found
        return DrawnInt(found, expression(), self.draws)

    __hash__ = int.__hash__
    __eq__, __ne__ = _compared(operator.eq), _compared(operator.ne)
    __lt__, __le__ = _compared(operator.lt), _compared(operator.le)
    __gt__, __ge__ = _compared(operator.gt), _compared(operator.ge)
    __add__, __radd__ = _arithmetic("__add__", add)
    __sub__, __rsub__ = _arithmetic("__sub__", lambda a, b: add(a, times(number(-1), b)))
    __mul__, __rmul__ = _arithmetic("__mul__", times)
    __floordiv__, __rfloordiv__ = _arithmetic("__floordiv__", over)
    __mod__, __rmod__ = _arithmetic("__mod__", lambda a, b: Expression(operator.mod, (a, b)))

    def __truediv__(self, other):
        if isinstance(other, DrawnInt) or type(other) is int:
            return self._quotient(self, other)
        return self._joined("__truediv__", other, None)

    def __rtruediv__(self, other):
        return self._quotient(other, self) if type(other) is int else NotImplemented

    def _quotient(self, left, right):
        return self.draws.step(operator.truediv, left, right)

    def as_float(self):
        """The number as a float, which is another node of the graph."""
        return self.draws.step(symbolic_numbers.sym_float, self)

    def __neg__(self):
        return self * -1

    def __bool__(self):
        condition = Condition(operator.ne, self, 0, self.draws)
        return condition.holds if is_ours(sys._getframe(1)) else condition.decided()

    def chosen(self, left, right):
        """Note that the program takes the larger or the smaller of two numbers."""
        self.draws.choices.append((expression_of(left), expression_of(right)))


class Condition:
    """A comparison of numbers, one of which a program reads from a tensor."""

    def __init__(self, kind, left, right, draws):
        self.kind, self.left, self.right, self.draws = kind, left, right, draws

    def __str__(self):
        return f" {WORDS[self.kind]} ".join(map(str, self.sides()))

    def symbols(self) -> frozenset[str]:
        """The numbers that it compares."""
        return frozenset().union(*(side.symbols() for side in self.sides()))

    def sides(self) -> tuple:
        """The expressions of both sides."""
        return expression_of(self.left), expression_of(self.right)

    @property
    def holds(self) -> bool:
        """Whether it holds in this capture."""
        return bool(self.kind(int(self.left), int(self.right)))

    @property
    def made_by(self) -> tuple:
        """The comparison and its operands, for the node that it becomes."""
        return self.kind, self.left, self.right

    def known(self) -> bool | None:
        """Whether it holds always, by what the program has said; None where that is not said."""
        return self.draws.decided(self)

    def assume(self):
        """Keep to it from now on."""
        self.draws.assume(self)
        if not self.holds:
            raise UnfitError(str(self))

    def __bool__(self):
        # checks of arguments are the framework's own: where they decide what runs, captures with
        # other numbers differ, which is noticed when these are compared
        if is_ours(sys._getframe(1)):
            return self.holds
        return self.decided()

    def opposite(self) -> Condition:
        """What holds where it does not."""
        return type(self)(OPPOSITE[self.kind], self.left, self.right, self.draws)

    def decided(self) -> bool:
        """Whether it holds always; an error where that is neither said nor assumed."""
        known = self.known()
        if self.draws.assumed is not None:
            return self.draws.assumed.decided(self, known)
        if known is None:
            raise GuardOnDataDependentSymNode(
                at_user_line(
                    f"Could not guard on data-dependent expression {self}: "
                    f"{self.draws.described(self.symbols())}, and what the program does must not "
                    f"depend on it. Say what always holds, before, with rushlight._check({self}), "
                    "or write the choice with rushlight.cond or rushlight.where"
                )
            )
        return known


class Draws:
    """The numbers that one capture reads: those that `plan` has by symbol, within their limits."""

    def __init__(self, plan=None, taken=()):
        self.plan, self.taken = plan or {}, taken
        self.values: dict[str, int] = {}
        self.limits: dict[str, list] = {}  # from the least to the greatest, as ops and checks say
        self.origins: dict = {}  # symbol -> the node, and the dimension or None
        self.sources: dict[str, str] = {}
        self.conditions: list[Condition] = []
        self.plain: set[str] = set()  # those that the program makes plain numbers of, by int()
        self.choices: list[tuple] = []  # pairs of expressions, of which the program takes one
        self.floats: dict[str, float] = {}
        self.facts: dict = {}  # conditions of floats by kind and sides
        self.recorder: Any = None  # of the capture
        self.tracking: Any = None  # of sizes, the same for all captures
        self.assumed: Any = None  # the numbers and choices of an example, which drafts keep to
        self.pinned: set[str] = set()  # numbers that are those of the example

    @property
    def numbers(self) -> dict:
        """All numbers by symbol."""
        return self.values | self.floats

    def take(self, least=None, most=None, source="", real=None) -> DrawnInt:
        """Another number; `real` is that of the example, where the capture has values."""
        name = self._free_name("u", self.values)
        low, high = -math.inf if least is None else least, math.inf if most is None else most
        value = self._sample(name, 3, real)
        value = min(max(value, low), high)
        self.values[name], self.limits[name] = int(value), [low, high]
        self.sources[name] = at_user_line(source)
        found = DrawnInt(int(value), symbol(name), self)
        if name in self.pinned:
            self.assume(Condition(operator.eq, found, int(value), self))
        return found

    def _free_name(self, prefix, held):
        names = (f"{prefix}{i}" for i in itertools.count())
        return next(name for name in names if name not in held and name not in self.taken)

    def reserved(self, is_float) -> str:
        """The name of a number that the program reads at once, so that it is none of the graph."""
        name = self._free_name(*(("zuf", self.floats) if is_float else ("u", self.values)))
        self.taken = frozenset((*self.taken, name))
        return name

    def _sample(self, name, default, real):
        """The number of this capture: what is planned, or first the example's."""
        if self.assumed is None:
            return self.plan.get(name, default)
        real, pinned = self.assumed.number(name, real)
        if not pinned:
            return self.plan.get(name, real)
        self.pinned.add(name)
        return real

    def given(self, found):
        """A number as the program gets it: a plain one where it is always the example's."""
        return found.as_plain() if str(found.expression) in self.pinned else found

    def described(self, names=None):
        """Where the numbers come from, in words; of some of them, or of all."""
        names = self.sources if names is None else [n for n in self.sources if n in names]
        return ", ".join(f"{name} is {self.sources[name]}" for name in names)

    def assume(self, condition):
        """Note a condition, and what it says of the limits of single numbers."""
        self.conditions.append(condition)
        narrow(self.limits, condition.kind, *condition.sides())

    def decided(self, condition, least=-math.inf):
        """Whether a condition holds for all numbers within the limits, and not below `least`; None
        where that differs."""
        limits = {name: (max(low, least), high) for name, (low, high) in self.limits.items()}
        left, right = (interval(side, limits) for side in condition.sides())
        if condition.kind in (operator.eq, operator.ne):
            same = left[0] == left[1] == right[0] == right[1]
            apart = left[1] < right[0] or right[1] < left[0]
            return same is (condition.kind is operator.eq) if same or apart else None
        corners = {bool(condition.kind(a, b)) for a in left for b in right}
        return corners.pop() if len(corners) == 1 else None


def interval(expression, limits):
    """The least and the greatest value of an expression."""
    if expression.kind == "number":
        return expression.parts[0], expression.parts[0]
    if expression.kind == "symbol":
        return tuple(limits.get(expression.parts[0], (-math.inf, math.inf)))
    (a, b), (c, d) = (interval(part, limits) for part in expression.parts)
    if expression.kind is operator.add:
        return a + c, b + d
    if expression.kind is operator.mul and not any(map(math.isinf, (a, b, c, d))):
        corners = [x * y for x in (a, b) for y in (c, d)]
        return min(corners), max(corners)
    return -math.inf, math.inf


_MIRRORED = {
    operator.ge: operator.le, operator.le: operator.ge, operator.gt: operator.lt,
    operator.lt: operator.gt, operator.eq: operator.eq,
}  # fmt: skip


def narrow(limits, kind, left, right):
    """What a comparison says of the limits of each symbol that is a term of one side."""
    for way, one, other in ((kind, left, right), (_MIRRORED.get(kind), right, left)):
        terms = _terms(one)
        for i, term in enumerate(terms):
            if term.kind == "symbol" and term.parts[0] in limits:
                rest = [interval(t, limits) for j, t in enumerate(terms) if j != i]
                low, high = interval(other, limits)
                low -= sum(r[1] for r in rest)
                high -= sum(r[0] for r in rest)
                _narrowed(limits[term.parts[0]], way, low, high)


def _terms(expression):
    if expression.kind is operator.add:
        return [term for part in expression.parts for term in _terms(part)]
    return [expression]


def _narrowed(limit, kind, low, high):
    strict = kind in (operator.gt, operator.lt)
    if kind in (operator.ge, operator.gt, operator.eq) and not math.isnan(low):
        limit[0] = max(limit[0], low + strict)
    if kind in (operator.le, operator.lt, operator.eq) and not math.isnan(high):
        limit[1] = min(limit[1], high - strict)
