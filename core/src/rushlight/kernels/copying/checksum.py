"""CRC-32, as zlib's, of memory and of what a file's descriptor reads or writes, on all threads.

Compiled with carry-less products where the processor has them: 10 to 30 times as fast as zlib. The
sums of pieces are combined by multiplication (M. Adler's ``crc32_combine`` in zlib).
"""

from __future__ import annotations

import ctypes
import functools
import zlib

from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import np, threads

__all__ = ["combine", "compiled", "crc32", "read", "write"]

COMPILED_FROM = 1 << 20  # bytes of one sum
# Where no kernel has run yet, its compiler would cost more (0.2 s, 45 MiB) than zlib does.
COLD_COMPILED_FROM = 256 << 20
_POLYNOMIAL = 0xEDB88320


def _times(a, b):
    """The product of two polynomials modulo CRC-32's, bits reflected."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return product


@functools.lru_cache(maxsize=64)
def _power(length):
    """What appending `length` bytes multiplies by: x^(8 length)."""
    power, base = 0x80000000, 0x00800000  # 1 and x^8
    while length:
        if length & 1:
            power = _times(power, base)
        base = _times(base, base)
        length >>= 1
    return power


def combine(first: int, second: int, length: int) -> int:
    """The CRC-32 of two pieces one after the other, from theirs and the second's `length`."""
    return _times(_power(length), first) ^ second


@functools.cache
def _table():
    """The register after one byte."""
    rows = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        rows = np.where(rows & 1, rows >> 1 ^ np.uint32(_POLYNOMIAL), rows >> 1)
    return rows


@functools.cache
def _available():
    """Whether there is a kernel: the processor multiplies without carries."""
    from rushlight.kernels.copying.carryless import lanes

    return lanes() > 0


def compiled(size: int, total: int) -> bool:
    """Whether to sum `size` bytes, one part of a job of `total` bytes, by compiled code."""
    if size < COMPILED_FROM or REFERENCE:
        return False
    return (threads._pool is not None or total >= COLD_COMPILED_FROM) and _available()


def _sums(kernel, array, *words, width=None):
    """The checksums of the pieces of bytes, -1 where the file failed, and where they end."""
    from rushlight.kernels.copying import checksum_kernels as native
    from rushlight.kernels.copying.carryless import lanes

    writes = kernel == "summed_and_written"
    piece, past = native.PIECE, 0
    if writes:
        piece = native.WRITTEN
        past = words[1] % piece
    pieces = -(-(past + array.size) // piece)
    sums = np.empty(pieces, np.int64)
    code = getattr(native, kernel).address(width=lanes() if width is None else width)
    if writes:
        # One writer: a file's lock lets no second one work. Not as a job of one chunk, which would
        # keep other Python threads waiting.
        places = [a.ctypes.data for a in (array, sums, _table())]
        given = np.array([*places, array.size, *words], np.int64)
        ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(code)(given.ctypes.data, 0, pieces, 0)
    else:
        plan = threads.plan(code, pieces, 1, [0, 0, 0, array.size, *words])
        threads.run(plan, array, sums, _table())
    ends = [min((i + 1) * piece - past, array.size) for i in range(pieces)]
    return sums.tolist(), ends


def _combined(sums, ends, start=0):
    """The checksum of all pieces after one another."""
    total, begin = start, 0
    for value, end in zip(sums, ends, strict=True):
        total = combine(total, value, end - begin)
        begin = end
    return total


def crc32(data, start: int = 0, total: int | None = None) -> int:
    """``zlib.crc32(data, start)`` of a buffer, one of those of a job of `total` bytes."""
    if not compiled(len(data), len(data) if total is None else total):
        return zlib.crc32(data, start)
    array = np.frombuffer(data, np.uint8)
    sums, ends = _sums("summed", array)
    return _combined(sums, ends, start)


def read(descriptor: int, place: int, target) -> int | None:
    """Fill a writable buffer from `place` on in a file; the checksum, None where it ends early or
    the system reports an error (reading again shows which)."""
    array = np.frombuffer(target, np.uint8)
    return _moved("read_and_summed", array, descriptor, place)


def write(descriptor: int, place: int, data) -> int | None:
    """Write a buffer at `place` into a file; the checksum, None where not all could be written."""
    return _moved("summed_and_written", np.frombuffer(data, np.uint8), descriptor, place)


def _moved(kernel, array, descriptor, place):
    if not array.size:
        return 0
    sums, ends = _sums(kernel, array, descriptor, place)
    return None if min(sums) < 0 else _combined(sums, ends)
