"""Compiled loops behind :mod:`rushlight.kernels.signal.recursion`. Import at first need.

Items are the signals of a batch, channel by channel. What is fed back stays in float64 whatever the
arrays hold: errors of a recursion accumulate.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    array,
    f32,
    f64,
    function,
    fused_multiply_add,
    i64,
    independent,
    range_kernel,
    real,
)
from rushlight.machine.worker_pool import scratch

# Argument words: the result, the signal, feedback and feedforward coefficients, sizes.
Y, X, A, B, CHANNELS, LENGTH, FEEDBACK, FORWARD = range(1, 9)
# Of the recursion with delays: the result, the signal, gains, delays, sizes.
GAINS, DELAYS, VARYING_CHANNELS, VARYING_LENGTH, TERMS, BACKWARD = range(3, 9)
BLOCK = 1024  # samples that are filtered together


@function
def tap(address, k, count):
    """A coefficient, zero beyond those there are."""
    value = f64(array(real, address)[min(k, count - 1)])
    return value if k < count else f64(0)


@range_kernel
def second_order(args, lo, hi, tid):
    """Filters of at most three coefficients each: the state stays in registers."""
    g = array(i64, args)
    channels, length, size = g[CHANNELS], g[LENGTH], 4 if real is f32 else 8
    for item in range(lo, hi):
        channel = item % channels
        a = g[A] + size * channel * g[FEEDBACK]
        b = g[B] + size * channel * g[FORWARD]
        a1, a2 = -tap(a, 1, g[FEEDBACK]), -tap(a, 2, g[FEEDBACK])
        b0, b1, b2 = tap(b, 0, g[FORWARD]), tap(b, 1, g[FORWARD]), tap(b, 2, g[FORWARD])
        x = array(real, g[X] + size * item * length)
        y = array(real, g[Y] + size * item * length)
        x1, x2, y1, y2 = f64(0), f64(0), f64(0), f64(0)
        for n in range(length):
            x0 = f64(x[n])
            # Only the last of these waits for the sample before.
            rest = fused_multiply_add(b1, x1, fused_multiply_add(b2, x2, b0 * x0))
            y0 = fused_multiply_add(a1, y1, fused_multiply_add(a2, y2, rest))
            y[n] = real(y0)
            x2 = x1
            x1 = x0
            y2 = y1
            y1 = y0


@function
def forward(ahead, behind, b, taps, count):
    """The part without feedback; `ahead` begins with the taps - 1 samples before the block."""
    out = array(f64, behind)
    for j in independent(count):
        out[j] = 0
    for k in range(taps):
        weight, x = f64(b[k]), array(f64, ahead + 8 * (taps - 1 - k))
        for j in independent(count):
            out[j] += weight * x[j]


@function(reassociate=True)
def fed_back(y, weights, order):
    """The sum of the last outputs, oldest first, times their coefficients."""
    total = f64(0)
    for k in independent(order):
        total += y[k] * weights[k]
    return total


@function
def kept(address, count, size):
    """The last `size` numbers of a block go in front of the next one."""
    x = array(f64, address)
    for k in range(size):
        x[k] = x[count + k]


@function
def begun(room, a, order, taps):
    """The coefficients of the feedback, oldest output first, and a state at rest."""
    weights, x = array(f64, room), array(f64, room + 8 * order)
    for k in range(order):
        weights[k] = -f64(array(real, a)[order - k])
        x[k] = 0
    for k in range(taps - 1):
        x[order + BLOCK + k] = 0


@range_kernel
def any_order(args, lo, hi, tid):
    """Filters of any order, block by block."""
    g = array(i64, args)
    length, size = g[LENGTH], 4 if real is f32 else 8
    order, taps = g[FEEDBACK] - 1, g[FORWARD]
    room = scratch(tid, 8 * (2 * order + taps + 2 * BLOCK))
    behind, ahead = room + 8 * order, room + 8 * (2 * order + BLOCK)
    weights, ys, xs = array(f64, room), array(f64, behind), array(f64, ahead)
    for item in range(lo, hi):
        channel = item % g[CHANNELS]
        begun(room, g[A] + size * channel * (order + 1), order, taps)
        b = array(real, g[B] + size * channel * taps)
        for start in range(0, length, BLOCK):
            count, at = min(BLOCK, length - start), size * (item * length + start)
            x, y = array(real, g[X] + at), array(real, g[Y] + at)
            for j in independent(count):
                xs[taps - 1 + j] = f64(x[j])
            forward(ahead, behind + 8 * order, b, taps, count)
            for j in range(count):
                ys[order + j] += fed_back(array(f64, behind + 8 * j), weights, order)
            for j in independent(count):
                y[j] = real(ys[order + j])
            kept(behind, count, order)
            kept(ahead, count, taps - 1)


@range_kernel
def varying(args, lo, hi, tid):
    """Feedback of a few delayed outputs, gains and delays being those of each sample; BACKWARD: the
    transposed recursion, from the end."""
    g = array(i64, args)
    channels, length, terms = g[VARYING_CHANNELS], g[VARYING_LENGTH], g[TERMS]
    size = 4 if real is f32 else 8
    sums = array(f64, scratch(tid, 8 * length))
    for item in range(lo, hi):
        x = array(real, g[X] + size * item * length)
        y = array(real, g[Y] + size * item * length)
        gains = array(real, g[GAINS] + size * (item % channels) * length * terms)
        delays = array(i64, g[DELAYS] + 8 * (item % channels) * length * terms)
        for n in independent(length):
            sums[n] = f64(x[n])
        if g[BACKWARD] == 0:
            for n in range(length):
                for k in range(n * terms, (n + 1) * terms):
                    if delays[k] <= n:
                        sums[n] += f64(gains[k]) * sums[n - delays[k]]
        else:
            for back in range(length):
                n = length - 1 - back
                for k in range(n * terms, (n + 1) * terms):
                    if delays[k] <= n:
                        sums[n - delays[k]] += f64(gains[k]) * sums[n]
        for n in independent(length):
            y[n] = real(sums[n])
