"""Compiled fast Fourier transforms of rows or columns, VL of them at once. Import at first need.

Rows are turned into columns of vectors, columns are laid out so but for their imaginary parts;
stages go from one buffer to the other, and results are turned back. Real rows are complex ones of
half their size, neighbours as real and imaginary part."""

from __future__ import annotations

from rushlight.kernels.fft.butterflies import (
    E,
    from_real_transform,
    joined_columns,
    mirror,
    scale,
    spread_columns,
    stages,
    to_real_transform,
)
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

# Argument words. STAGES: address of (radix, m, done, address of the roots) for each of COUNT
# stages; FACTOR: address of a float32, or 0; SWAP: see `rushlight.kernels.fft.butterflies`; ROOTS:
# of unity, for rows of real numbers; WHOLE: whether both halves of their transforms are written;
# INNER: columns of a matrix; ENDS: the bits of what the first and last value of a half are
# multiplied by. HEAD has no meaning.
HEAD, OUT, SOURCE, ROWS, N, STAGES, COUNT, FACTOR, SWAP, ROOTS, WHOLE, ENDS = range(12)
INNER = WHOLE

stage_2, stage_3, stage_4, stage_5, stage_7, stage_8 = (stages[r] for r in (2, 3, 4, 5, 7, 8))


@shared_function
def run_stages(table, count, swap, first, second) -> i64:  # type: ignore[valid-type]
    """Go through all stages, from the first buffer on; gives the one with the results."""
    for i in range(count):
        entry = array(i64, table + 32 * i)
        radix, m, done, roots = entry[0], entry[1], entry[2], entry[3]
        if radix == 8:
            stage_8(first, second, roots, m, done, swap)
        elif radix == 4:
            stage_4(first, second, roots, m, done, swap)
        elif radix == 2:
            stage_2(first, second, roots, m, done, swap)
        elif radix == 3:
            stage_3(first, second, roots, m, done, swap)
        elif radix == 5:
            stage_5(first, second, roots, m, done, swap)
        else:
            stage_7(first, second, roots, m, done, swap)
        other = first
        first = second
        second = other
    return first


@range_kernel
def complex_rows(args, lo, hi, tid):
    """Transforms of complex rows. Items are blocks of VL rows."""
    g = array(i64, args)
    n, bytes_of_row = g[N], 8 * g[N]
    buffers = scratch(tid, 2 * n * E)
    for item in range(lo, hi):
        row = VL * item
        lanes = min(i64(VL), g[ROWS] - row)
        transpose(g[SOURCE] + row * bytes_of_row, bytes_of_row, buffers, 4 * VL, lanes, 2 * n, VL)
        found = run_stages(g[STAGES], g[COUNT], g[SWAP], buffers, buffers + n * E)
        if g[FACTOR] != 0:
            scale(found, 2 * n, g[FACTOR])
        target = g[OUT] + row * bytes_of_row
        transpose(found, 4 * VL, target, bytes_of_row, 2 * n, lanes, 2 * n)


@function
def spread_few(source, pitch, target, count, lanes):
    """:func:`spread_columns` of fewer than VL columns; the other lanes get zeros."""
    for i in range(count):
        x, real = array(f32, source + i * pitch), array(f32, target + i * E)
        for j in range(lanes):
            real[j] = x[2 * j]
            real[VL + j] = x[2 * j + 1]
        for j in range(lanes, VL):
            real[j] = f32(0)
            real[VL + j] = f32(0)


@function
def joined_few(source, target, pitch, count, lanes):
    """:func:`joined_columns` of fewer than VL columns."""
    for i in range(count):
        real, x = array(f32, source + i * E), array(f32, target + i * pitch)
        for j in range(lanes):
            x[2 * j] = real[j]
            x[2 * j + 1] = real[VL + j]


@range_kernel
def complex_columns(args, lo, hi, tid):
    """Transforms of the columns of complex matrices. Items are blocks of VL columns."""
    g = array(i64, args)
    n, inner = g[N], g[INNER]
    pitch, blocks = 8 * inner, (inner + VL - 1) // VL
    buffers = scratch(tid, 2 * n * E)
    for item in range(lo, hi):
        column = item % blocks * VL
        lanes, at = inner - column, item // blocks * n * pitch + 8 * column
        if lanes >= VL:
            spread_columns(g[SOURCE] + at, pitch, buffers, n)
        else:
            spread_few(g[SOURCE] + at, pitch, buffers, n, lanes)
        found = run_stages(g[STAGES], g[COUNT], g[SWAP], buffers, buffers + n * E)
        if g[FACTOR] != 0:
            scale(found, 2 * n, g[FACTOR])
        if lanes >= VL:
            joined_columns(found, g[OUT] + at, pitch, n)
        else:
            joined_few(found, g[OUT] + at, pitch, n, lanes)


@range_kernel
def real_rows(args, lo, hi, tid):
    """Transforms of real rows of an even size, or first halves of them. Items are VL rows each."""
    g = array(i64, args)
    n, half = g[N], g[N] // 2
    values = n if g[WHOLE] != 0 else half + 1
    buffers = scratch(tid, 2 * values * E)
    second = buffers + values * E
    for item in range(lo, hi):
        row = VL * item
        lanes = min(i64(VL), g[ROWS] - row)
        transpose(g[SOURCE] + row * 4 * n, 4 * n, buffers, 4 * VL, lanes, n, VL)
        found = run_stages(g[STAGES], g[COUNT], g[SWAP], buffers, second)
        free = second if found == buffers else buffers
        to_real_transform(found, free, g[ROOTS], half, g[ENDS])
        if g[FACTOR] != 0:
            scale(free, n + 2, g[FACTOR])
        if g[WHOLE] != 0:
            mirror(free, half)
        target, size = g[OUT] + row * 8 * values, 8 * values
        transpose(free, 4 * VL, target, size, 2 * values, lanes, 2 * values)


@range_kernel
def rows_back(args, lo, hi, tid):
    """Real rows of an even size from the first halves of their transforms. Items are blocks of VL
    rows."""
    g = array(i64, args)
    n, half = g[N], g[N] // 2
    buffers = scratch(tid, (2 * half + 2) * E)
    second = buffers + (half + 1) * E
    for item in range(lo, hi):
        row, size = VL * item, 8 * (half + 1)
        lanes = min(i64(VL), g[ROWS] - row)
        transpose(g[SOURCE] + row * size, size, second, 4 * VL, lanes, n + 2, VL)
        from_real_transform(second, buffers, g[ROOTS], half, g[ENDS])
        found = run_stages(g[STAGES], g[COUNT], g[SWAP], buffers, second)
        if g[FACTOR] != 0:
            scale(found, n, g[FACTOR])
        transpose(found, 4 * VL, g[OUT] + row * 4 * n, 4 * n, n, lanes, n)
