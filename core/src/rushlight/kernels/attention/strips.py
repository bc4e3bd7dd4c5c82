"""Attention on matrix units, behind :mod:`rushlight.kernels.attention.products`. Import at first
need.

The algebra of :mod:`attention_kernels`, by strips of 32 rows. Operands are split into bfloat16
planes (three of float32; what was bfloat16 is one, and probabilities are rounded to it) and packed
as in :mod:`split_products`, those of a head once; scores and their gradients are packed again from
scratch memory. Where values cannot be split, a kernel says so, and the caller lets the vector units
do everything.
"""

from __future__ import annotations

from rushlight.kernels.attention.compiled import (
    BLOCKS,
    DK,
    DQ,
    DV,
    GRAD,
    GROUP,
    HEADS,
    OUT,
    REFUSED,
    SCALE,
    SDK,
    SDQ,
    SDV,
    SG,
    SK,
    SO,
    SQ,
    SV,
    VALUES,
    E,
    K,
    L,
    Q,
    S,
    V,
    address,
    exponentials,
    probability_row,
    score_gradient_row,
    visible,
)
from rushlight.kernels.gemm.matrix_units import (
    SIDE,
    TILE,
    configure,
    multiply_blocks,
    release,
    store_block,
    zero_block,
)
from rushlight.kernels.gemm.microkernel import START_C, START_ZERO
from rushlight.kernels.gemm.split import (
    EDGE,
    clear_peaks,
    end_block,
    largest,
    pack_blocks,
)
from rushlight.kernels.gemm.split import block_bytes as BLOCK
from rushlight.kernels.gemm.split import splits as fit
from rushlight.machine.language.functions import (
    array,
    f32,
    f64,
    function,
    i32,
    i64,
    independent,
    range_kernel,
    stack,
)
from rushlight.machine.worker_pool import memset, scratch

ROW_STRIPS = 4  # of 32 query rows that the backward pass takes together


def kind_of(planes):
    """What the kernels are compiled for: operands split into so many planes."""
    return {"planes": planes, "size": 4, "block_bytes": planes * 2 * TILE}


@function
def blocks_of(count):
    """How many blocks of 32 there are."""
    return (count + SIDE - 1) // SIDE


@function
def pack_rows_of_b(source, stride, lines, depth, to):
    """B from rows that are its columns: k is dense. Gives the largest magnitude."""
    peaks = stack(8)
    clear_peaks(peaks)
    for j in range(blocks_of(lines)):
        pack_blocks(source + SIDE * j * stride, stride, i64(1), i64(1), lines - SIDE * j, depth,
                    to + j * blocks_of(depth) * BLOCK, peaks)  # fmt: skip
    return largest(peaks)


@function
def pack_columns_of_b(source, stride, lines, depth, to):
    """B from rows that are its steps of k. Gives the largest magnitude."""
    peaks = stack(8)
    clear_peaks(peaks)
    for j in range(blocks_of(lines)):
        pack_blocks(source + 4 * SIDE * j, stride, i64(0), i64(0), lines - SIDE * j, depth,
                    to + j * blocks_of(depth) * BLOCK, peaks)  # fmt: skip
    return largest(peaks)


@function
def pack_strip_of_a(source, stride, transposed, rows, depth, to):
    """32 rows of A, or columns (`transposed`) of what is there. Gives the largest magnitude."""
    peaks = stack(8)
    clear_peaks(peaks)
    pack_blocks(source, stride, 1 - transposed, transposed, rows, depth, to, peaks)
    return largest(peaks)


@function
def products(strip, packed, panels, depth, blocks, to, pitch):
    """Whole blocks of a strip times panels, side by side in scratch memory; panels have `depth`
    blocks of k, of which `blocks` are taken."""
    for j in range(panels):
        zero_block()
        multiply_blocks(strip, packed + j * depth * BLOCK, blocks)
        store_block(to + 4 * SIDE * j, 4 * pitch)


@function
def products_to(strip, packed, depth, blocks, c, c_row, start, rows, columns, edge):
    """The same into rows of memory that end anywhere; with START_C added to what is there."""
    for j in range(blocks_of(columns)):
        zero_block()
        multiply_blocks(strip, packed + j * depth * BLOCK, blocks)
        end_block(c + 4 * SIDE * j, c_row, start, rows, min(columns - SIDE * j, i64(SIDE)), edge)


