"""Products inside of kernels: pieces that put tile kernels to work on what is in a cache.

A kernel packs one operand into panels, prepares a parameter block and multiplies; nothing here runs
on more than the calling thread. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import BESIDE, MAX_ROWS, PANEL, call_tile, pack_rows, split
from rushlight.kernels.gemm.transposes import transpose
from rushlight.machine.language.functions import array, function, i64, stack


@function
def multiply(tiles, block, a, a_row, a_k, rows, depth, packed, panel_bytes, columns, c, c_row,
             start, bias):  # fmt: skip
    """C = A times packed panels; with START_C added to what C holds, with START_BIAS to a row."""
    p = array(i64, block)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW] = a_row, a_k, c_row
    p[mk.DEPTH], p[mk.START] = depth, start
    for t in range((rows + MAX_ROWS - 1) // MAX_ROWS):
        row, size = split(rows, MAX_ROWS, t)
        p[mk.A] = a + row * a_row
        for j in range((columns + PANEL - 1) // PANEL):
            p[mk.B] = packed + j * panel_bytes
            p[mk.C] = c + row * c_row + 4 * PANEL * j
            p[mk.COLUMNS] = columns - j * PANEL
            p[mk.BIAS] = bias + 4 * PANEL * j
            call_tile(tiles, size, block)


@function
def beside(rows):
    """Panels that a tile of so few rows computes side by side."""
    return i64(BESIDE) // rows


@function
def multiply_few(tiles, several, block, rows, packed, columns, c):
    """:func:`multiply` for at most FEW rows, whose tiles compute several panels at a time where
    there are as many; the same bits. The block has all but what differs from panel to panel; in
    BIAS what belongs to the first column."""
    p = array(i64, block)
    bias, panel_bytes = p[mk.BIAS], p[mk.PANEL_BYTES]
    whole = columns // (PANEL * beside(rows)) * beside(rows)
    for j in range(0, whole, beside(rows)):
        p[mk.B], p[mk.C] = packed + j * panel_bytes, c + 4 * PANEL * j
        p[mk.COLUMNS], p[mk.BIAS] = columns - j * PANEL, bias + 4 * PANEL * j
        call_tile(several, rows, block)
    for j in range(whole, (columns + PANEL - 1) // PANEL):
        p[mk.B], p[mk.C] = packed + j * panel_bytes, c + 4 * PANEL * j
        p[mk.COLUMNS], p[mk.BIAS] = columns - j * PANEL, bias + 4 * PANEL * j
        call_tile(tiles, rows, block)


@function
def pack_transposed(source, row, target, rows, depth):
    """Panels of the transpose: PANEL rows of the source side by side."""
    for j in range((rows + PANEL - 1) // PANEL):
        transpose(source + j * PANEL * row, row, target + 4 * PANEL * depth * j, 4 * PANEL,
                  min(i64(PANEL), rows - j * PANEL), depth, PANEL)  # fmt: skip


@function
def pack(source, row, target, rows, columns):
    """Panels of PANEL columns."""
    for j in range((columns + PANEL - 1) // PANEL):
        pack_rows(source + 4 * PANEL * j, row, target + 4 * PANEL * rows * j, rows,
                  min(i64(PANEL), columns - j * PANEL))  # fmt: skip


@function
def ready_block(block):
    """A parameter block for tile kernels: one segment, no epilogue."""
    segment = stack(2)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, block)
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT] = segment, 1


@function
def panels(columns):
    """Columns of packed panels, rounded up."""
    return (columns + PANEL - 1) // PANEL * PANEL


@function
def pack_b(b, row, transposed, k, depth, column, columns, target):
    """One panel of op(B), float32: rows k..k+depth, PANEL columns, zero-filled."""
    if transposed != 0:
        transpose(b + column * row + 4 * k, row, target, PANEL * 4, columns, depth, PANEL)
    else:
        pack_rows(b + k * row + 4 * column, row, target, depth, columns)
