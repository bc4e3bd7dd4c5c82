"""Compiled loops behind :mod:`rushlight.kernels.losses.transducer`. Import at first need.

An item is a sample. Its lattice is stored by diagonals: the nodes (t, u) with t + u = s stand in
row s, node u in column u + 1, so that all nodes of a row follow from the row before and go as
vectors. Columns around them hold minus infinity. Lattices are float64.
"""

from __future__ import annotations

from rushlight.kernels.launch.exponential import exponential, exponential64, logarithm64
from rushlight.kernels.reduction.softmax import row_maximum
from rushlight.machine.language.functions import (
    External,
    Parameter,
    array,
    atomic_add,
    bitcast,
    f32,
    f64,
    function,
    i64,
    independent,
    infinity,
    maximum,
    minimum,
    range_kernel,
    real,
)
from rushlight.machine.worker_pool import scratch

derived = Parameter("derived")  # 1: the derivative is wanted too
fused = Parameter("fused")  # 1: inputs are scores, whose log-softmax counts
logarithm = External("log", f64, (f64,))
# Constants, after the arrays: sizes, the blank, the bits of the most a derivative may be (0: no
# bound), where labels out of range are counted.
STEPS, LABELS, CLASSES, BLANK, CLAMP, FAILED = range(6)


@function
def either(a, b):
    """``log(exp(a) + exp(b))``."""
    high, low = maximum(a, b), minimum(a, b)
    more = high + logarithm64(1 + exponential64(low - high))
    # Of two infinities `low - high` is NaN; then the greater is the result.
    return more if high - high == 0 else high


@function(reassociate=True)
def total(x, count, most):
    """The sum of exponentials less the maximum."""
    sum = real(0)
    for c in independent(count):
        sum += exponential(x[c] - most)
    return sum


@function
def normalizer(address, count):
    """The logarithm of the sum of exponentials of a row."""
    if fused == 1:
        most = row_maximum(address, count)
        return f64(most) + logarithm(f64(total(array(real, address), count, most)))
    return f64(0)


@function
def filled(address, count, value):
    """Numbers of float64 become a value."""
    x = array(f64, address)
    for j in independent(count):
        x[j] = value


@function
def advance(alpha, blanks, labels, start, stop, width):
    """Columns `start` to `stop` of a row of all beginnings from the row before, `width` earlier."""
    out, last = array(f64, alpha), array(f64, alpha - 8 * width)
    blank, label = array(f64, blanks - 8 * width), array(f64, labels - 8 * width)
    for j in independent(stop - start):
        u = start + j
        out[u] = either(last[u] + blank[u], last[u - 1] + label[u - 1])


@function
def retreat(beta, blanks, labels, start, stop, width):
    """The same of all endings from the row behind."""
    out, last = array(f64, beta), array(f64, beta + 8 * width)
    blank, label = array(f64, blanks), array(f64, labels)
    for j in independent(stop - start):
        u = start + j
        out[u] = either(last[u] + blank[u], last[u + 1] + label[u])


@function
def shares(x, out, classes, shift):
    """The share of paths through a node that the softmax gives each class."""
    for c in independent(classes):
        out[c] = exponential(x[c] + shift) if fused == 1 else real(0)


@function
def bound(out, classes, clamp):
    """Derivatives within their bounds."""
    for c in independent(classes):
        out[c] = maximum(minimum(out[c], clamp), -clamp)


@function
def out_of_range(names, count, classes):
    """How many labels are no classes."""
    wrong = i64(0)
    for u in range(count):
        if names[u] < 0 or names[u] >= classes:
            wrong += 1
    return wrong


@function
def cleared(address, count):
    """Numbers become zero."""
    x = array(real, address)
    for j in independent(count):
        x[j] = 0


@function
def plane_of(length, count):
    """The bytes of a number for every cell of the lattice, one row more than it has."""
    return 8 * (count + 3) * (length + count + 1)


@function
def read(x, names, room, words, length, count):
    """The log-probabilities of blanks and labels at all nodes, and the normalizers, from scores."""
    plane, size = plane_of(length, count), 4 if real is f32 else 8
    most, classes, blank = words[LABELS] + 1, words[CLASSES], words[BLANK]
    blanks, labels = array(f64, room), array(f64, room + plane)
    norms = array(f64, room + 2 * plane)
    for t in range(length):
        for u in range(count + 1):
            at, cell = x + size * (t * most + u) * classes, (t + u) * (count + 3) + u + 1
            scores, norm = array(real, at), normalizer(at, classes)
            norms[cell] = norm
            blanks[cell] = f64(scores[blank]) - norm
            # No label leaves the last column.
            if u < count:
                labels[cell] = f64(scores[names[u]]) - norm
            else:
                labels[cell] = -infinity(f64)


