"""Compiled kernels behind :mod:`rushlight.kernels.recurrence`. Import at first need.

Items are blocks of sequences (rows): every one runs through all steps by itself, so nothing waits
between steps. The hidden weights are packed once for a chunk of blocks.
"""

from __future__ import annotations

from rushlight.backends import microkernel as mk
from rushlight.backends.kernel_language import (
    Parameter,
    absolute,
    array,
    f32,
    function,
    i32,
    i64,
    range_kernel,
    stack,
)
from rushlight.backends.microkernel import (
    PANEL,
    START_BIAS,
    START_C,
    START_ZERO,
    TILE_WORDS,
)
from rushlight.backends.worker_pool import memcpy, memset, scratch
from rushlight.kernels.exponential import exponential32
from rushlight.kernels.tile_products import multiply, pack, pack_transposed, panels, ready_block

# Argument words. The forward pass is given those up to BIAS, the backward pass all of them.
GATES, FIRST, CELL, WEIGHT, OUT, LAST, ACTS, CELLS, BIAS = range(9)
DOUT, DLAST, DGATES, DFROM, DFIRST, DCELL = range(9, 15)
T, N, H, BLOCKS, REVERSED, TILES = range(15, 21)
WORDS = 21

kind = Parameter("kind")
LSTM, GRU, TANH, RELU = range(4)
count = Parameter("count")  # gates


@function
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return f32(1) / (f32(1) + exponential32(-x))


@function
def tanh(x):
    """The hyperbolic tangent: a polynomial near zero (Moshier's), else by exp(2 x)."""
    s = x * x
    p = s * f32(-5.70498872745e-3) + f32(2.06390887954e-2)
    p = p * s + f32(-5.37397155531e-2)
    p = p * s + f32(1.33314422036e-1)
    p = p * s + f32(-3.33332819422e-1)
    near = p * s * x + x
    far = f32(1) - f32(2) / (exponential32(x + x) + f32(1))
    return near if absolute(x) < f32(0.625) else far


@function
def rows_of(g, block):
    """First sequence and number of sequences of a block."""
    first = g[N] * block // g[BLOCKS]
    return first, g[N] * (block + 1) // g[BLOCKS] - first


@function
def step_at(g, i):
    """The step that is done as number i."""
    if g[REVERSED] != 0:
        return g[T] - 1 - i
    return i


@function
def before(g, i, first):
    """Where the hidden states before step number i lie: in the results, or the initial ones."""
    if i == 0:
        return g[FIRST] + 4 * first * g[H]
    return g[OUT] + 4 * (step_at(g, i - 1) * g[N] + first) * g[H]


@function
def cell_before(g, i, first):
    """The same for cells."""
    if i == 0:
        return g[CELL] + 4 * first * g[H]
    return g[CELLS] + 4 * (step_at(g, i - 1) * g[N] + first) * g[H]


@function
def lstm_row(x, c_before, c, h, width):
    """Activate the gates of one row in place; the new cell and the new state."""
    for j in range(width):
        i, f = sigmoid(x[j]), sigmoid(x[width + j])
        new, o = tanh(x[2 * width + j]), sigmoid(x[3 * width + j])
        x[j] = i
        x[width + j] = f
        x[2 * width + j] = new
        x[3 * width + j] = o
        value = f * c_before[j] + i * new
        c[j] = value
        h[j] = o * tanh(value)


@function
def gru_row(x, y, h_before, acts, h, width):
    """Gates of one row from the input (x) and from the state (y)."""
    for j in range(width):
        r, z = sigmoid(x[j] + y[j]), sigmoid(x[width + j] + y[width + j])
        inner = y[2 * width + j]
        new = tanh(x[2 * width + j] + r * inner)
        acts[j] = r
        acts[width + j] = z
        acts[2 * width + j] = new
        acts[3 * width + j] = inner
        h[j] = new + z * (h_before[j] - new)


@range_kernel(wide=True)
def forward_blocks(args, lo, hi, tid):
    """All steps of blocks of sequences."""
    g = array(i64, args)
    width, steps = g[H], g[T]
    wide = count * width
    packed = scratch(tid, 4 * (width * panels(wide) + mk.MAX_ROWS * wide))
    sums = packed + 4 * width * panels(wide)
    pack_transposed(g[WEIGHT], 4 * width, packed, wide, width)
    block = stack(TILE_WORDS)
    ready_block(block)
    start = i64(START_ZERO)
    if g[BIAS] != 0:
        start = i64(START_BIAS)
    for item in range(lo, hi):
        first, rows = rows_of(g, item)
        for i in range(steps):
            place = step_at(g, i) * g[N] + first
            h_before = before(g, i, first)
            gates, out = g[GATES] + 4 * place * wide, g[OUT] + 4 * place * width
            if kind == LSTM:
                acts = g[ACTS] + 4 * place * wide
                memcpy(acts, gates, 4 * rows * wide)
                multiply(g[TILES], block, h_before, 4 * width, i64(4), rows, width, packed,
                         4 * PANEL * width, wide, acts, 4 * wide, i64(START_C), i64(0))  # fmt: skip
                cells, earlier = g[CELLS] + 4 * place * width, cell_before(g, i, first)
                for r in range(rows):
                    lstm_row(array(f32, acts + 4 * r * wide), array(f32, earlier + 4 * r * width),
                             array(f32, cells + 4 * r * width), array(f32, out + 4 * r * width),
                             width)  # fmt: skip
            elif kind == GRU:
                multiply(g[TILES], block, h_before, 4 * width, i64(4), rows, width, packed,
                         4 * PANEL * width, wide, sums, 4 * wide, start, g[BIAS])  # fmt: skip
                for r in range(rows):
                    gru_row(array(f32, gates + 4 * r * wide), array(f32, sums + 4 * r * wide),
                            array(f32, h_before + 4 * r * width),
                            array(f32, g[ACTS] + 16 * (place + r) * width),
                            array(f32, out + 4 * r * width), width)  # fmt: skip
            else:
                memcpy(out, gates, 4 * rows * width)
                multiply(g[TILES], block, h_before, 4 * width, i64(4), rows, width, packed,
                         4 * PANEL * width, wide, out, 4 * width, i64(START_C), i64(0))  # fmt: skip
                h = array(f32, out)
                for j in range(rows * width):
                    if kind == TANH:
                        h[j] = tanh(h[j])
                    else:
                        h[j] = f32(0) if h[j] < f32(0) else h[j]
        if kind == LSTM:
            last = g[CELLS] + 4 * (step_at(g, steps - 1) * g[N] + first) * width
            memcpy(g[LAST] + 4 * first * width, last, 4 * rows * width)