@function
def clear_after(x, seen, count):
    """Zeros in a row of scores from `seen` to the end of its blocks."""
    for j in independent(seen, count):
        x[j] = 0


@range_kernel(reassociate=True, wide=True)
def forward_strips(args, lo, hi, tid):
    """Items are parts of the strips of a head."""
    g = array(i64, args)
    length, keys, width, values, parts = g[L], g[S], g[E], g[VALUES], g[BLOCKS]
    scale, deep, columns = f32(array(f64, args)[SCALE]), blocks_of(width), blocks_of(keys)
    pitch = SIDE * columns + 16
    bytes_k, bytes_v = columns * deep * BLOCK, blocks_of(values) * columns * BLOCK
    packed_k = scratch(tid, bytes_k + bytes_v + (deep + columns) * BLOCK + EDGE + 128 * pitch)
    packed_v = packed_k + bytes_k
    strip = packed_v + bytes_v
    packed_p = strip + deep * BLOCK
    edge = packed_p + columns * BLOCK
    scores = edge + EDGE
    owner, peak_k, peak_v = i64(-1), i64(0), i64(0)
    configure()
    for item in range(lo, hi):
        both, part, strips = item // parts, item % parts, blocks_of(length)
        batch, head = both // g[HEADS], both % g[HEADS]
        if owner != both // g[GROUP]:
            owner = both // g[GROUP]
            shared = head // g[GROUP]
            peak_k = pack_rows_of_b(address(g, K, SK, batch, shared), g[SK + 2], keys, width,
                                    packed_k)  # fmt: skip
            peak_v = pack_columns_of_b(address(g, V, SV, batch, shared), g[SV + 2], values, keys,
                                       packed_v)  # fmt: skip
        for s in range(strips * part // parts, strips * (part + 1) // parts):
            first = SIDE * s
            rows = min(i64(SIDE), length - first)
            panels = blocks_of(visible(g, first + rows - 1, keys))
            peak = pack_strip_of_a(address(g, Q, SQ, batch, head) + first * g[SQ + 2], g[SQ + 2],
                                   i64(0), rows, width, strip)  # fmt: skip
            fits = fit(peak, peak_k)
            products(strip, packed_k, panels, deep, deep, scores, pitch)
            inverse = array(f32, stack(SIDE // 2))
            for i in range(rows):
                x, seen = array(f32, scores + 4 * pitch * i), visible(g, first + i, keys)
                inverse[i] = exponentials(g, batch, head, first + i, x, seen, scale)
                clear_after(x, seen, SIDE * panels)
            peak = pack_strip_of_a(scores, 4 * pitch, i64(0), rows, SIDE * panels, packed_p)
            if fits == 0 or fit(peak, peak_v) == 0:
                array(i64, g[REFUSED])[0] = 1
                continue
            out = address(g, OUT, SO, batch, head) + first * g[SO + 2]
            for j in range(blocks_of(values)):
                zero_block()
                multiply_blocks(packed_p, packed_v + j * columns * BLOCK, panels)
                store_block(edge, i64(4 * SIDE))
                for i in range(rows):
                    x, factor = array(f32, edge + 4 * SIDE * i), inverse[i]
                    y = array(f32, out + i * g[SO + 2] + 4 * SIDE * j)
                    for c in independent(min(values - SIDE * j, i64(SIDE))):
                        y[c] = x[c] * factor
    release()


@range_kernel(reassociate=True, wide=True)
def backward_strips(args, lo, hi, tid):
    """Items are heads of keys and values; each goes through the query heads that share it."""
    g = array(i64, args)
    length, keys, width, values, parts = g[L], g[S], g[E], g[VALUES], g[BLOCKS]
    scale, columns = f32(array(f64, args)[SCALE]), blocks_of(keys)
    deep, wide, most = blocks_of(width), blocks_of(values), i64(ROW_STRIPS)
    pitch = SIDE * columns + 16
    bytes_k, bytes_v, room = columns * deep * BLOCK, columns * wide * BLOCK, 4 * pitch * SIDE * most
    turned_k = scratch(tid, 2 * bytes_k + bytes_v + most * (deep + wide) * BLOCK
                       + (columns + deep + wide + most) * BLOCK + EDGE + 2 * room)  # fmt: skip
    turned_v = turned_k + bytes_k
    packed_k = turned_v + bytes_v
    packed_q = packed_k + bytes_k
    packed_g = packed_q + most * deep * BLOCK
    strip_q = packed_g + most * wide * BLOCK
    strip_g = strip_q + deep * BLOCK
    strip = strip_g + wide * BLOCK
    edge = strip + (columns + most) * BLOCK
    scores = edge + EDGE
    changes = scores + room
    shared = g[HEADS] // g[GROUP]
    configure()
    for item in range(lo, hi):
        batch, owner = item // shared, item % shared
        k, v = address(g, K, SK, batch, owner), address(g, V, SV, batch, owner)
        dk, dv = address(g, DK, SDK, batch, owner), address(g, DV, SDV, batch, owner)
        peak_k = pack_rows_of_b(k, g[SK + 2], keys, width, turned_k)
        peak_v = pack_rows_of_b(v, g[SV + 2], keys, values, turned_v)
        pack_columns_of_b(k, g[SK + 2], width, keys, packed_k)
        fits = i64(1)
        for step in range(g[GROUP] * parts):
            head, part, strips = owner * g[GROUP] + step // parts, step % parts, blocks_of(length)
            start = SIDE * (strips * part // parts)
            stop = min(length, SIDE * (strips * (part + 1) // parts))
            panels = blocks_of(visible(g, stop - 1, keys))
            q = address(g, Q, SQ, batch, head) + start * g[SQ + 2]
            grad = address(g, GRAD, SG, batch, head) + start * g[SG + 2]
            peak_q = pack_columns_of_b(q, g[SQ + 2], width, stop - start, packed_q)
            peak_g = pack_columns_of_b(grad, g[SG + 2], values, stop - start, packed_g)
            fits = fits * fit(peak_q, peak_k) * fit(peak_g, peak_v)
            for first in range(start, stop, SIDE):
                done = first - start
                rows = min(i64(SIDE), stop - first)
                pack_strip_of_a(q + done * g[SQ + 2], g[SQ + 2], i64(0), rows, width, strip_q)
                pack_strip_of_a(grad + done * g[SG + 2], g[SG + 2], i64(0), rows, values, strip_g)
                here, there = scores + 4 * pitch * done, changes + 4 * pitch * done
                products(strip_q, turned_k, panels, deep, deep, here, pitch)
                products(strip_g, turned_v, panels, wide, wide, there, pitch)
                for i in range(rows):
                    x, d = array(f32, here + 4 * pitch * i), array(f32, there + 4 * pitch * i)
                    seen = visible(g, first + i, keys)
                    probability_row(g, batch, head, first + i, x, seen, scale)
                    score_gradient_row(g, batch, head, first + i, x, d, seen, scale)
                    clear_after(x, seen, SIDE * panels)
                    clear_after(d, seen, SIDE * panels)
                peak = pack_strip_of_a(there, 4 * pitch, i64(0), rows, SIDE * panels, strip)
                fits = fits * fit(peak, peak_k)
                products_to(strip, packed_k, columns, panels,
                            address(g, DQ, SDQ, batch, head) + first * g[SDQ + 2], g[SDQ + 2],
                            i64(START_ZERO), rows, width, edge)  # fmt: skip
            steps, add = blocks_of(stop - start), i64(START_ZERO) if step == 0 else i64(START_C)
            for s in range(columns):
                rows = min(i64(SIDE), keys - SIDE * s)
                to_k, to_v = dk + SIDE * s * g[SDK + 2], dv + SIDE * s * g[SDV + 2]
                if s < panels:
                    peak = pack_strip_of_a(scores + 4 * SIDE * s, 4 * pitch, i64(1), i64(SIDE),
                                           stop - start, strip)  # fmt: skip
                    fits = fits * fit(peak, peak_g)
                    products_to(strip, packed_g, steps, steps, to_v, g[SDV + 2], add, rows, values,
                                edge)  # fmt: skip
                    peak = pack_strip_of_a(changes + 4 * SIDE * s, 4 * pitch, i64(1), i64(SIDE),
                                           stop - start, strip)  # fmt: skip
                    fits = fits * fit(peak, peak_q)
                    products_to(strip, packed_q, steps, steps, to_k, g[SDK + 2], add, rows, width,
                                edge)  # fmt: skip
                elif step == 0:
                    for i in range(rows):
                        memset(to_k + i * g[SDK + 2], i32(0), 4 * width)
                        memset(to_v + i * g[SDV + 2], i32(0), 4 * values)
        if fits == 0:
            array(i64, g[REFUSED])[0] = 1
    release()
