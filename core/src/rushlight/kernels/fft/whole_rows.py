"""What transforms of whole rows by one call read: tables, argument words, prepared calls.

Tables last as long as the process: calls that machine code remembers point to them, and the sizes
that kernels take are some hundred.
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.launch.execution import chunk
from rushlight.kernels.launch.prepared import prepared
from rushlight.machine import np

__all__ = [
    "factors",
    "prepared_rows",
    "roots",
    "size_inside",
    "stages",
    "table_of_row",
    "takes",
    "words_of_rows",
]

COMPLEX, REAL = np.dtype(np.complex64), np.dtype(np.float32)
MOST_ODD = 16  # rows of an odd number of real values: they always go one by one
KINDS = {"complex_rows": "complex_row", "real_rows": "real_row", "rows_back": "row_back"}
ODD = {"complex_rows": "complex_row", "real_rows": "odd_row", "rows_back": "odd_row_back"}


@functools.lru_cache(maxsize=1024)
def factors(n):
    """The radices of a size; None where a large prime is among its factors."""
    found, twos = [], (n & -n).bit_length() - 1
    n >>= twos
    while twos:  # eights, but fours where a two would be left
        exponent = twos if twos < 3 else 2 if twos == 4 else 3
        found.append(1 << exponent)
        twos -= exponent
    for radix in (3, 5, 7):
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return tuple(found) if n == 1 else None


@functools.cache
def stages(n):
    """The table of a size's stages, and the arrays it points to."""
    words, kept, done = [], [], 1
    for radix in factors(n):
        m = n // (done * radix)
        turns = np.outer(np.arange(m), np.arange(1, radix)) % (m * radix)
        table = np.ascontiguousarray(np.exp(-2j * np.pi * turns / (m * radix)).astype(COMPLEX))
        words.append((radix, m, done, table.ctypes.data))
        kept.append(table)
        done *= radix
    return np.array(words, np.int64), kept


def roots(n):
    """Roots of unity of order n, as many as a quarter of it takes."""
    return np.exp(-2j * np.pi * np.arange(n // 4 + 1) / n).astype(COMPLEX)


_number = functools.cache(lambda factor: np.array([factor], REAL))


def _sides(n):
    """The factors of a size that are nearest to each other."""
    first = next(a for a in range(math.isqrt(n), 0, -1) if n % a == 0)
    return first, n // first


def table_of_row(n):
    """What kernels of whole rows read about a size, their scratch memory, and the arrays that the
    table points to."""
    from rushlight.kernels.gemm.microkernel import VL

    first, second = _sides(n)
    blocks = -(-second // VL)
    turns = np.outer(np.arange(first), np.arange(blocks * VL)) % n
    twists = np.exp(-2j * np.pi * turns / n).reshape(first, blocks, VL).swapaxes(0, 1)
    twists = np.ascontiguousarray(np.stack((twists.real, twists.imag), 2).astype(REAL))
    (one, kept), (other, also) = stages(first), stages(second)
    words = [first, second, one.ctypes.data, len(one), other.ctypes.data, len(other)]
    words = np.array([*words, twists.ctypes.data], np.int64)
    space = 8 * VL * (2 * max(first, second) + -(-first // VL) * second)
    return words, space, (twists, one, kept, other, also)


_lasting_table = functools.cache(table_of_row)


_lasting_roots = functools.cache(roots)


def _roots(kind, n):
    """The address of roots for rows of real numbers."""
    return 0 if kind == "complex_rows" else _lasting_roots(n).ctypes.data


def _bits(number):
    return int(np.float32(number).view(np.int32))


def _outputs(kind, x, n, whole):
    if kind == "complex_rows":
        return [(x.shape, COMPLEX)]
    if kind == "real_rows":
        return [((*x.shape[:-1], n if whole else n // 2 + 1), COMPLEX)]
    return [((*x.shape[:-1], n), REAL)]


@functools.lru_cache(maxsize=1024)
def _is_few(rows, n):
    """Whether rows of n complex numbers are transformed one by one, by the vectors that this takes
    (and what it takes besides) and those of VL rows at once."""
    from rushlight.kernels.gemm.microkernel import VL

    first, second = _sides(n)
    alone = rows * (-(-second // VL) * first + -(-first // VL) * second + 8)
    blocks = -(-rows // VL)
    # One block is one thread's; values of VL rows are far apart in memory.
    full = first % VL == 0 and second % VL == 0
    far = n >= 512 and blocks == 1 or n >= 256 and VL == 16 and full
    return alone <= 2 * n * blocks * (1.25 if far else 1.0)


def size_inside(kind, n):
    """How many complex numbers are transformed for a row of n."""
    return n if kind == "complex_rows" or n % 2 else n // 2


def takes(kind, rows, n):
    """Whether :func:`prepared_rows` is for so many rows: of an odd size it takes few."""
    return kind == "complex_rows" or n % 2 == 0 or rows <= MOST_ODD


def prepared_rows(kind, x, n, forward, factor, whole, ends):
    """A call of :func:`rushlight.kernels.launch.prepared.prepared` for dense arrays like `x`:
    `kind` is ``"complex_rows"``, ``"real_rows"`` or ``"rows_back"``, `n` the size of the transform.
    Chosen by shapes alone, so that results do not depend on the number of threads."""
    inside = size_inside(kind, n)
    odd = kind != "complex_rows" and n % 2
    prepare = _few if odd or _is_few(x.size // x.shape[-1], inside) else _many
    return prepare(kind, x, n, forward, float(factor), whole, ends)


def words_of_rows(kind, n, forward, factor, whole, ends, table, address):
    """The code for rows one by one, and its argument words after those of arrays. `table`: that of
    :func:`table_of_row`; `address`: of roots for rows of real numbers."""
    from rushlight.kernels.fft import whole_rows_compiled as native
    from rushlight.kernels.gemm.microkernel import VL

    inside = size_inside(kind, n)
    words = [inside, table[0].ctypes.data, _bits(factor), 0 if forward else 4 * VL]
    words += [table[1] + 8 * inside, address, int(whole), _bits(ends)]
    return getattr(native, (ODD if n % 2 else KINDS)[kind]).address(), words


def _few(kind, x, n, forward, factor, whole, ends):
    """One row after the other."""
    inside, rows = size_inside(kind, n), x.size // x.shape[-1]
    table, address = _lasting_table(inside), _roots(kind, n)
    code, words = words_of_rows(kind, n, forward, factor, whole, ends, table, address)
    grain, outputs = chunk(rows, 20 * inside), _outputs(kind, x, n, whole)
    return prepared(code, rows, grain, [x], outputs, words, scratch=True)


def _many(kind, x, n, forward, factor, whole, ends):
    """As many rows at once as a vector has lanes."""
    from rushlight.kernels.fft import compiled as native
    from rushlight.kernels.gemm.microkernel import VL

    inside, rows = size_inside(kind, n), x.size // x.shape[-1]
    table, _ = stages(inside)
    words = [rows, n, table.ctypes.data, len(table)]
    words += [0 if factor == 1 else _number(factor).ctypes.data, 0 if forward else 4 * VL]
    words += [_roots(kind, n), int(whole), _bits(ends)]
    items = -(-rows // VL)
    code = getattr(native, kind).address()
    outputs = _outputs(kind, x, n, whole)
    return prepared(code, items, chunk(items, 20 * VL * n), [x], outputs, words, scratch=True)
