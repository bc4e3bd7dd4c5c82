"""Compiled kernels behind :mod:`rushlight.kernels.recurrent.sequences`. Import at first need.

Items are blocks of sequences (rows): every one runs through all steps by itself, so nothing waits
between steps. The hidden weights are packed once for a chunk of blocks; products of float64 are
those of OpenBLAS.
"""

from __future__ import annotations

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import (
    FEW,
    PANEL,
    START_BIAS,
    START_C,
    START_ZERO,
    TILE_WORDS,
)
from rushlight.kernels.gemm.tiles import (
    multiply,
    multiply_few,
    pack,
    pack_transposed,
    panels,
    ready_block,
)
from rushlight.kernels.launch.exponential import exponential_below
from rushlight.machine.language.functions import (
    Parameter,
    absolute,
    array,
    f32,
    f64,
    function,
    i32,
    i64,
    range_kernel,
    real,
    stack,
)
from rushlight.machine.openblas import NO_TRANSPOSE, ROW_MAJOR, TRANSPOSE, dgemm
from rushlight.machine.worker_pool import memcpy, memset, scratch

# Argument words. The forward pass is given those up to BIAS, the backward pass all of them.
GATES, FIRST, CELL, WEIGHT, OUT, LAST, ACTS, CELLS, BIAS = range(9)
DOUT, DLAST, DGATES, DFROM, DFIRST, DCELL = range(9, 15)
PACKED = DOUT  # of the forward pass: float32 weights that were packed before
T, N, H, BLOCKS, REVERSED, TILES, SEVERAL = range(15, 22)
WORDS = 22

kind = Parameter("kind")
LSTM, GRU, TANH, RELU = range(4)
count = Parameter("count")  # gates


@function
def sigmoid_parts(x):
    """Numerator and denominator of 1 / (1 + exp(-x)); the denominator is from 1 to 2."""
    power = exponential_below(-absolute(x))
    return power if x < real(0) else real(1), real(1) + power


@function
def tanh_near(x):
    """The hyperbolic tangent below 0.625: a polynomial or a quotient (Moshier's)."""
    s = x * x
    if real is f32:
        p = s * f32(-5.70498872745e-3) + f32(2.06390887954e-2)
        p = p * s + f32(-5.37397155531e-2)
        p = p * s + f32(1.33314422036e-1)
        p = p * s + f32(-3.33332819422e-1)
        return p * s * x + x
    p = s * f64(-9.64399179425052238628e-1) + f64(-9.92877231001918586564e1)
    p = p * s + f64(-1.61468768441708447952e3)
    q = (s + f64(1.12811678491632931402e2)) * s + f64(2.23548839060100448583e3)
    return p / (q * s + f64(4.84406305325125486048e3)) * s * x + x


@function
def tanh_parts(x):
    """Numerator and denominator of the hyperbolic tangent; the denominator is from 1 to 2. Near
    zero the numerator loses bits."""
    power = exponential_below(real(-2) * absolute(x))
    far = power - real(1) if x < real(0) else real(1) - power
    return far, real(1) + power


@function
def tanh(x):
    """The hyperbolic tangent."""
    above, below = tanh_parts(x)
    return tanh_near(x) if absolute(x) < real(0.625) else above / below


@function
def packed_size(rows, columns):
    """Bytes of packed weights, which float64 does without."""
    return 4 * rows * panels(columns) if real is f32 else i64(0)


@function
def product(g, block, a, rows, depth, packed, columns, transposed, c, start):
    """C = A times the weight (`transposed`: in the forward pass), which is packed for float32."""
    size = real.bits // 8
    if real is f32:
        if rows <= FEW:
            p = array(i64, block)
            p[mk.A], p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW] = a, 4 * depth, i64(4), 4 * columns
            p[mk.DEPTH], p[mk.PANEL_BYTES] = depth, 4 * depth * PANEL
            p[mk.START], p[mk.BIAS] = start, g[BIAS]
            multiply_few(g[TILES], g[SEVERAL], block, rows, packed, columns, c)
            return
        for j in range(0, columns, PANEL):  # a panel stays in the first cache for all rows
            multiply(g[TILES], block, a, 4 * depth, i64(4), rows, depth, packed + 4 * depth * j,
                     i64(0), min(i64(PANEL), columns - j), c + 4 * j, 4 * columns, start,
                     g[BIAS] + 4 * j)  # fmt: skip
    else:
        if start == START_BIAS:
            for r in range(rows):
                memcpy(c + size * r * columns, g[BIAS], size * columns)
        beta = f64(0) if start == START_ZERO else f64(1)
        dgemm(ROW_MAJOR, NO_TRANSPOSE, transposed, rows, columns, depth, 1.0, a, depth, g[WEIGHT],
              g[H], beta, c, columns)  # fmt: skip


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
    """Where the hidden states before step number i are: in the results, or the initial ones."""
    size = real.bits // 8
    if i == 0:
        return g[FIRST] + size * first * g[H]
    return g[OUT] + size * (step_at(g, i - 1) * g[N] + first) * g[H]


