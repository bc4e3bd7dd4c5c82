"""Packing of operands whose elements are anywhere: offsets of lines plus offsets of steps of k."""

from __future__ import annotations

from rushlight.kernels.gemm.matrix_units import (
    SIDE,
    TILE,
    gather_pairs,
    gather_rows,
    planes,
    transpose_tile,
)
from rushlight.machine.language.functions import function, i64

# How an operand is gathered, as bits; 0 where it is not.
GATHERED, PAIRED, TURNED = 1, 2, 4


def gathering(is_a, along_steps):
    """The bits for A or B, whose memory runs along k (`along_steps`) or along lines."""
    return GATHERED + PAIRED * (not along_steps) + TURNED * (is_a != along_steps)


@function
def gather_tile(source, lines, steps, how, to, peaks, count, depth):
    """A tile for each plane of float32 values: up to 16 lines by 32 steps of k."""
    if planes != 0:
        if how & i64(PAIRED) != 0:
            gather_pairs(source, lines, steps, to, peaks, count, depth)
        else:
            gather_rows(source, lines, steps, to, peaks, count, depth)


@function
def gather_block(source, lines, steps, how, count, depth, panel, block, to, peaks):
    """32 lines of a panel by 32 steps of k; the operand has `count` lines and `depth` steps."""
    for half in range(2):
        line = panel * SIDE + 16 * half
        gather_tile(source, lines + 4 * line, steps + 4 * SIDE * block, how, to + half * TILE,
                    peaks, count - line, depth - SIDE * block)  # fmt: skip
        if how & i64(TURNED) != 0:
            for plane in range(planes):
                transpose_tile(to + half * TILE + 2 * TILE * plane)
