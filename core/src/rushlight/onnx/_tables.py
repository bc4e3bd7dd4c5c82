"""Tables that depend on sizes: constants of a model of fixed sizes, computed where these differ.

A table is made of whole numbers. Translations ask for it by `Builder.table`; models of several
sizes that differ in the numbers of a table alone compute it from these.
"""

from __future__ import annotations

import math

from rushlight.machine import np


class Table:
    """A constant of some whole numbers: as an array, and by nodes of a model.

    ``write(kind, inputs, **attributes)`` adds a node, ``write.number(value)`` a constant, and
    ``write.cast(name, dtype)`` a conversion; all give names.
    """

    def array(self, *numbers):
        """The elements, of float64 or int64."""
        raise NotImplementedError

    def written(self, write, *names):
        """The name of the same as computed by nodes, of float64 or int64."""
        raise NotImplementedError


def _range(write, count, dim):
    """0, 1, ... as a matrix of one column, or of one row."""
    found = write("Range", [write.number(0), count, write.number(1)])
    return write("Unsqueeze", [found, write.listed(1 - dim)])


class Positions(Table):
    """Positions of `count` windows of `size` elements: (size, count)."""

    def array(self, count, size, gap, step):
        """From steps between windows, and gaps between their elements."""
        return np.arange(size)[:, None] * gap + np.arange(count) * step

    def written(self, write, count, size, gap, step):
        """The same by nodes."""
        rows = write("Mul", [_range(write, size, 0), gap])
        return write("Add", [rows, write("Mul", [_range(write, count, 1), step])])


class Waves(Table):
    """Cosines or sines of a Fourier transform: (rows, columns) of `size` points.

    They are divided by ``size ** (power / 2)``. Where `halved`, rows are the first half of all
    frequencies, and count for those of the other half.
    """

    def __init__(self, name, sign=1, power=0, halved=False):
        self.name, self.sign, self.power, self.halved = name, sign, power, halved

    def _key(self):
        return self.name, self.sign, self.power, self.halved

    def __eq__(self, other):
        return isinstance(other, Waves) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def array(self, rows, columns, size):
        """Angles are exact multiples, reduced before they are scaled."""
        products = np.outer(np.arange(rows), np.arange(columns)) % size
        found = getattr(np, self.name)(products * (2 * np.pi / size)) * self.sign
        if self.halved:
            row = np.arange(rows)[:, None]
            found = found * np.where((row == 0) | (2 * row == size), 1.0, 2.0)
        return found * size ** (-self.power / 2)

    def written(self, write, rows, columns, size):
        """The same by nodes."""
        row = _range(write, rows, 0)
        products = write("Mod", [write("Mul", [row, _range(write, columns, 1)]), size])
        angles = write("Mul", [write.cast(products, np.float64), write.number(2 * math.pi)])
        wide = write.cast(size, np.float64)
        found = write(self.name.capitalize(), [write("Div", [angles, wide])])
        if self.sign < 0:
            found = write("Neg", [found])
        if self.halved:
            alone = write("Mod", [write("Mul", [row, write.number(2)]), size])  # 0 for both
            once = write("Equal", [alone, write.number(0)])
            times = write("Where", [once, write.number(1.0), write.number(2.0)])
            found = write("Mul", [found, times])
        if self.power:
            scale = wide if self.power == 2 else write("Sqrt", [wide])
            found = write("Div", [found, scale])
        return found


class Shares(Table):
    """What each of `length` elements counts in averages of `size` windows: (length, size)."""

    def array(self, length, size):
        """Windows as adaptive pooling has them."""
        place, window = np.arange(length)[:, None], np.arange(size)
        start, end = window * length // size, -(-(window + 1) * length // size)
        return ((place >= start) & (place < end)) / (end - start)

    def written(self, write, length, size):
        """The same by nodes."""
        inside, count = self._inside(write, length, size)
        return write("Div", [write.cast(inside, np.float64), write.cast(count, np.float64)])

    def _inside(self, write, length, size):
        place, scaled = _range(write, length, 0), write("Mul", [_range(write, size, 1), length])
        start = write("Div", [scaled, size])
        above = write("Sub", [write("Add", [length, size]), write.number(1)])
        end = write("Div", [write("Add", [scaled, above]), size])
        before = write("Less", [place, start])
        inside = write("And", [write("Not", [before]), write("Less", [place, end])])
        return inside, write("Sub", [end, start])


class Outside(Shares):
    """0 where an element is in a window, -inf where it is not: (length, size)."""

    def array(self, length, size):
        """Windows as adaptive pooling has them."""
        return np.where(super().array(length, size) > 0, 0.0, -np.inf)

    def written(self, write, length, size):
        """The same by nodes."""
        inside, _ = self._inside(write, length, size)
        return write("Where", [inside, write.number(0.0), write.number(-math.inf)])


POSITIONS, SHARES, OUTSIDE = Positions(), Shares(), Outside()