@function
def cell_before(g, i, first):
    """The same for cells."""
    size = real.bits // 8
    if i == 0:
        return g[CELL] + size * first * g[H]
    return g[CELLS] + size * (step_at(g, i - 1) * g[N] + first) * g[H]


@function
def lstm_row(x, y, acts, c_before, c, h, width):
    """Gates of one row from the input (x) and from the state (y); the new cell and the new state.
    Two quotients take one division: it is what takes longest."""
    for j in range(width):
        from_i, to_i = sigmoid_parts(x[j] + y[j])
        from_f, to_f = sigmoid_parts(x[width + j] + y[width + j])
        sum_new = x[2 * width + j] + y[2 * width + j]
        from_new, to_new = tanh_parts(sum_new)
        from_o, to_o = sigmoid_parts(x[3 * width + j] + y[3 * width + j])
        one, two = real(1) / (to_i * to_f), real(1) / (to_new * to_o)
        i, f, o = from_i * (one * to_f), from_f * (one * to_i), from_o * (two * to_new)
        new = from_new * (two * to_o)
        new = tanh_near(sum_new) if absolute(sum_new) < real(0.625) else new
        acts[j] = i
        acts[width + j] = f
        acts[2 * width + j] = new
        acts[3 * width + j] = o
        value = f * c_before[j] + i * new
        c[j] = value
        h[j] = o * tanh(value)


@function
def gru_row(x, y, h_before, acts, h, width):
    """Gates of one row from the input (x) and from the state (y)."""
    for j in range(width):
        from_r, to_r = sigmoid_parts(x[j] + y[j])
        from_z, to_z = sigmoid_parts(x[width + j] + y[width + j])
        one = real(1) / (to_r * to_z)
        r, z = from_r * (one * to_z), from_z * (one * to_r)
        inner = y[2 * width + j]
        new = tanh(x[2 * width + j] + r * inner)
        acts[j] = r
        acts[width + j] = z
        acts[2 * width + j] = new
        acts[3 * width + j] = inner
        h[j] = new + z * (h_before[j] - new)


@range_kernel
def pack_weight(args, lo, hi, tid):
    """The weight as the forward pass wants it, into PACKED."""
    g = array(i64, args)
    pack_transposed(g[WEIGHT], 4 * g[H], g[PACKED], count * g[H], g[H])


@range_kernel(wide=True)
def forward_blocks(args, lo, hi, tid):
    """All steps of blocks of sequences. Without ACTS gates are not kept."""
    g = array(i64, args)
    width, steps = g[H], g[T]
    wide = count * width
    size = real.bits // 8
    tallest = (g[N] + g[BLOCKS] - 1) // g[BLOCKS]
    own = packed_size(width, wide)
    if g[PACKED] != 0:
        own = i64(0)
    packed = scratch(tid, own + size * (tallest * wide + 4 * width))
    sums = packed + own
    unread = sums + size * tallest * wide
    if g[PACKED] != 0:
        packed = g[PACKED]
    elif real is f32:
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
            gates, out = g[GATES] + size * place * wide, g[OUT] + size * place * width
            acts, acts_row = unread, i64(0)
            if g[ACTS] != 0:
                acts, acts_row = g[ACTS] + 4 * size * place * width, 4 * size * width
            if kind == LSTM:
                product(g, block, h_before, rows, width, packed, wide, TRANSPOSE, sums, start)
                cells, earlier = g[CELLS] + size * place * width, cell_before(g, i, first)
                for r in range(rows):
                    lstm_row(array(real, gates + size * r * wide),
                             array(real, sums + size * r * wide),
                             array(real, acts + r * acts_row),
                             array(real, earlier + size * r * width),
                             array(real, cells + size * r * width),
                             array(real, out + size * r * width), width)  # fmt: skip
            elif kind == GRU:
                product(g, block, h_before, rows, width, packed, wide, TRANSPOSE, sums, start)
                for r in range(rows):
                    gru_row(array(real, gates + size * r * wide),
                            array(real, sums + size * r * wide),
                            array(real, h_before + size * r * width),
                            array(real, acts + r * acts_row),
                            array(real, out + size * r * width), width)  # fmt: skip
            else:
                memcpy(out, gates, size * rows * width)
                start = i64(START_C)
                product(g, block, h_before, rows, width, packed, wide, TRANSPOSE, out, start)
                h = array(real, out)
                for j in range(rows * width):
                    if kind == TANH:
                        h[j] = tanh(h[j])
                    else:
                        h[j] = real(0) if h[j] < real(0) else h[j]
        if kind == LSTM:
            last = g[CELLS] + size * (step_at(g, steps - 1) * g[N] + first) * width
            memcpy(g[LAST] + size * first * width, last, size * rows * width)


