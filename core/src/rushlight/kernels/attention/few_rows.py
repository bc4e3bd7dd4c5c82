"""Attention of a few query rows, as when tokens are generated one at a time: keys and values are
read once, where they are. Import at first need: it imports the compiler."""

from __future__ import annotations

from rushlight.kernels.attention.compiled import (
    GROUP,
    HEADS,
    OUT,
    SCALE,
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
    few_exponentials,
    visible,
)
from rushlight.kernels.gemm import lines
from rushlight.machine.language.functions import (
    array,
    f32,
    f64,
    i64,
    independent,
    range_kernel,
    stack,
)
from rushlight.machine.worker_pool import scratch

MOST_ROWS = lines.MOST_VECTORS  # that share what is read: rows of a head, or heads of one row


@range_kernel(reassociate=True, wide=True)
def forward_rows(args, lo, hi, tid):
    """Items are heads of keys and values. Heads that share them go together where each has one row,
    else one after the other."""
    g = array(i64, args)
    length, keys, values, group = g[L], g[S], g[VALUES], g[GROUP]
    shared, scale = g[HEADS] // group, f32(array(f64, args)[SCALE])
    pitch = (keys + 15) // 16 * 16 + 16
    steps, count, across, out_across = group, length, g[SQ + 2], g[SO + 2]
    if length == 1:
        steps, count, across, out_across = i64(1), group, g[SQ + 1], g[SO + 1]
    scores = scratch(tid, 4 * pitch * MOST_ROWS)
    words, inverse_at = stack(lines.OUTPUTS), stack(MOST_ROWS)
    p, inverse = array(i64, words), array(f32, inverse_at)
    p[lines.BIAS], p[lines.ACCUMULATE], p[lines.ONE_BIAS] = i64(0), i64(0), i64(0)
    p[lines.COUNT] = count
    limit = visible(g, length - 1, keys)
    for item in range(lo, hi):
        batch, owner = item // shared, item % shared
        k, v = address(g, K, SK, batch, owner), address(g, V, SV, batch, owner)
        for step in range(steps):
            head = owner * group + step
            p[lines.C], p[lines.INNER], p[lines.ROW] = scores, g[E], g[SK + 2]
            p[lines.ACROSS], p[lines.C_ACROSS] = across, 4 * pitch
            lines.dots(p, k, address(g, Q, SQ, batch, head), i64(0), limit)
            if length == 1:
                for i in range(count):
                    own = scores + 4 * pitch * i
                    few_exponentials(g, batch, head + i, i64(0), i64(1), limit, own, pitch, scale,
                                     inverse_at + 4 * i)  # fmt: skip
            else:
                few_exponentials(g, batch, head, i64(0), count, limit, scores, pitch, scale,
                                 inverse_at)  # fmt: skip
            out = address(g, OUT, SO, batch, head)
            p[lines.C], p[lines.INNER], p[lines.ROW] = out, limit, g[SV + 2]
            p[lines.ACROSS], p[lines.C_ACROSS] = 4 * pitch, out_across
            lines.sums_of_rows(p, v, scores, i64(0), values)
            for i in range(count):
                y, factor = array(f32, out + i * out_across), inverse[i]
                for j in independent(values):
                    y[j] = y[j] * factor