@function
def beginnings(room, length, count):
    """The log-probabilities of all beginnings; that of everything, which they lead to."""
    plane, width = plane_of(length, count), count + 3
    alpha = room + 3 * plane
    array(f64, alpha)[1] = 0
    for s in range(1, length + count):
        row = 8 * width * s
        start, stop = max(0, s - length + 1) + 1, min(count, s) + 2
        advance(alpha + row, room + row, room + plane + row, start, stop, width)
    last = (length + count - 1) * width + count + 1
    return array(f64, alpha)[last] + array(f64, room)[last]


@function
def endings(room, length, count):
    """The log-probabilities of all endings."""
    plane, width, rows = plane_of(length, count), count + 3, length + count
    beta = room + 4 * plane
    last = (rows - 1) * width + count + 1
    array(f64, beta)[last] = array(f64, room)[last]
    for back in range(1, rows):
        s = rows - 1 - back
        row = 8 * width * s
        start, stop = max(0, s - length + 1) + 1, min(count, s) + 2
        retreat(beta + row, room + row, room + plane + row, start, stop, width)
    array(f64, beta)[last + width] = 0  # the blank of the last node leads to the end


@function
def derive(x, out, names, room, words, length, count, whole):
    """The derivative at all nodes: the share of paths through the node by the softmax, less the
    shares of those that leave it by a blank and by a label."""
    plane, width, size = plane_of(length, count), count + 3, 4 if real is f32 else 8
    most, classes, clamp = words[LABELS] + 1, words[CLASSES], real(bitcast(f64, words[CLAMP]))
    blanks, labels = array(f64, room), array(f64, room + plane)
    norms, alpha = array(f64, room + 2 * plane), array(f64, room + 3 * plane)
    beta, after = array(f64, room + 4 * plane), array(f64, room + 4 * plane + 8 * width)
    for t in range(length):
        for u in range(count + 1):
            at, cell = size * (t * most + u) * classes, (t + u) * width + u + 1
            a = alpha[cell] - whole
            row = array(real, out + at)
            shares(array(real, x + at), row, classes, real(a + beta[cell] - norms[cell]))
            row[words[BLANK]] -= real(exponential64(a + blanks[cell] + after[cell]))
            if u < count:
                row[names[u]] -= real(exponential64(a + labels[cell] + after[cell + 1]))
            if clamp > real(0):
                bound(row, classes, clamp)
        # Samples with fewer labels have no gradient in the columns that remain, ...
        rest = size * (t * most + count + 1) * classes
        cleared(out + rest, (most - count - 1) * classes)
    # ... nor shorter ones in the steps that do.
    remaining = (words[STEPS] - length) * most * classes
    cleared(out + size * length * most * classes, remaining)


@range_kernel(wide=True)
def transduce(args, lo, hi, tid):
    """COSTS, DERIVATIVE with `derived`, X (N, T, U + 1, C), LABELS (N, U), lengths of both."""
    g, size, d = array(i64, args), 4 if real is f32 else 8, derived
    words = array(i64, args + 8 * (6 + d))
    sample = size * words[STEPS] * (words[LABELS] + 1) * words[CLASSES]
    for n in range(lo, hi):
        length, count = array(i64, g[4 + d])[n], array(i64, g[5 + d])[n]
        names = array(i64, g[3 + d] + 8 * n * words[LABELS])
        wrong = out_of_range(names, count, words[CLASSES])
        if wrong > 0:
            atomic_add(words[FAILED], wrong)
            continue
        plane, x = plane_of(length, count), g[2 + d] + sample * n
        # Five planes: blanks, labels, normalizers, beginnings, endings.
        room = scratch(tid, plane * 5)
        filled(room, 3 * plane // 8, f64(0))
        filled(room + 3 * plane, 2 * plane // 8, -infinity(f64))
        read(x, names, room, words, length, count)
        whole = beginnings(room, length, count)
        array(real, g[1])[n] = real(f64(0) - whole)
        if derived == 1:
            endings(room, length, count)
            derive(x, g[2] + sample * n, names, room, words, length, count, whole)
