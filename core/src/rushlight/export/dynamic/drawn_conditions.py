"""Comparisons of floats that a program reads from tensors, while it is captured."""

from __future__ import annotations

from rushlight.export.dynamic.drawn import OPPOSITE, Condition, UnfitError
from rushlight.export.dynamic.expressions import WORDS, Expression, SymBool
from rushlight.library.operators import lookup


class FloatCondition(Condition):
    """A comparison one side of which is a float that a program reads from a tensor."""

    def __str__(self):
        return f" {WORDS[self.kind]} ".join(map(str, self.sides()))

    def sides(self) -> tuple:
        """The expressions of both sides; a number among them is a float."""
        return tuple(
            Expression("number", (float(side),)) if expression is None else expression
            for side in (self.left, self.right)
            for expression in [getattr(side, "expression", None)]
        )

    def fits(self, values) -> bool:
        """Whether it holds for other numbers, by symbol."""
        try:
            return bool(self.kind(*(side.value(values) for side in self.sides())))
        except (ArithmeticError, TypeError):
            return False

    @property
    def holds(self) -> bool:
        """Whether it holds in this capture."""
        left, right = (float.__pos__(float(side)) for side in (self.left, self.right))
        return bool(self.kind(left, right))

    def known(self) -> bool | None:
        """Whether it holds always, by what the program has said; None where that is not said."""
        for kind in (self.kind, OPPOSITE[self.kind]):
            if (kind, *self.sides()) in self.draws.facts:
                return kind is self.kind
        return None

    def assume(self):
        """Keep to it from now on, and let the program check it."""
        self.draws.facts[self.kind, *self.sides()] = self
        if not self.holds:
            raise UnfitError(str(self))
        recorder = self.draws.recorder
        node = recorder.node("call_function", self.kind, (self.left, self.right), {})
        node.meta["val"] = SymBool(self.kind, *self.sides())
        message = f"Runtime assertion failed for expression {self} on node '{node.name}'"
        check = lookup("aten")._assert_scalar.default
        made = recorder.node("call_function", check, (node, message), {})
        made.meta["val"], made.meta["reads_values"] = None, True
