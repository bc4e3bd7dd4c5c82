"""Compiled fills: normals and permutations from draws of MT19937. Import at first need.

Argument words: state, result, mean and deviation (doubles), count; of normals then the address of
a driver (see `rushlight.compiler.cpu.drivers`) and the descriptor of the transform it runs.
"""

from __future__ import annotations

from rushlight.kernels.random.mersenne_twister import COUNT, OUT, draw_into, remainder
from rushlight.machine.language.functions import (
    array,
    call_address,
    f32,
    f64,
    function,
    i64,
    range_kernel,
    stack,
)

MEAN, DEVIATION, DRIVER, DESCRIPTOR = 2, 3, 5, 6
BLOCKS = 64  # blocks of 16 that are transformed together
HALF = 8


@function
def transform(g, source, target, blocks, halves, table):
    """Blocks of 16 uniforms as normals: in each the first half gives radii, the second angles."""
    x, out = array(f32, source), array(f32, target)
    first, second = array(f32, halves), array(f32, halves + 4 * HALF * BLOCKS)
    for block in range(blocks):
        for i in range(HALF):
            first[HALF * block + i] = x[2 * HALF * block + i]
            second[HALF * block + i] = x[2 * HALF * block + HALF + i]
    words = array(i64, table)
    words[0] = g[DESCRIPTOR]
    for j in range(2):
        words[1 + j] = halves + 4 * HALF * BLOCKS * (2 + j)
        words[3 + j] = halves + 4 * HALF * BLOCKS * j
    words[5], words[6] = g[MEAN], g[DEVIATION]
    call_address(g[DRIVER], table, i64(0), HALF * blocks, i64(0))
    cosines = array(f32, halves + 8 * HALF * BLOCKS)
    sines = array(f32, halves + 12 * HALF * BLOCKS)
    for block in range(blocks):
        for i in range(HALF):
            out[2 * HALF * block + i] = cosines[HALF * block + i]
            out[2 * HALF * block + HALF + i] = sines[HALF * block + i]


@range_kernel
def transformed(args, lo, hi, tid):
    """Items: up to BLOCKS whole blocks of 16 of COUNT uniforms, in place."""
    g = array(i64, args)
    halves, table = stack(2 * HALF * BLOCKS), stack(8)
    for item in range(lo, hi):
        at = g[OUT] + 64 * BLOCKS * item
        transform(g, at, at, min(BLOCKS, g[COUNT] // 16 - BLOCKS * item), halves, table)


@range_kernel
def normals(args, lo, hi, tid):
    """The one item: COUNT normals, at least 16; the last block is drawn anew if it is not whole."""
    g = array(i64, args)
    halves, table, rest = stack(2 * HALF * BLOCKS), stack(8), stack(8)
    count = g[COUNT]
    draw_into(g, g[OUT], count)
    for start in range(0, count // 16, BLOCKS):
        at = g[OUT] + 64 * start
        transform(g, at, at, min(BLOCKS, count // 16 - start), halves, table)
    if count % 16 > 0:
        draw_into(g, rest, i64(16))
        transform(g, rest, g[OUT] + 4 * (count - 16), i64(1), halves, table)


@range_kernel
def shuffled(args, lo, hi, tid):
    """The one item: the numbers below COUNT; each position in turn changes with one not before
    it."""
    g = array(i64, args)
    drawn = stack(256)
    order, words = array(i64, g[OUT]), array(i64, drawn)
    count = g[COUNT]
    for i in range(count):
        order[i] = i
    for start in range(0, count - 1, 256):
        many = min(i64(256), count - 1 - start)
        draw_into(g, drawn, many)
        for i in range(many):
            words[i] = start + i + remainder(f64(words[i]), f64(count - start - i))
        for i in range(many):
            value = order[start + i]
            order[start + i] = order[words[i]]
            order[words[i]] = value
