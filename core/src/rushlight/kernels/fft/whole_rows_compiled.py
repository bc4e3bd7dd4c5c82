"""Compiled Fourier transforms of few rows: all of a row by one item. Import at first need.

A row of n = a b values is a matrix (a, b), see :mod:`rushlight.kernels.fft.long`: its columns
are transformed VL at a time, multiplied by roots of unity and turned, and so are those of what
results, all in scratch memory of the thread.
"""

from __future__ import annotations

from rushlight.kernels.fft.butterflies import (
    E,
    conjugates,
    joined_columns,
    pairs_from_halves,
    pairs_to_halves,
    spread_columns,
    turn,
)
from rushlight.kernels.fft.compiled import joined_few, run_stages, spread_few
from rushlight.kernels.fft.long_compiled import complex_of_half
from rushlight.kernels.gemm.microkernel import VL
from rushlight.kernels.gemm.transposes import transpose
from rushlight.machine.language.functions import (
    array,
    f32,
    function,
    i64,
    range_kernel,
    shared_function,
)
from rushlight.machine.worker_pool import scratch

# Argument words. N: complex numbers of a row; TABLE: address of what `transform_row` reads; FACTOR
# and ENDS: bits of float32 numbers by which all values are multiplied, and the first and last ones
# of a half; SWAP, ROOTS, WHOLE: see `rushlight.kernels.fft.compiled`; SPACE: bytes of scratch.
# Rows of an odd number of real values are those of complex numbers without imaginary parts; ENDS is
# for the first value alone.
HEAD, OUT, SOURCE, N, TABLE, FACTOR, SWAP, SPACE, ROOTS, WHOLE, ENDS = range(11)

# Words of a table: sizes and number of columns, address and number of the stages of their
# transforms, and of the next ones; address of roots of unity in the order in which values are.
FIRST, SECOND, STAGES, COUNT, NEXT_STAGES, NEXT_COUNT, TWISTS = range(7)


