"""Compiled loops behind :mod:`rushlight.kernels.losses.alignment`. Import at first need.

Probabilities are ``mantissa * 2 ** exponent``, both float64: no sequence is so long that they
underflow, and sums and products take neither exponentials nor logarithms. An item is a sample.
Blanks and labels are apart: blank j stands before label j, the last one after all labels.
"""

from __future__ import annotations

from rushlight.kernels.launch.exponential import exponential, exponential64
from rushlight.machine.language.functions import (
    External,
    Parameter,
    array,
    atomic_add,
    bitcast,
    f32,
    f64,
    floor,
    function,
    fused_multiply_add,
    i64,
    independent,
    maximum,
    range_kernel,
    real,
)
from rushlight.machine.worker_pool import scratch

logarithm = External("log", f64, (f64,))
derived = Parameter("derived")  # 1: the derivative is wanted too

NOTHING = -1e300  # the exponent of zero
HUGE = 1e290
LOG2_E, LN2 = 1.4426950408889634, 0.6931471805599453
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Constants, after the arrays: steps, samples, classes, blank, labels of a row (0: the rows follow
# each other), where labels out of range are counted.
STEPS, SAMPLES, CLASSES, BLANK, WIDTH, FAILED = range(6)


@function
def power(d):
    """``2 ** d`` of a whole number up to 1000; from -1000 down what adds nothing."""
    d = f64(-1000) if d < f64(-1000) else d
    d = f64(1000) if d > f64(1000) else d
    return bitcast(f64, (i64(d) + 1023) << 52)


@function
def scaled_exponential(x):
    """exp(x) as mantissa and exponent."""
    n = floor(x * f64(LOG2_E) + f64(0.5))
    r = fused_multiply_add(n, f64(-LN2_HIGH), x)
    r = fused_multiply_add(n, f64(-LN2_LOW), r)
    r = f64(-0.35) if r < f64(-0.35) else r  # of numbers so large that they have no fraction
    r = f64(0.35) if r > f64(0.35) else r
    m = exponential64(r)
    m = f64(0) if x < f64(-HUGE) else (x if x > f64(HUGE) else m)
    known = n if n < f64(HUGE) else f64(0)  # of infinity and NaN
    return m, f64(NOTHING) if x < f64(-HUGE) else known


@function
def scaled(m, e):
    """A number with its mantissa in [1, 2); zero, infinity and NaN keep theirs."""
    bits = bitcast(i64, m)
    own = (bits >> 52) - 1023
    usual = own > -1000 and own < 1000
    shift = own if usual else i64(0)
    exponent = e + f64(shift)
    return bitcast(f64, bits - (shift << 52)), f64(NOTHING) if m == f64(0) else exponent


@function
def sum_of(m0, e0, m1, e1, m2, e2):
    """The sum of three."""
    e = maximum(maximum(e0, e1), e2)
    return m0 * power(e0 - e) + m1 * power(e1 - e) + m2 * power(e2 - e), e


@function
def clear(at, count):
    """Numbers become zero: mantissas, then exponents."""
    m, e = array(f64, at), array(f64, at + 8 * count)
    for j in range(count):
        m[j] = 0
        e[j] = NOTHING


@function
def emissions(x, labels, at, count, width):
    """Probabilities of the labels at a step."""
    m, e = array(f64, at), array(f64, at + 8 * width)
    for j in independent(count):
        mantissa, exponent = scaled_exponential(f64(x[labels[j]]))
        m[j] = mantissa
        e[j] = exponent


@function
def advance(last, row, seen, blank, blank_exponent, skips, count, width):
    """The next step of all beginnings. Rows: blanks, then labels with a zero ahead, each `width`
    mantissas and exponents."""
    size = 8 * width
    bm, be, lm, le = (array(f64, last), array(f64, last + size), array(f64, last + 2 * size),
                      array(f64, last + 3 * size))  # fmt: skip
    nbm, nbe, nlm, nle = (array(f64, row), array(f64, row + size), array(f64, row + 2 * size + 8),
                          array(f64, row + 3 * size + 8))  # fmt: skip
    sm, se, skip = array(f64, seen), array(f64, seen + size), array(f64, skips)
    array(f64, row + 2 * size)[0] = 0
    array(f64, row + 3 * size)[0] = NOTHING
    for j in independent(count + 1):
        m, e = sum_of(bm[j], be[j], lm[j], le[j], f64(0), f64(NOTHING))
        m, e = scaled(m * blank, e + blank_exponent)
        nbm[j] = m
        nbe[j] = e
    own_m, own_e = array(f64, last + 2 * size + 8), array(f64, last + 3 * size + 8)
    for j in independent(count):
        jump = skip[j] > f64(0)
        m, e = sum_of(own_m[j], own_e[j], bm[j], be[j], lm[j] if jump else f64(0),
                      le[j] if jump else f64(NOTHING))  # fmt: skip
        m, e = scaled(m * sm[j], e + se[j])
        nlm[j] = m
        nle[j] = e


@function
def weigh(row, seen, blank, blank_exponent, count, width):
    """Endings times the probabilities of their own step."""
    size = 8 * width
    bm, be = array(f64, row), array(f64, row + size)
    lm, le = array(f64, row + 2 * size), array(f64, row + 3 * size)
    sm, se = array(f64, seen), array(f64, seen + size)
    for j in independent(count + 1):
        m, e = scaled(bm[j] * blank, be[j] + blank_exponent)
        bm[j] = m
        be[j] = e
    for j in independent(count):
        m, e = scaled(lm[j] * sm[j], le[j] + se[j])
        lm[j] = m
        le[j] = e


@function
def retreat(last, row, skips, count, width):
    """The step before of all endings. Rows: blanks, then labels with a zero behind."""
    size = 8 * width
    bm, be, lm, le = (array(f64, last), array(f64, last + size), array(f64, last + 2 * size),
                      array(f64, last + 3 * size))  # fmt: skip
    nbm, nbe, nlm, nle = (array(f64, row), array(f64, row + size), array(f64, row + 2 * size),
                          array(f64, row + 3 * size))  # fmt: skip
    after_bm, after_be = array(f64, last + 8), array(f64, last + size + 8)
    after_lm, after_le = array(f64, last + 2 * size + 8), array(f64, last + 3 * size + 8)
    skip = array(f64, skips + 8)
    for j in independent(count + 1):
        m, e = sum_of(bm[j], be[j], lm[j], le[j], f64(0), f64(NOTHING))
        m, e = scaled(m, e)
        nbm[j] = m
        nbe[j] = e
    for j in independent(count):
        jump = skip[j] > f64(0)
        m, e = sum_of(lm[j], le[j], after_bm[j], after_be[j], after_lm[j] if jump else f64(0),
                      after_le[j] if jump else f64(NOTHING))  # fmt: skip
        m, e = scaled(m, e)
        nlm[j] = m
        nle[j] = e


@function
def derive(x, out, labels, alpha, beta, share, whole, exponent, blank, classes, count, width):
    """One step of ``exp(x) - posterior``; `share`: room for a number a class."""
    size = 8 * width
    for c in independent(classes):
        share[c] = f64(exponential(x[c]))
    for j in range(count + 1):
        m = array(f64, alpha)[j] * array(f64, beta)[j] / whole
        e = array(f64, alpha + size)[j] + array(f64, beta + size)[j] - exponent
        share[blank] -= m * power(e)
    lm, le = array(f64, alpha + 2 * size + 8), array(f64, alpha + 3 * size + 8)
    for j in range(count):
        m = lm[j] * array(f64, beta + 2 * size)[j] / whole
        e = le[j] + array(f64, beta + 3 * size)[j] - exponent
        share[labels[j]] -= m * power(e)
    for c in independent(classes):
        out[c] = real(share[c])


@range_kernel(wide=True)
def align(args, lo, hi, tid):
    """LOSSES, DERIVATIVE with `derived`, X, LABELS, input lengths, target lengths."""
    g, size, d = array(i64, args), 4 if real is f32 else 8, derived
    words = array(i64, args + 8 * (6 + d))
    steps, samples, classes = words[STEPS], words[SAMPLES], words[CLASSES]
    blank, stride = words[BLANK], words[WIDTH]
    inputs, targets = array(i64, g[4 + d]), array(i64, g[5 + d])
    before = i64(0)
    if stride == 0:
        for n in range(lo):
            before += targets[n]
    for n in range(lo, hi):
        length, count = inputs[n], targets[n]
        width = count + 2
        at = g[3 + d] + 8 * (n * stride if stride > 0 else before)
        labels, wrong = array(i64, at), i64(0)
        before += count
        for j in range(count):
            if labels[j] < 0 or labels[j] >= classes:
                wrong += 1
        if wrong > 0:
            atomic_add(words[FAILED], wrong)
            continue
        row = 32 * width
        rows = length + 1 if derived == 1 else i64(2)
        room = scratch(tid, row * (rows + 2) + 24 * width + 8 * classes)
        skips, seen = room, room + 8 * width
        share = array(f64, room + 24 * width)
        first = room + 24 * width + 8 * classes
        skip = array(f64, skips)
        for j in range(width):
            skip[j] = 0
        for j in range(1, count):
            fresh = labels[j] != blank and labels[j] != labels[j - 1]
            skip[j] = f64(1) if fresh else f64(0)
        clear(first, width)
        clear(first + 16 * width, width)
        array(f64, first)[0] = 1
        array(f64, first + 8 * width)[0] = 0
        last = first
        for t in range(length):
            x = array(real, g[2 + d] + size * (t * samples + n) * classes)
            emissions(x, labels, seen, count, width)
            m, e = scaled_exponential(f64(x[blank]))
            target = first + row * (t + 1 if derived == 1 else (t + 1) % 2)
            advance(last, target, seen, m, e, skips, count, width)
            last = target
        whole, exponent = sum_of(
            array(f64, last)[count], array(f64, last + 8 * width)[count],
            array(f64, last + 16 * width)[count], array(f64, last + 24 * width)[count],
            f64(0), f64(NOTHING),
        )  # fmt: skip
        loss = f64(0) - (logarithm(whole) + exponent * f64(LN2))
        array(real, g[1])[n] = real(loss)
        if derived == 1:
            labelled = g[2] + size * n * classes
            for t in range(length, steps):
                out = array(real, labelled + size * t * samples * classes)
                for c in range(classes):
                    out[c] = 0
            beta = first + row * rows
            clear(beta, width)
            clear(beta + 16 * width, width)
            array(f64, beta)[count] = 1
            array(f64, beta + 8 * width)[count] = 0
            if count > 0:
                array(f64, beta + 16 * width)[count - 1] = 1
                array(f64, beta + 24 * width)[count - 1] = 0
            for back in range(length):
                t = length - 1 - back
                at = size * (t * samples + n) * classes
                x = array(real, g[3] + at)
                derive(x, array(real, g[2] + at), labels, first + row * (t + 1), beta, share,
                       whole, exponent, blank, classes, count, width)  # fmt: skip
                emissions(x, labels, seen, count, width)
                m, e = scaled_exponential(f64(x[blank]))
                weigh(beta, seen, m, e, count, width)
                other = first + row * (rows + (back + 1) % 2)
                clear(other + 16 * width, width)
                retreat(beta, other, skips, count, width)
                beta = other
