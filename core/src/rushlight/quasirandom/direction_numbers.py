"""Direction numbers of Sobol sequences in up to 21,201 dimensions (S. Joe and F. Y. Kuo, 2008).

The file holds, dimension after dimension, the inner coefficients of a primitive polynomial of
degree s (s - 1 bits) and the first s odd numbers m_i < 2^i without their last bit (0, 1, ..., s - 1
bits). Degrees do not fall; so many dimensions have each.
"""

from __future__ import annotations

import pathlib

from rushlight.machine import np

BITS = 30
DIMENSIONS = 21201
# Dimensions whose polynomial has degree 1, 2, ...; the first dimension of all has none.
_OF_DEGREE = (
    1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776,
)  # fmt: skip


def _known(count):
    """Polynomials and first numbers of `count` dimensions behind the first, by degree."""
    path = pathlib.Path(__file__).with_name("joe_kuo_6.bits")
    bits, at = None, 0
    raw = np.frombuffer(path.read_bytes(), np.uint8)
    bits = np.unpackbits(raw)
    for degree, there in enumerate(_OF_DEGREE, 1):
        width = degree - 1 + degree * (degree - 1) // 2
        rows = min(there, count)
        table = bits[at : at + rows * width].reshape(rows, width).astype(np.int64)
        at, count = at + there * width, count - rows
        inner, first = table[:, : degree - 1], []
        place = degree - 1
        for i in range(degree):
            digits = table[:, place : place + i]
            first.append(2 * _number(digits) + 1)
            place += i
        yield degree, inner, np.stack(first, 1)
        if not count:
            return


def _number(digits):
    """Rows of binary digits, the highest first, as numbers."""
    return digits @ (1 << np.arange(digits.shape[1], dtype=np.int64)[::-1])


def direction_numbers(dimension):
    """The (dimension, BITS) table of the sequence, each number shifted to BITS binary places.

    ``m_j = a_1 2 m_{j-1} ^ ... ^ 2^s m_{j-s} ^ m_{j-s}`` (P. Bratley and B. L. Fox, 1988).
    """
    parts = [np.ones((1, BITS), np.int64)]
    for degree, inner, first in _known(dimension - 1) if dimension > 1 else ():
        rows = np.zeros((len(inner), BITS), np.int64)
        rows[:, :degree] = first
        for j in range(degree, BITS):
            value = rows[:, j - degree] ^ rows[:, j - degree] << degree
            for k in range(degree - 1):
                value ^= inner[:, k] * (rows[:, j - k - 1] << k + 1)
            rows[:, j] = value
        parts.append(rows)
    return np.concatenate(parts) << np.arange(BITS - 1, -1, -1, dtype=np.int64)
