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
    function,
    i64,
    independent,
    range_kernel,
    stack,
)
from rushlight.machine.worker_pool import scratch

MOST_ROWS = lines.MOST_VECTORS  # that share what is read: rows of a head, or heads of one row


@function
def weigh(g, batch, head, limit, scores, pitch, scale, inverse_at):
    """Scores of the rows of a head, or of one row of heads that share keys, to exponentials less
    the largest; one over the sum of each."""
    if g[L] > 1:
        few_exponentials(g, batch, head, i64(0), g[L], limit, scores, pitch, scale, inverse_at)
    else:
        for i in range(g[GROUP]):
            few_exponentials(g, batch, head + i, i64(0), i64(1), limit, scores + 4 * pitch * i,
                             pitch, scale, inverse_at + 4 * i)  # fmt: skip


@function
def attend(g, batch, head, count, scores, pitch, limit, scale):
    """The results of `count` rows of a head, or of one row of so many heads that share keys."""
    owner, values = head // g[GROUP], g[VALUES]
    dim = 2 if g[L] > 1 else 1  # along which rows follow each other
    out, out_across = address(g, OUT, SO, batch, head), g[SO + dim]
    words, inverse_at = stack(lines.OUTPUTS), stack(MOST_ROWS)
    p, inverse = array(i64, words), array(f32, inverse_at)
    p[lines.BIAS], p[lines.ACCUMULATE], p[lines.ONE_BIAS] = i64(0), i64(0), i64(0)
    p[lines.COUNT], p[lines.C], p[lines.INNER], p[lines.ROW] = count, scores, g[E], g[SK + 2]
    p[lines.ACROSS], p[lines.C_ACROSS] = g[SQ + dim], 4 * pitch
    keys = address(g, K, SK, batch, owner)
    lines.dots(p, keys, address(g, Q, SQ, batch, head), i64(0), limit)
    weigh(g, batch, head, limit, scores, pitch, scale, inverse_at)
    p[lines.C], p[lines.INNER], p[lines.ROW] = out, limit, g[SV + 2]
    p[lines.ACROSS], p[lines.C_ACROSS] = 4 * pitch, out_across
    lines.sums_of_rows(p, address(g, V, SV, batch, owner), scores, i64(0), values)
    for i in range(count):
        y, factor = array(f32, out + i * out_across), inverse[i]
        for j in independent(values):
            y[j] = y[j] * factor


@range_kernel(reassociate=True, wide=True)
def forward_rows(args, lo, hi, tid):
    """Items are heads of keys and values. Heads that share them go together where each has one row,
    else one after the other."""
    g = array(i64, args)
    length, keys, group = g[L], g[S], g[GROUP]
    scale = f32(array(f64, args)[SCALE])
    shared, steps, count = g[HEADS] // group, group, length
    if length == 1:
        steps, count = i64(1), group
    pitch = (keys + 15) // 16 * 16 + 16
    scores, limit = scratch(tid, 4 * pitch * MOST_ROWS), visible(g, length - 1, keys)
    for item in range(lo, hi):
        for step in range(steps):
            head = item % shared * group + step
            attend(g, item // shared, head, count, scores, pitch, limit, scale)
