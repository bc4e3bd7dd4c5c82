"""Compiled kernels behind :mod:`rushlight.kernels.attention.products`. Import at first need."""

from __future__ import annotations

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import PANEL, START_C, START_ZERO, TILE_WORDS
from rushlight.kernels.gemm.tiles import multiply, pack, pack_transposed, panels, ready_block
from rushlight.kernels.launch.exponential import exponential_below32, logarithm, logarithm_above
from rushlight.kernels.reduction.row_sums import SINGLES, largest_of_rows32, means_of_rows32
from rushlight.kernels.reduction.softmax import ordered32
from rushlight.machine.language.functions import (
    Parameter,
    array,
    bitcast,
    f32,
    f64,
    function,
    i32,
    i64,
    independent,
    infinity,
    range_kernel,
    stack,
)
from rushlight.machine.worker_pool import memset, scratch

# Argument words. The first nine are given at each call, by the backward pass thirteen; strides
# (bytes, of batch, head and row) follow for every array. KEPT is dense: what dropout multiplies
# each probability by. REFUSED: where matrix units say that values cannot be split.
Q, K, V, OUT, LSE, MASK, SCALE, KEPT, REFUSED, GRAD, DQ, DK, DV = range(13)
HEADS, GROUP, L, S, E, VALUES, CAUSAL, BLOCKS = range(13, 21)
TILES, OUT_TILES, TURNED_TILES = range(21, 24)
SQ, SK, SV, SO, SM, SG, SDQ, SDK, SDV = range(24, 51, 3)

biased, dropping = Parameter("biased"), Parameter("dropping")
MAX_BLOCK = 84  # query rows that go together


@function
def address(g, base, strides, batch, head):
    """Where the first row of a head is."""
    return g[base] + batch * g[strides] + head * g[strides + 1]


@function
def kept_row(g, both, row):
    """Factors of the probabilities of a row of a head."""
    return array(f32, g[KEPT] + 4 * g[S] * (both * g[L] + row))


@function
def visible(g, row, keys):
    """How many keys a query may look at."""
    if g[CAUSAL] != 0:
        return min(keys, row + 1)
    return keys


@function(reassociate=True)
def exponentials(g, batch, head, row, x, seen, scale):
    """A row of scores to exponentials less the largest, as dropout leaves them; one over their
    sum."""
    bias = array(f32, address(g, MASK, SM, batch, head) + row * g[SM + 2])
    both, most, total = batch * g[HEADS] + head, i32(-(1 << 31)), f32(0)
    for j in independent(seen):
        value = x[j] * scale
        if biased == 1:
            value = value + bias[j]
        most = max(most, ordered32(bitcast(i32, value)))
    best = bitcast(f32, ordered32(most))
    sums = array(f32, g[LSE] + 4 * (both * g[L] + row))
    if best == -infinity(f32):  # a row that may look at nothing
        for j in independent(seen):
            x[j] = 0
        sums[0] = infinity(f32)
        return f32(0)
    kept = kept_row(g, both, row)
    for j in independent(seen):
        value = x[j] * scale
        if biased == 1:
            value = value + bias[j]
        value = exponential_below32(value - best)
        total += value
        if dropping == 1:
            value = value * kept[j]
        x[j] = value
    sums[0] = best + logarithm(total)
    return f32(1) / total


