"""Sizes that remember how a program computed with them, for choices that ``cond`` makes of them.

Sizes are numbers while a program is captured. Where it gives ``cond`` a comparison of some, the
captures are made again with sizes of this kind: those that the program itself asks for (not the
framework), what it computes of them, and comparisons, which become nodes of the graph.
"""

from __future__ import annotations

import operator

from rushlight.fx.locations import is_ours
from rushlight.tensor.shape import Size


class Tracking:
    """Whether captures track sizes: from the first choice by a plain bool on."""

    def __init__(self, possible: bool, on: bool = False):
        self.possible = possible  # whether some sizes may differ
        self.asked = self.on = on
        self.numbers = False  # whether tensors of Python's numbers are computed, not constants

    def ask(self) -> None:
        """Note a choice by a bool, which may be a comparison of sizes."""
        self.asked = self.possible

    def begins(self) -> bool:
        """Whether a capture was made without tracking that has to be made again."""
        begins = self.asked and not self.on
        self.on = self.on or self.asked
        return begins

    def seen(self, sizes, frame):
        """Sizes as the code of a frame gets them."""
        if not self.on or is_ours(frame):
            return sizes
        return Size(TrackedSize(n) if type(n) is int else n for n in sizes)


def _arithmetic(word):
    function = getattr(operator, word)

    def left(self, other):
        return _computed(function, self, other)

    def right(self, other):
        return _computed(function, other, self)

    return left, right


def _computed(function, left, right):
    if type(left) not in _SIZES or type(right) not in _SIZES:
        return NotImplemented  # floats, and numbers that depend on values, have their own way
    plain = function(int.__pos__(left), int.__pos__(right))
    return TrackedSize(plain, (function, left, right))


def _comparison(function):
    def compare(self, other):
        if type(other) not in _SIZES:
            return NotImplemented
        return SizeCondition(function, self, other)

    return compare


class TrackedSize(int):
    """A size, or a number computed of sizes: `made_by` is the function and its operands."""

    def __new__(cls, value, made_by=None):
        """The number of this capture, and how it was computed."""
        made = super().__new__(cls, value)
        made.made_by = made_by
        return made

    def as_plain(self) -> int:
        """The number alone."""
        return int.__pos__(self)

    __add__, __radd__ = _arithmetic("add")
    __sub__, __rsub__ = _arithmetic("sub")
    __mul__, __rmul__ = _arithmetic("mul")
    __floordiv__, __rfloordiv__ = _arithmetic("floordiv")
    __mod__, __rmod__ = _arithmetic("mod")
    __hash__ = int.__hash__
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)


_SIZES = (int, TrackedSize)


class SizeCondition(int):
    """A comparison of sizes, which counts as the bool that it is in this capture."""

    def __new__(cls, function, left, right):
        """Whether it holds, and what is compared."""
        made = super().__new__(cls, function(int.__pos__(left), int.__pos__(right)))
        made.made_by = function, left, right
        return made

    def as_plain(self) -> bool:
        """Whether it holds in this capture."""
        return bool(self)

    def __repr__(self):
        return repr(bool(self))


def written(recorder, value):
    """The node of a comparison, or of a size that was computed; other numbers as they are."""
    if getattr(value, "made_by", None) is None:
        return value
    function, *operands = value.made_by
    args = tuple(written(recorder, operand) for operand in operands)
    node = recorder.node("call_function", function, args, {})
    node.meta["val"] = value.holds if hasattr(value, "holds") else value.as_plain()
    node.meta["of_sizes"] = True
    return node
