"""Expressions of sizes: whole numbers that depend on sizes that may differ."""

from __future__ import annotations

import builtins
import math
import operator
import re
from dataclasses import dataclass
from typing import Any

from rushlight import symbolic_numbers

_WORDS = {
    operator.add: "+", operator.mul: "*", operator.floordiv: "//", operator.mod: "%",
    operator.truediv: "/", operator.pow: "**",
}  # fmt: skip
# What PyTorch's archives call them.
NAMES = {
    operator.add: "Add", operator.mul: "Mul", operator.floordiv: "FloorDiv", operator.mod: "Mod",
    max: "Max", min: "Min",
}  # fmt: skip
# Whole numbers that archives may name in sizes, but of which they have no nodes.
WHOLE_NAMES = {
    operator.abs: "Abs", math.floor: "FloorToInt", math.ceil: "CeilToInt",
    math.trunc: "TruncToInt", builtins.round: "RoundToInt",
}  # fmt: skip
# What floats of such numbers are made by; archives of programs never have these in a size.
FLOAT_NAMES = {
    float: "ToFloat", operator.truediv: "FloatTrueDiv", operator.pow: "FloatPow",
    symbolic_numbers.sym_sqrt: "OpaqueUnaryFn_sqrt",
}  # fmt: skip
_BINDING = {
    operator.add: 1, operator.mul: 2, operator.floordiv: 2, operator.mod: 2, operator.truediv: 2,
    operator.pow: 3,
}  # fmt: skip


@dataclass(frozen=True)
class Expression:
    """A symbol (`parts` is its name), a number, or a function of expressions: `kind` is
    ``"symbol"``, ``"number"`` or one of those that `NAMES`, `WHOLE_NAMES` and `FLOAT_NAMES`
    have."""

    kind: Any
    parts: tuple

    def value(self, sizes) -> int:
        """Its number, given those of the symbols by name."""
        if self.kind == "number":
            return self.parts[0]
        if self.kind == "symbol":
            return sizes[self.parts[0]]
        values = [part.value(sizes) for part in self.parts]
        return _power(*values) if self.kind is operator.pow else self.kind(*values)

    def symbols(self) -> frozenset:
        """The names of the symbols in it."""
        if self.kind == "number":
            return frozenset()
        if self.kind == "symbol":
            return frozenset(self.parts)
        return frozenset().union(*(part.symbols() for part in self.parts))

    def line(self) -> tuple[str, int, int]:
        """Of ``factor * symbol + offset``: the symbol's name, factor, and offset."""
        (name,) = self.symbols()
        offset, next_one = (self.value({name: n}) for n in (0, 1))
        return name, next_one - offset, offset

    def is_line(self) -> bool:
        """Whether :meth:`line` tells what its one symbol is."""
        return len(self.symbols()) == 1 and self._is_linear() and self.line()[1] != 0

    def _is_linear(self):
        if self.kind is operator.mul:
            return any(not part.symbols() for part in self.parts) and self._has_linear_parts()
        return self.kind in ("number", "symbol") or (
            self.kind is operator.add and self._has_linear_parts()
        )

    def _has_linear_parts(self):
        return all(part._is_linear() for part in self.parts)

    def largest(self) -> int:
        """The largest number in it, without its sign; 0 without one."""
        if self.kind in ("number", "symbol"):
            return abs(self.parts[0]) if self.kind == "number" else 0
        return max(part.largest() for part in self.parts)

    def length(self) -> int:
        """How many symbols, numbers and operations it has."""
        if self.kind in ("number", "symbol"):
            return 1
        return 1 + sum(part.length() for part in self.parts)

    def renamed(self, names) -> Expression:
        """The same with other names of symbols."""
        if self.kind == "number":
            return self
        if self.kind == "symbol":
            return symbol(names.get(self.parts[0], self.parts[0]))
        return Expression(self.kind, tuple(part.renamed(names) for part in self.parts))

    def substituted(self, name, expression) -> Expression:
        """The same with an expression instead of a symbol."""
        if self.kind == "number":
            return self
        if self.kind == "symbol":
            return expression if self.parts[0] == name else self
        return Expression(self.kind, tuple(p.substituted(name, expression) for p in self.parts))

    def __str__(self):
        if self.kind in ("number", "symbol"):
            return str(self.parts[0])
        if self.kind not in _WORDS:
            return f"{self.kind.__name__}({', '.join(map(str, self.parts))})"
        left, right = (self._inside(part) for part in self.parts)
        space = " " if self.kind is operator.add else ""
        return f"{left}{space}{_WORDS[self.kind]}{space}{right}"

    __repr__ = __str__

    def _inside(self, part):
        loose = part.kind in _BINDING and (
            _BINDING[part.kind] < _BINDING[self.kind]
            or (self.kind, part.kind) != (operator.add, operator.add)
            and _BINDING[part.kind] == _BINDING[self.kind]
        )
        return f"({part})" if loose else str(part)

    def depends_on_values(self) -> bool:
        """Whether a symbol in it is a number that the program reads: PyTorch names these so."""
        return any(re.fullmatch(r"(zuf|u)\d+", name) for name in self.symbols())

    def as_sympy(self) -> str:
        """As PyTorch's archives have it."""
        if self.kind == "number":
            return _number_as_sympy(self.parts[0])
        if self.kind == "symbol":
            if self.is_float():
                return f"Symbol('{self.parts[0]}')"
            sign = "" if self.depends_on_values() else "positive=True, "
            return f"Symbol('{self.parts[0]}', {sign}integer=True)"
        name = (NAMES | WHOLE_NAMES | FLOAT_NAMES)[self.kind]
        if not any(part.is_float() for part in self.parts):
            name = _OF_WHOLE.get(self.kind, name)
        if self.kind is operator.floordiv and self.is_float():
            quotient = Expression(operator.truediv, self.parts)
            return f"ToFloat(FloorToInt({quotient.as_sympy()}))"
        if self.kind is builtins.round and len(self.parts) > 1:
            name = "RoundDecimal"
        return f"{name}({', '.join(part.as_sympy() for part in self.parts)})"

    def is_float(self) -> bool:
        """Whether its values are floats, not whole numbers."""
        if self.kind == "number":
            return isinstance(self.parts[0], float)
        if self.kind == "symbol":
            return re.fullmatch(r"zuf\d+", self.parts[0]) is not None
        inside = any(part.is_float() for part in self.parts)
        if self.kind in _TO_WHOLE:
            return self.kind is builtins.round and len(self.parts) > 1 and inside
        return inside or (self.kind in FLOAT_NAMES and self.kind is not operator.pow)