@shared_function
def transform_row(source, target, table, factor, swap, work):
    """One row of complex numbers, times the factor; the target may be the source."""
    t = array(i64, table)
    first, second, twists = t[FIRST], t[SECOND], t[TWISTS]
    size, pitch = max(first, second) * E, 8 * second
    other, middle = work + size, work + 2 * size
    for start in range(0, second, VL):
        lanes = min(i64(VL), second - start)
        if lanes == VL:
            spread_columns(source + 8 * start, pitch, work, first)
        else:
            spread_few(source + 8 * start, pitch, work, first, lanes)
        found = run_stages(t[STAGES], t[COUNT], swap, work, other)
        turn(found, twists, first, factor, swap)
        twists = twists + first * E
        for row in range(0, first, VL):
            rows = min(i64(VL), first - row)
            to, at = middle + (row // VL * second + start) * E, found + row * E
            transpose(at, i64(E), to, i64(E), rows, lanes, i64(VL))
            transpose(at + 4 * VL, i64(E), to + 4 * VL, i64(E), rows, lanes, i64(VL))
    for row in range(0, first, VL):
        rows = min(i64(VL), first - row)
        at = middle + row // VL * second * E
        found = run_stages(t[NEXT_STAGES], t[NEXT_COUNT], swap, at, work)
        if rows == VL:
            joined_columns(found, target + 8 * row, 8 * first, second)
        else:
            joined_few(found, target + 8 * row, 8 * first, second, rows)


@range_kernel
def complex_row(args, lo, hi, tid):
    """Transforms of complex rows, an item each."""
    g = array(i64, args)
    size, work = 8 * g[N], scratch(tid, g[SPACE])
    for item in range(lo, hi):
        at = item * size
        transform_row(g[SOURCE] + at, g[OUT] + at, g[TABLE], g[FACTOR], g[SWAP], work)


@function
def halves_few(source, target, roots, n):
    """:func:`pairs_to_halves` of few values."""
    x, table, out, half = array(f32, source), array(f32, roots), array(f32, target), f32(0.5)
    for k in range(1, n // 2 + 1):
        j = n - k
        even_real, odd_real = half * (x[2 * k] + x[2 * j]), half * (x[2 * k + 1] + x[2 * j + 1])
        even, odd = half * (x[2 * k + 1] - x[2 * j + 1]), half * (x[2 * j] - x[2 * k])
        c, s = table[2 * k], table[2 * k + 1]
        real, imaginary = c * odd_real - s * odd, c * odd + s * odd_real
        out[2 * k] = even_real + real
        out[2 * k + 1] = even + imaginary
        out[2 * j] = even_real - real
        out[2 * j + 1] = imaginary - even


@range_kernel
def real_row(args, lo, hi, tid):
    """Transforms of rows of 2 N real numbers, or the first N + 1 values of each, an item each."""
    g = array(i64, args)
    n = g[N]
    values = 2 * n if g[WHOLE] != 0 else n + 1
    work, ends = scratch(tid, g[SPACE]), array(f32, args + 8 * ENDS)[0]
    buffer = work + g[SPACE] - 8 * n
    for item in range(lo, hi):
        target = g[OUT] + item * 8 * values
        transform_row(g[SOURCE] + item * 8 * n, buffer, g[TABLE], g[FACTOR], g[SWAP], work)
        x, out = array(f32, buffer), array(f32, target)
        out[0] = ends * (x[0] + x[1])
        out[1] = f32(0)
        out[2 * n] = ends * (x[0] - x[1])
        out[2 * n + 1] = f32(0)
        if n >= 2 * VL:
            pairs_to_halves(buffer, target, g[ROOTS], n)
        else:
            halves_few(buffer, target, g[ROOTS], n)
        if g[WHOLE] != 0:
            if n > VL:
                conjugates(target, n)
            else:
                for k in range(1, n):
                    out[2 * (2 * n - k)] = out[2 * k]
                    out[2 * (2 * n - k) + 1] = -out[2 * k + 1]


@range_kernel
def row_back(args, lo, hi, tid):
    """Rows of 2 N real numbers from the first N + 1 values of their transforms, an item each."""
    g = array(i64, args)
    n = g[N]
    work, ends = scratch(tid, g[SPACE]), array(f32, args + 8 * ENDS)[0]
    buffer = work + g[SPACE] - 8 * n
    for item in range(lo, hi):
        source = g[SOURCE] + item * 8 * (n + 1)
        x, out = array(f32, source), array(f32, buffer)
        first, last = ends * x[0], ends * x[2 * n]  # of the ends the real parts alone count
        out[0] = first + last
        out[1] = first - last
        if n >= 2 * VL:
            pairs_from_halves(source, buffer, g[ROOTS], n)
        else:
            complex_of_half(x, out, array(f32, g[ROOTS]), n, i64(1), n // 2 + 1)
        transform_row(buffer, g[OUT] + item * 8 * n, g[TABLE], g[FACTOR], g[SWAP], work)


@range_kernel
def odd_row(args, lo, hi, tid):
    """Transforms of rows of N real numbers, or the first halves of them, an item each."""
    g = array(i64, args)
    n = g[N]
    half = (n + 1) // 2
    values = n if g[WHOLE] != 0 else half
    work, ends = scratch(tid, g[SPACE]), array(f32, args + 8 * ENDS)[0]
    buffer = work + g[SPACE] - 8 * n
    z = array(f32, buffer)
    for item in range(lo, hi):
        x, out = array(f32, g[SOURCE] + item * 4 * n), array(f32, g[OUT] + item * 8 * values)
        for k in range(n):
            z[2 * k] = x[k]
            z[2 * k + 1] = f32(0)
        transform_row(buffer, buffer, g[TABLE], g[FACTOR], g[SWAP], work)
        out[0] = ends * z[0]
        out[1] = f32(0)
        for k in range(2, 2 * half):
            out[k] = z[k]
        if g[WHOLE] != 0:
            for k in range(1, half):
                out[2 * (n - k)] = z[2 * k]
                out[2 * (n - k) + 1] = -z[2 * k + 1]


@range_kernel
def odd_row_back(args, lo, hi, tid):
    """Rows of N real numbers from the first halves of their transforms, an item each."""
    g = array(i64, args)
    n = g[N]
    half = (n + 1) // 2
    work, ends = scratch(tid, g[SPACE]), array(f32, args + 8 * ENDS)[0]
    buffer = work + g[SPACE] - 8 * n
    z = array(f32, buffer)
    for item in range(lo, hi):
        x, out = array(f32, g[SOURCE] + item * 8 * half), array(f32, g[OUT] + item * 4 * n)
        z[0] = ends * x[0]
        z[1] = f32(0)
        for k in range(1, half):
            z[2 * k] = x[2 * k]
            z[2 * k + 1] = x[2 * k + 1]
            z[2 * (n - k)] = x[2 * k]
            z[2 * (n - k) + 1] = -x[2 * k + 1]
        transform_row(buffer, buffer, g[TABLE], g[FACTOR], g[SWAP], work)
        for k in range(n):
            out[k] = z[2 * k]