@function
def few_exponentials(g, batch, head, first, rows, limit, scores, pitch, scale, inverse_at):
    """The same for a few rows side by side: their extremes and sums are found together."""
    keys, both = g[S], batch * g[HEADS] + head
    inverse = array(f32, inverse_at)
    seen = visible(g, first + rows - 1, keys)
    vectors, factor = (seen + SINGLES - 1) // SINGLES, scale
    whole = vectors * SINGLES
    best_at, totals_at = stack(SINGLES // 2), stack(SINGLES // 2)
    best, totals = array(f32, best_at), array(f32, totals_at)
    if biased == 1:
        factor = f32(1)
    for i in range(rows):
        x, own = array(f32, scores + 4 * pitch * i), visible(g, first + i, keys)
        if biased == 1:
            bias = array(f32, address(g, MASK, SM, batch, head) + (first + i) * g[SM + 2])
            for j in independent(own):
                x[j] = x[j] * scale + bias[j]
        for j in independent(own, whole):
            x[j] = -infinity(f32)
    largest_of_rows32(scores, 4 * pitch, vectors, rows, best_at, factor)
    for i in range(rows):
        x, most = array(f32, scores + 4 * pitch * i), best[i]
        most = f32(0) if most == -infinity(f32) else most
        for j in independent(whole):
            x[j] = exponential_below32(x[j] * factor - most)
        for j in independent(whole, limit):
            x[j] = 0
    means_of_rows32(scores, 4 * pitch, whole, rows, totals_at, f32(1))
    sums = array(f32, g[LSE] + 4 * (both * g[L] + first))
    for i in independent(rows):
        nothing = best[i] == -infinity(f32)  # a row that may look at nothing
        sums[i] = infinity(f32) if nothing else best[i] + logarithm_above(totals[i])
        inverse[i] = f32(0) if nothing else f32(1) / totals[i]
    if dropping == 1:
        for i in range(rows):
            x, kept = array(f32, scores + 4 * pitch * i), kept_row(g, both, first + i)
            for j in independent(visible(g, first + i, keys)):
                x[j] = x[j] * kept[j]


@range_kernel(reassociate=True, wide=True)
def forward_blocks(args, lo, hi, tid):
    """Items are blocks of query rows of a head."""
    g = array(i64, args)
    length, keys, width, values, blocks = g[L], g[S], g[E], g[VALUES], g[BLOCKS]
    scale = f32(array(f64, args)[SCALE])
    pitch = (keys + 15) // 16 * 16 + 16
    most = (length + blocks - 1) // blocks
    packed_k = scratch(tid, 4 * (panels(keys) * width + keys * panels(values) + most * pitch))
    packed_v = packed_k + 4 * panels(keys) * width
    scores = packed_v + 4 * keys * panels(values)
    block, inverse_at = stack(TILE_WORDS), stack(MAX_BLOCK // 2)
    inverse = array(f32, inverse_at)
    ready_block(block)
    packed_head = i64(-1)
    for item in range(lo, hi):
        both, part = item // blocks, item % blocks
        batch, head = both // g[HEADS], both % g[HEADS]
        first = length * part // blocks
        rows = length * (part + 1) // blocks - first
        if packed_head != both:
            pack_transposed(address(g, K, SK, batch, head // g[GROUP]), g[SK + 2], packed_k, keys,
                            width)  # fmt: skip
            pack(address(g, V, SV, batch, head // g[GROUP]), g[SV + 2], packed_v, keys, values)
            packed_head = both
        limit = visible(g, first + rows - 1, keys)
        q = address(g, Q, SQ, batch, head) + first * g[SQ + 2]
        multiply(g[TILES], block, q, g[SQ + 2], i64(4), rows, width, packed_k, 4 * PANEL * width,
                 limit, scores, 4 * pitch, i64(START_ZERO),
                     i64(0))  # fmt: skip
        for i in range(0, rows, SINGLES):
            few_exponentials(g, batch, head, first + i, min(i64(SINGLES), rows - i), limit,
                             scores + 4 * pitch * i, pitch, scale, inverse_at + 4 * i)  # fmt: skip
        out = address(g, OUT, SO, batch, head) + first * g[SO + 2]
        multiply(g[OUT_TILES], block, scores, 4 * pitch, i64(4), rows, limit, packed_v,
                 4 * PANEL * keys, values, out, g[SO + 2], i64(START_ZERO), i64(0))  # fmt: skip
        for i in range(rows):
            y, factor = array(f32, out + i * g[SO + 2]), inverse[i]
            for j in independent(values):
                y[j] = y[j] * factor


@function
def probability_row(g, batch, head, row, x, seen, scale):
    """A row of scores to probabilities, by what the forward pass kept of it."""
    sums = array(f32, g[LSE] + 4 * ((batch * g[HEADS] + head) * g[L] + row))[0]
    if biased == 1:
        bias = array(f32, address(g, MASK, SM, batch, head) + row * g[SM + 2])
        for j in independent(seen):
            x[j] = exponential_below32(x[j] * scale + bias[j] - sums)
    else:
        for j in independent(seen):
            x[j] = exponential_below32(x[j] * scale - sums)


@function(reassociate=True)
def score_gradient_row(g, batch, head, row, x, d, count, scale):
    """The gradients of a row of scores, in place of those of its probabilities, which dropout then
    multiplies."""
    y = array(f32, address(g, OUT, SO, batch, head) + row * g[SO + 2])
    dy = array(f32, address(g, GRAD, SG, batch, head) + row * g[SG + 2])
    mean = f32(0)
    for j in independent(g[VALUES]):
        mean += y[j] * dy[j]
    if dropping == 1:
        kept = kept_row(g, batch * g[HEADS] + head, row)
        for j in independent(count):
            d[j] = x[j] * (d[j] * kept[j] - mean) * scale
            x[j] = x[j] * kept[j]
    else:
        for j in independent(count):
            d[j] = x[j] * (d[j] - mean) * scale


@function
def clear(target, row, rows, columns):
    """Zeros in strided rows."""
    for i in range(rows):
        memset(target + i * row, i32(0), 4 * columns)


@range_kernel(reassociate=True, wide=True)
def backward_heads(args, lo, hi, tid):
    """Items are heads of keys and values; each goes through the query heads that share it."""
    g = array(i64, args)
    length, keys, width, values, blocks = g[L], g[S], g[E], g[VALUES], g[BLOCKS]
    scale = f32(array(f64, args)[SCALE])
    pitch = (keys + 15) // 16 * 16 + 16
    most = (length + blocks - 1) // blocks
    wide, deep = panels(width), panels(values)
    turned_k = scratch(tid, 4 * (panels(keys) * (width + values) + keys * wide
                                 + most * (2 * pitch + wide + deep)))  # fmt: skip
    turned_v = turned_k + 4 * panels(keys) * width
    packed_k = turned_v + 4 * panels(keys) * values
    scores = packed_k + 4 * keys * wide
    changes = scores + 4 * most * pitch
    packed_q = changes + 4 * most * pitch
    packed_g = packed_q + 4 * most * wide
    block = stack(TILE_WORDS)
    ready_block(block)
    shared = g[HEADS] // g[GROUP]
    for item in range(lo, hi):
        batch, owner = item // shared, item % shared
        k, v = address(g, K, SK, batch, owner), address(g, V, SV, batch, owner)
        pack_transposed(k, g[SK + 2], turned_k, keys, width)
        pack_transposed(v, g[SV + 2], turned_v, keys, values)
        pack(k, g[SK + 2], packed_k, keys, width)
        dk, dv = address(g, DK, SDK, batch, owner), address(g, DV, SDV, batch, owner)
        clear(dk, g[SDK + 2], keys, width)
        clear(dv, g[SDV + 2], keys, values)
        for step in range(g[GROUP] * blocks):
            head, part = owner * g[GROUP] + step // blocks, step % blocks
            first = length * part // blocks
            rows = length * (part + 1) // blocks - first
            limit = visible(g, first + rows - 1, keys)
            q = address(g, Q, SQ, batch, head) + first * g[SQ + 2]
            grad = address(g, GRAD, SG, batch, head) + first * g[SG + 2]
            multiply(g[TILES], block, q, g[SQ + 2], i64(4), rows, width, turned_k,
                     4 * PANEL * width, limit, scores, 4 * pitch, i64(START_ZERO),
                     i64(0))  # fmt: skip
            multiply(g[TILES], block, grad, g[SG + 2], i64(4), rows, values, turned_v,
                     4 * PANEL * values, limit, changes, 4 * pitch, i64(START_ZERO),
                     i64(0))  # fmt: skip
            for i in range(rows):
                x = array(f32, scores + 4 * pitch * i)
                d, seen = array(f32, changes + 4 * pitch * i), visible(g, first + i, keys)
                probability_row(g, batch, head, first + i, x, seen, scale)
                for j in independent(seen, limit):
                    x[j] = 0
                score_gradient_row(g, batch, head, first + i, x, d, limit, scale)
            pack(grad, g[SG + 2], packed_g, rows, values)
            multiply(g[TURNED_TILES], block, scores, i64(4), 4 * pitch, limit, rows, packed_g,
                     4 * PANEL * rows, values, dv, g[SDV + 2], i64(START_C), i64(0))  # fmt: skip
            pack(q, g[SQ + 2], packed_q, rows, width)
            multiply(g[TURNED_TILES], block, changes, i64(4), 4 * pitch, limit, rows, packed_q,
                     4 * PANEL * rows, width, dk, g[SDK + 2], i64(START_C), i64(0))  # fmt: skip
            dq = address(g, DQ, SDQ, batch, head) + first * g[SDQ + 2]
            multiply(g[OUT_TILES], block, changes, 4 * pitch, i64(4), rows, limit, packed_k,
                     4 * PANEL * keys, width, dq, g[SDQ + 2], i64(START_ZERO), i64(0))  # fmt: skip


def tiles_for(length, keys, causal, blocks, columns):
    """Compile the tile sizes that a problem needs; addresses of the tables, those of results last,
    which have so many columns."""
    edges = [length * i // blocks for i in range(blocks + 1)]
    rows = {b - a for a, b in zip(edges[:-1], edges[1:], strict=True)}
    limits = {min(keys, edge) for edge in edges[1:]} if causal else {keys}
    by_rows, by_columns = mk.ROWS, mk.COLUMNS_OF_A
    if columns <= PANEL // mk.NV:
        by_rows, by_columns = mk.NARROW_ROWS, mk.NARROW_COLUMNS_OF_A
    return mk.ROWS.need(*rows), by_rows.need(*rows), by_columns.need(*limits)
