"""Sizes that remember how a program computed with them, and floats that it made of them.

Each operation is the node that PyTorch has for it: a whole number meets a float as a float.
"""

from __future__ import annotations

import builtins
import math
import operator

from rushlight import symbolic_numbers


def plain_of(value):
    """A number without what it was computed of."""
    return value.as_plain() if hasattr(value, "made_by") else value


def _made(function, *operands):
    """What a function gives for numbers; NotImplemented with operands that know their own way."""
    if not all(type(operand) in _NUMBERS for operand in operands):
        return NotImplemented
    if any(isinstance(operand, float) for operand in operands):
        operands = tuple(map(as_float, operands))
    plain = function(*map(plain_of, operands))
    return _tracked(plain, (function, *operands))


def _tracked(plain, made_by):
    """A number with how it was computed; a complex one, which no node gives, alone."""
    kinds = {int: TrackedSize, float: TrackedFloat}
    return kinds[type(plain)](plain, made_by) if type(plain) in kinds else plain


def as_float(value):
    """A number as a float."""
    if isinstance(value, float):
        return value
    return value.as_float() if type(value) is TrackedSize else float(value)


def _arithmetic(function):
    def left(self, other):
        return _made(function, self, other)

    def right(self, other):
        return _made(function, other, self)

    return left, right


def _power(base, exponent):
    """A power; of a whole number by a negative one, that of floats."""
    if type(exponent) in (int, TrackedSize) and plain_of(exponent) < 0:
        exponent = as_float(exponent)
    return _made(operator.pow, base, exponent)


def _comparison(function):
    def compare(self, other):
        if type(other) not in _NUMBERS:
            return NotImplemented
        return SizeCondition(function, self, other)

    return compare


class _Tracked:
    """A number of a capture, and the function and operands that it was `made_by`; None of a size
    that a tensor has. `node` is the one that it became, if it did."""

    __slots__ = ()

    def step(self, function, *values):
        """What ``sym_max`` and the like give for numbers, one of which is tracked."""
        if any(type(value) not in _NUMBERS for value in values):
            return function(*map(plain_of, values))
        if function is symbolic_numbers.sym_sqrt:
            values = tuple(map(as_float, values))
        return _made(function, *values)

    __add__, __radd__ = _arithmetic(operator.add)
    __sub__, __rsub__ = _arithmetic(operator.sub)
    __mul__, __rmul__ = _arithmetic(operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic(operator.floordiv)
    __mod__, __rmod__ = _arithmetic(operator.mod)
    __truediv__, __rtruediv__ = _arithmetic(operator.truediv)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    def __pow__(self, other, modulus=None):
        if modulus is not None:
            return pow(plain_of(self), plain_of(other), plain_of(modulus))
        return _power(self, other)

    def __rpow__(self, other, modulus=None):
        return NotImplemented if modulus is not None else _power(other, self)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __neg__(self):
        return _made(operator.neg, self)

    def __pos__(self):
        return self

    def __abs__(self):
        return _made(operator.abs, self)


class TrackedSize(_Tracked, int):
    """A size, or a whole number computed of sizes."""

    def __new__(cls, value, made_by=None):
        """The number of this capture, and how it was computed."""
        made = super().__new__(cls, value)
        made.made_by, made.node = made_by, None
        return made

    def as_plain(self) -> int:
        """The number alone."""
        return int.__pos__(self)

    def as_float(self) -> TrackedFloat:
        """The number as a float."""
        return TrackedFloat(float(self.as_plain()), (symbolic_numbers.sym_float, self))

    __hash__ = int.__hash__

    def __trunc__(self):
        return self

    __floor__ = __ceil__ = __trunc__

    def __round__(self, ndigits=None):
        if ndigits is None or ndigits >= 0:
            return self
        return _tracked(round(self.as_plain(), ndigits), (builtins.round, self, ndigits))


class TrackedFloat(_Tracked, float):
    """A float computed of sizes."""

    def __new__(cls, value, made_by):
        """The float of this capture, and how it was computed."""
        made = super().__new__(cls, value)
        made.made_by, made.node = made_by, None
        return made

    def as_plain(self) -> float:
        """The float alone."""
        return float.__pos__(self)

    def as_float(self) -> TrackedFloat:
        """The float itself."""
        return self

    __hash__ = float.__hash__

    def __trunc__(self):
        return _made(math.trunc, self)

    def __floor__(self):
        return _made(math.floor, self)

    def __ceil__(self):
        return _made(math.ceil, self)

    def __round__(self, ndigits=None):
        return _tracked(round(self.as_plain(), ndigits), (builtins.round, self, ndigits))


_NUMBERS = (int, float, TrackedSize, TrackedFloat)


class SizeCondition(int):
    """A comparison of sizes, which counts as the bool that it is in this capture."""

    def __new__(cls, function, left, right):
        """Whether it holds, and what is compared."""
        made = super().__new__(cls, function(plain_of(left), plain_of(right)))
        made.made_by = function, left, right
        return made

    def as_plain(self) -> bool:
        """Whether it holds in this capture."""
        return bool(self)

    def __repr__(self):
        return repr(bool(self))