@function
def lstm_row_back(x, c_before, c, dy, dh, dc, d, width):
    """Gradients of the gates of one row (d), and of the cell before (dc, in place)."""
    for j in range(width):
        i, f, new, o = x[j], x[width + j], x[2 * width + j], x[3 * width + j]
        bent, whole = tanh(c[j]), dy[j] + dh[j]
        inner = dc[j] + whole * o * (real(1) - bent * bent)
        d[j] = inner * new * i * (real(1) - i)
        d[width + j] = inner * c_before[j] * f * (real(1) - f)
        d[2 * width + j] = inner * i * (real(1) - new * new)
        d[3 * width + j] = whole * bent * o * (real(1) - o)
        dc[j] = inner * f


@function
def gru_row_back(acts, h_before, dy, dh, d, e, width):
    """Gradients of the gates of one row from the input (d) and from the state (e); what the state
    before gets directly stays in dh."""
    for j in range(width):
        r, z = acts[j], acts[width + j]
        new, inner = acts[2 * width + j], acts[3 * width + j]
        whole = dy[j] + dh[j]
        dz = whole * (h_before[j] - new) * z * (real(1) - z)
        dn = whole * (real(1) - z) * (real(1) - new * new)
        dr = dn * inner * r * (real(1) - r)
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
            d[j] = whole * (real(1) - y[j] * y[j])
        else:
            d[j] = real(0) if y[j] <= real(0) else whole


@range_kernel(wide=True)
def backward_blocks(args, lo, hi, tid):
    """All steps of blocks of sequences, last first."""
    g = array(i64, args)
    width, steps = g[H], g[T]
    wide = count * width
    size = real.bits // 8
    packed = scratch(tid, packed_size(wide, width))
    if real is f32:
        pack(g[WEIGHT], 4 * width, packed, wide, width)
    block = stack(TILE_WORDS)
    ready_block(block)
    for item in range(lo, hi):
        first, rows = rows_of(g, item)
        carried = g[DFIRST] + size * first * width
        memset(carried, i32(0), size * rows * width)
        dcell = g[DCELL] + size * first * width
        if kind == LSTM:
            if g[DLAST] != 0:
                memcpy(dcell, g[DLAST] + size * first * width, size * rows * width)
            else:
                memset(dcell, i32(0), size * rows * width)
        for back in range(steps):
            i = steps - 1 - back
            place = step_at(g, i) * g[N] + first
            d, from_state = g[DGATES] + size * place * wide, g[DGATES] + size * place * wide
            start = i64(START_ZERO)
            if kind == GRU:
                from_state = g[DFROM] + size * place * wide
                start = i64(START_C)
            h_before = before(g, i, first)
            for r in range(rows):
                dy = array(real, g[DOUT] + size * (place + r) * width)
                dh = array(real, carried + size * r * width)
                row = array(real, d + size * r * wide)
                if kind == LSTM:
                    lstm_row_back(array(real, g[ACTS] + size * (place + r) * wide),
                                  array(real, cell_before(g, i, first) + size * r * width),
                                  array(real, g[CELLS] + size * (place + r) * width), dy, dh,
                                  array(real, dcell + size * r * width), row, width)  # fmt: skip
                elif kind == GRU:
                    gru_row_back(array(real, g[ACTS] + 4 * size * (place + r) * width),
                                 array(real, h_before + size * r * width), dy, dh, row,
                                 array(real, from_state + size * r * wide), width)  # fmt: skip
                else:
                    plain_row_back(
                        array(real, g[OUT] + size * (place + r) * width), dy, dh, row, width
                    )
            product(g, block, from_state, rows, wide, packed, width, NO_TRANSPOSE, carried, start)
