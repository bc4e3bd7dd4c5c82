"""Compiled CRC-32, also while a file is read or written: the bytes are in the cache then.

Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.copying.carryless import fold
from rushlight.machine.language.functions import (
    External,
    Parameter,
    array,
    function,
    i32,
    i64,
    range_kernel,
    shared_function,
    stack,
    u8,
    u32,
)

PIECE = 1 << 20  # bytes of one item, each with a checksum of its own
PART = 1 << 17  # bytes that are read and summed while they are in the cache
# Written at once: the system gives a file large pages for large writes, which halves their time and
# that of mapping the file later. It gives whole ones only between multiples of their size.
WRITTEN = 8 << 20

# Argument words.
DATA, SUMS, TABLE, SIZE, FILE, PLACE = range(6)
FAILED = -1  # in place of a checksum: the file took or gave less

width = Parameter("width")  # 128-bit lanes of a carry-less product: 4, 1 or 0 for none
_fold_wide, _fold_narrow = fold(4), fold(1)

pread = External("pread", i64, (i32, i64, i64, i64))
pwrite = External("pwrite", i64, (i32, i64, i64, i64))
sync_file_range = External("sync_file_range", i32, (i32, i64, i64, i32))
START_WRITING = 2  # SYNC_FILE_RANGE_WRITE


@shared_function
def bytewise(address, size, start, table) -> i64:  # type: ignore[valid-type]
    """The register after `size` more bytes, one by one (D. V. Sarwate, 1988)."""
    data, steps = array(u8, address), array(u32, table)
    register = u32(start)
    for i in range(size):
        register = (register >> u32(8)) ^ steps[i64((register ^ u32(data[i])) & u32(255))]
    return i64(register)


@function
def checksum(address, size, start, table):
    """The CRC-32 of `size` bytes that follow bytes with the CRC-32 `start`."""
    register = start ^ 0xFFFFFFFF
    done = 0
    remainder = stack(2)
    if width == 4:
        if size >= 256:
            done = size // 256 * 256
            _fold_wide(address, size // 256, register, remainder)
            register = bytewise(remainder, 16, 0, table)
    if width > 0:
        if size - done >= 64:
            blocks = (size - done) // 64
            _fold_narrow(address + done, blocks, register, remainder)
            register = bytewise(remainder, 16, 0, table)
            done = done + blocks * 64
    register = bytewise(address + done, size - done, register, table)
    return register ^ 0xFFFFFFFF


@range_kernel
def summed(args, lo, hi, tid):
    """Items are pieces of memory."""
    g = array(i64, args)
    sums = array(i64, g[SUMS])
    for i in range(lo, hi):
        size = min(PIECE, g[SIZE] - i * PIECE)
        sums[i] = checksum(g[DATA] + i * PIECE, size, 0, g[TABLE])


@range_kernel
def read_and_summed(args, lo, hi, tid):
    """Items are pieces of a file that are read to their place in memory."""
    g = array(i64, args)
    sums = array(i64, g[SUMS])
    for i in range(lo, hi):
        total = 0
        end = min((i + 1) * PIECE, g[SIZE])
        at = i * PIECE
        while at < end:
            got = pread(i32(g[FILE]), g[DATA] + at, min(PART, end - at), g[PLACE] + at)
            if got <= 0:
                total = FAILED
                break
            total = checksum(g[DATA] + at, got, total, g[TABLE])
            at = at + got
        sums[i] = total


@range_kernel
def summed_and_written(args, lo, hi, tid):
    """Items are pieces of memory that are written to their place in a file, each up to a multiple
    of `WRITTEN` there; the disk begins with each at once, so that little is left for the ``fsync``
    at the end."""
    g = array(i64, args)
    sums = array(i64, g[SUMS])
    past = g[PLACE] % WRITTEN
    for i in range(lo, hi):
        at = max(0, i * WRITTEN - past)
        size = min((i + 1) * WRITTEN - past, g[SIZE]) - at
        total = checksum(g[DATA] + at, size, 0, g[TABLE])
        put = 0
        while put < size:
            got = pwrite(i32(g[FILE]), g[DATA] + at + put, size - put, g[PLACE] + at + put)
            if got <= 0:
                total = FAILED
                break
            put = put + got
        sync_file_range(i32(g[FILE]), g[PLACE] + at, put, i32(START_WRITING))
        sums[i] = total