def _power(base, exponent):
    """A power; OverflowError for whole numbers of more digits than those of any program."""
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and base.bit_length() * exponent > MOST_BITS:
        raise OverflowError(f"a number of more than {MOST_BITS} bits is no size")
    return base**exponent


MOST_BITS = 1 << 14  # of powers of sizes, which files name too
_TO_WHOLE = (math.floor, math.ceil, math.trunc, builtins.round)
_OF_WHOLE = {operator.truediv: "IntTrueDiv", operator.pow: "PowByNatural"}


def _number_as_sympy(value):
    if not isinstance(value, float):
        return f"Integer({value})"
    if math.isfinite(value):
        return f"Float('{value!r}', precision=53)"
    return "nan" if math.isnan(value) else "oo" if value > 0 else "-oo"


def symbol(name: str) -> Expression:
    """A size that may differ."""
    return Expression("symbol", (name,))


def number(value: int) -> Expression:
    """A number."""
    return Expression("number", (int(value),))


def simplest(sizes: dict, name: str) -> tuple:
    """Of sizes by their key, the key and expression of the shortest that has a symbol."""
    with_it = [item for item in sizes.items() if name in item[1].symbols()]
    return min(with_it, key=lambda item: item[1].length())


def add(left: Expression, right) -> Expression:
    """A sum with an expression or a number; nothing is added for 0."""
    if isinstance(right, int):
        if right == 0:
            return left
        right = number(right)
    return Expression(operator.add, (left, right))


def times(factor, right: Expression) -> Expression:
    """A product with an expression or a number."""
    if isinstance(factor, int):
        if factor == 1:
            return right
        factor = number(factor)
    return Expression(operator.mul, (factor, right))


def over(left: Expression, right) -> Expression:
    """A quotient, rounded down."""
    return Expression(operator.floordiv, (left, number(right) if isinstance(right, int) else right))


# Comparisons as PyTorch's archives call them.
COMPARISONS = {
    operator.ge: "GreaterThan", operator.le: "LessThan", operator.gt: "StrictGreaterThan",
    operator.lt: "StrictLessThan", operator.eq: "Equality", operator.ne: "Unequality",
}  # fmt: skip


class SymInt(int):
    """A size that may differ, as a number: the one it had when the program was exported."""

    expression: Expression
    depends_on_sizes = True

    def __new__(cls, value, expression):
        """The number, and what it comes from."""
        made = super().__new__(cls, value)
        made.expression = expression
        return made

    def __repr__(self):
        return str(self.expression)

    __str__ = __repr__


WORDS = {
    operator.ge: ">=", operator.le: "<=", operator.gt: ">", operator.lt: "<",
    operator.eq: "==", operator.ne: "!=",
}  # fmt: skip
_EQUALITIES = {operator.eq: "Eq", operator.ne: "Ne"}


def comparison_text(kind, left, right) -> str:
    """A comparison of expressions as PyTorch writes it, ``Eq(a, b)`` or ``a >= b``."""
    if kind in _EQUALITIES:
        return f"{_EQUALITIES[kind]}({left}, {right})"
    return f"{left} {WORDS[kind]} {right}"


@dataclass(frozen=True)
class SymBool:
    """A comparison of sizes, for a node that computes one."""

    kind: Any
    left: Expression
    right: Expression
    depends_on_sizes = True

    def __str__(self):
        return comparison_text(self.kind, self.left, self.right)


class SymFloat(float):
    """A float that depends on sizes: `form` of ``FORMS`` says how, of which expression; of one that
    depends on values of tensors, which has an expression of floats, `form` is "itself"."""

    expression: Expression
    form: str
    depends_on_sizes = True

    def __new__(cls, value, form, expression):
        """The float, and what it comes from."""
        made = super().__new__(cls, value)
        made.form, made.expression = form, expression
        return made

    def __repr__(self):
        return str(self.expression) if self.form == "itself" else f"{self.form}({self.expression})"

    __str__ = __repr__


# Floats that programs make of a size.
FORMS = {
    "number": float,
    "inverted": lambda n: 1.0 / n,
    "root": math.sqrt,
    "inverted root": lambda n: 1.0 / math.sqrt(n),
    "logarithm": math.log,
}


@dataclass(frozen=True)
class ValueRanges:
    """The least and the greatest value of a size; ``math.inf`` where there is none."""

    lower: float
    upper: float

    def __contains__(self, value):
        return self.lower <= value <= self.upper

    def __str__(self):
        upper = "int_oo" if self.upper == math.inf else int(self.upper)
        return f"VR[{self.lower}, {upper}]"

    __repr__ = __str__