@function
def lstm_row_back(x, c_before, c, dy, dh, dc, d, width):
    """Gradients of the gates of one row (d), and of the cell before (dc, in place)."""
    for j in range(width):
        i, f, new, o = x[j], x[width + j], x[2 * width + j], x[3 * width + j]
        bent, whole = tanh(c[j]), dy[j] + dh[j]
        inner = dc[j] + whole * o * (f32(1) - bent * bent)
        d[j] = inner * new * i * (f32(1) - i)
        d[width + j] = inner * c_before[j] * f * (f32(1) - f)
        d[2 * width + j] = inner * i * (f32(1) - new * new)
        d[3 * width + j] = whole * bent * o * (f32(1) - o)
        dc[j] = inner * f


@function
def gru_row_back(acts, h_before, dy, dh, d, e, width):
    """Gradients of the gates of one row from the input (d) and from the state (e); what the state
    before gets directly stays in dh."""
    for j in range(width):
        r, z = acts[j], acts[width + j]
        new, inner = acts[2 * width + j], acts[3 * width + j]
        whole = dy[j] + dh[j]
        dz = whole * (h_before[j] - new) * z * (f32(1) - z)
        dn = whole * (f32(1) - z) * (f32(1) - new * new)
        dr = dn * inner * r * (f32(1) - r)
        d[j] = dr
        d[width + j] = dz
        d[2 * width + j] = dn
        e[j] = dr
        e[width + j] = dz
        e[2 * width + j] = dn * r
        dh[j] = whole * z


@function
def plain_row_back(y, dy, dh, d, width):
    """Gradients of the sums under tanh or relu of one row."""
    for j in range(width):
        whole = dy[j] + dh[j]
        if kind == TANH:
            d[j] = whole * (f32(1) - y[j] * y[j])
        else:
            d[j] = whole if y[j] > f32(0) else f32(0)


@range_kernel(wide=True)
def backward_blocks(args, lo, hi, tid):
    """All steps of blocks of sequences, last first."""
    g = array(i64, args)
    width, steps = g[H], g[T]
    wide = count * width
    packed = scratch(tid, 4 * wide * panels(width))
    pack(g[WEIGHT], 4 * width, packed, wide, width)
    block = stack(TILE_WORDS)
    ready_block(block)
    for item in range(lo, hi):
        first, rows = rows_of(g, item)
        carried = g[DFIRST] + 4 * first * width
        memset(carried, i32(0), 4 * rows * width)
        dcell = g[DCELL] + 4 * first * width
        if kind == LSTM:
            if g[DLAST] != 0:
                memcpy(dcell, g[DLAST] + 4 * first * width, 4 * rows * width)
            else:
                memset(dcell, i32(0), 4 * rows * width)
        for back in range(steps):
            i = steps - 1 - back
            place = step_at(g, i) * g[N] + first
            d, from_state = g[DGATES] + 4 * place * wide, g[DGATES] + 4 * place * wide
            start = i64(START_ZERO)
            if kind == GRU:
                from_state = g[DFROM] + 4 * place * wide
                start = i64(START_C)
            h_before = before(g, i, first)
            for r in range(rows):
                dy = array(f32, g[DOUT] + 4 * (place + r) * width)
                dh = array(f32, carried + 4 * r * width)
                row = array(f32, d + 4 * r * wide)
                if kind == LSTM:
                    lstm_row_back(array(f32, g[ACTS] + 4 * (place + r) * wide),
                                  array(f32, cell_before(g, i, first) + 4 * r * width),
                                  array(f32, g[CELLS] + 4 * (place + r) * width), dy, dh,
                                  array(f32, dcell + 4 * r * width), row, width)  # fmt: skip
                elif kind == GRU:
                    gru_row_back(array(f32, g[ACTS] + 16 * (place + r) * width),
                                 array(f32, h_before + 4 * r * width), dy, dh, row,
                                 array(f32, from_state + 4 * r * wide), width)  # fmt: skip
                else:
                    plain_row_back(array(f32, g[OUT] + 4 * (place + r) * width), dy, dh, row, width)
            multiply(g[TILES], block, from_state, 4 * wide, i64(4), rows, wide, packed,
                     4 * PANEL * wide, width, carried, 4 * width, start, i64(0))  # fmt: skip
