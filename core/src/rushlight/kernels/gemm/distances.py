"""Distances between all pairs of rows, from their differences: Euclidean ones are more exact so
than by a product of matrices, and quicker where rows are short. Pairs of rows of one matrix come
packed, in the order (0, 1), (0, 2), ..., (1, 2), ..."""

from __future__ import annotations

import math

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import Remembered, called, prepared, prepared_into
from rushlight.machine import np
from rushlight.machine.language.functions import (
    Parameter,
    absolute,
    array,
    f32,
    function,
    i64,
    independent,
    maximum,
    range_kernel,
    real,
    square_root,
    stack,
)

__all__ = ["between", "from_products", "pairs_gradient", "prepare_pairs"]

# Argument words as in `prepared`: the distances (*, P, R), rows (*, P, M), the others turned
# (*, M, R).
OUT, ROWS, TURNED, COUNT, LENGTH, EACH = range(1, 7)
SEGMENT = 512  # distances from one row that are formed together
LANES = 16  # distances that are formed at least

_known = Remembered()
_ORDERS = {0: 0, 1: 1, 2: 2, math.inf: 3}


order = Parameter("order")  # of the norm: 0, 1, 2 or INFINITE
INFINITE = 3


@function
def term(apart):
    """What a difference adds to a norm, before the root."""
    if order == 2:
        return apart * apart
    if order == 0:
        return real(0) if apart == 0 else (real(1) if apart == apart else apart)
    return absolute(apart)


@function
def joined(one, other):
    """Two parts of a norm, before the root."""
    if order == INFINITE:
        return maximum(one, other)
    return one + other


@function
def add_terms(total, own, others, step, count):
    """Four elements of a row and of `count` others."""
    a, b, c, d = own[0], own[1], own[2], own[3]
    for j in independent(count):
        first, second = term(a - others[j]), term(b - others[step + j])
        third, fourth = term(c - others[2 * step + j]), term(d - others[3 * step + j])
        some = joined(joined(joined(first, second), third), fourth)
        total[j] = joined(total[j], some)


@function
def add_more_terms(total, own, others, step, count):
    """Eight elements."""
    a, b, c, d = own[0], own[1], own[2], own[3]
    e, f, g, h = own[4], own[5], own[6], own[7]
    for j in independent(count):
        first, second = term(a - others[j]), term(b - others[step + j])
        third, fourth = term(c - others[2 * step + j]), term(d - others[3 * step + j])
        fifth, sixth = term(e - others[4 * step + j]), term(f - others[5 * step + j])
        seventh, eighth = term(g - others[6 * step + j]), term(h - others[7 * step + j])
        some = joined(joined(joined(first, second), third), fourth)
        more = joined(joined(joined(fifth, sixth), seventh), eighth)
        total[j] = joined(total[j], joined(some, more))


@function
def norms_of_row(own, turned, step, length, total, width):
    """Norms before the root of a row's differences from `width` columns of `turned`, whose rows are
    `step` apart."""
    size = 4 if real is f32 else 8
    for j in independent(width):
        total[j] = 0
    eights, fours = length - length % 8, length - length % 4
    for i in range(0, eights, 8):
        others = array(real, turned + size * i * step)
        add_more_terms(total, array(real, own + size * i), others, step, width)
    for i in range(eights, fours, 4):
        others = array(real, turned + size * i * step)
        add_terms(total, array(real, own + size * i), others, step, width)
    for i in range(fours, length):
        one, others = array(real, own)[i], array(real, turned + size * i * step)
        for j in independent(width):
            total[j] = joined(total[j], term(one - others[j]))


@function
def root_of(total):
    """The norm."""
    return square_root(total) if order == 2 else total


@range_kernel
def distances(args, lo, hi, tid):
    """Items are rows of all batches, each of which has EACH."""
    g = array(i64, args)
    count, length, size = g[COUNT], g[LENGTH], 4 if real is f32 else 8
    total = array(real, stack(SEGMENT))
    for row in range(lo, hi):
        own = g[ROWS] + size * row * length
        others = g[TURNED] + size * (row // g[EACH]) * length * count
        for start in range(0, count, SEGMENT):
            turned, width = others + size * start, min(SEGMENT, count - start)
            norms_of_row(own, turned, count, length, total, width)
            out = array(real, g[OUT] + size * (row * count + start))
            for j in independent(width):
                out[j] = root_of(total[j])


# Argument words: the products (*, P, R), twice, squared lengths of both rows, P and R.
PRODUCTS, OWN, OTHERS, P, R = 1, 3, 4, 5, 6


@range_kernel
def distances_of_products(args, lo, hi, tid):
    """Products of rows become their distances. Items are rows of all batches."""
    g = array(i64, args)
    count, size, own = g[R], 4 if real is f32 else 8, array(real, g[OWN])
    for row in range(lo, hi):
        out = array(real, g[PRODUCTS] + size * row * count)
        others, length = array(real, g[OTHERS] + size * (row // g[P]) * count), own[row]
        for j in independent(count):
            out[j] = square_root(maximum(length + others[j] - 2 * out[j], real(0)))


@function
def pairs_before(row, count):
    """Where the pairs of a row with later ones begin."""
    return row * (2 * count - row - 1) // 2


@range_kernel
def pair_distances(args, lo, hi, tid):
    """Items are rows: each with all later ones. Whole vectors are formed, of which the first and
    the last may hold what nobody asked for: rows of `turned` are padded."""
    g = array(i64, args)
    count, length, size = g[COUNT], g[LENGTH], 4 if real is f32 else 8
    step = (count + LANES - 1) // LANES * LANES
    total = array(real, stack(SEGMENT))
    for row in range(lo, hi):
        own, out = g[ROWS] + size * row * length, pairs_before(row, count) - row - 1
        for start in range((row + 1) // LANES * LANES, count, SEGMENT):
            width = min(SEGMENT, step - start)
            norms_of_row(own, g[TURNED] + size * start, step, length, total, width)
            first = max(0, row + 1 - start)
            asked = array(real, g[OUT] + size * (out + start + first))
            for j in independent(min(width, count - start) - first):
                asked[j] = square_root(total[first + j])


# Argument words: the gradient (N, M), that of the pairs, the rows (N, M), the distances, N and M.
DX, PULLS, X, APART, N, M = range(1, 7)


@function
def pull_of(pull, distance):
    """The factor of a difference; equal rows pull in no direction."""
    return real(0) if distance == 0 else pull / distance


@range_kernel
def pair_gradients(args, lo, hi, tid):
    """Items are rows: the sum of their differences from all others by the pulls between them."""
    g = array(i64, args)
    count, length, size = g[N], g[M], 4 if real is f32 else 8
    pulls, apart = array(real, g[PULLS]), array(real, g[APART])
    factors = array(real, stack(SEGMENT))
    for row in range(lo, hi):
        at = size * row * length
        own, out = array(real, g[X] + at), array(real, g[DX] + at)
        later = pairs_before(row, count) - row - 1
        for i in independent(length):
            out[i] = 0
        for start in range(0, count, SEGMENT):
            width = min(SEGMENT, count - start)
            padded = (width + 3) // 4 * 4
            middle = max(0, min(width, row - start))
            for j in range(middle):
                place = pairs_before(start + j, count) + row - start - j - 1
                factors[j] = pull_of(pulls[place], apart[place])
            after = max(middle, min(width, row + 1 - start))
            for j in range(middle, after):
                factors[j] = 0
            for j in independent(width - after):
                place = later + start + after + j
                factors[after + j] = pull_of(pulls[place], apart[place])
            for j in range(width, padded):
                factors[j] = 0
            for j in range(0, padded, 4):
                one, last = start + j, count - 1  # what is past the last row has no factor
                a = array(real, g[X] + size * one * length)
                b = array(real, g[X] + size * min(one + 1, last) * length)
                c = array(real, g[X] + size * min(one + 2, last) * length)
                d = array(real, g[X] + size * min(one + 3, last) * length)
                p, q, r, s = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
                for i in independent(length):
                    some = p * (own[i] - a[i]) + q * (own[i] - b[i])
                    out[i] += some + r * (own[i] - c[i]) + s * (own[i] - d[i])


def between(x1, x2, p):
    """Distances of order `p` between the rows of (*, P, M) and (*, R, M), from their differences;
    None where that is left to NumPy: other dtypes and orders, the reference mode."""
    if REFERENCE or p not in _ORDERS or x1.dtype not in COMPILED_DTYPES:
        return None
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x1 = by_rows(np.broadcast_to(x1, (*batch, *x1.shape[-2:])))
    turned = by_rows(np.swapaxes(np.broadcast_to(x2, (*batch, *x2.shape[-2:])), -1, -2))
    key = x1.shape, turned.shape, x1.dtype, p
    call = _known.get(key)
    if call is None:
        (rows, length), count = x1.shape[-2:], turned.shape[-1]
        code = distances.address(real=language_type(x1.dtype), order=_ORDERS[p])
        outputs, items = [((*batch, rows, count), x1.dtype)], math.prod(batch) * rows
        grain, words = chunk(items, length * count // 2), [count, length, rows]
        call = _known.keep(key, prepared(code, items, grain, [x1, turned], outputs, words))
    return called(call, (x1, turned))


def from_products(products, own, others):
    """Euclidean distances (*, P, R) in place of products of rows, from these and squared lengths
    (*, P) and (*, R) of the same batches; None where that is left to NumPy."""
    arrays = [products, *map(by_rows, (own, others))]
    if REFERENCE or products.dtype not in COMPILED_DTYPES or not products.flags.c_contiguous:
        return None
    key = "products", products.shape, products.dtype
    call = _known.get(key)
    if call is None:
        rows, count = products.shape[-2:]
        code = distances_of_products.address(real=language_type(products.dtype))
        items = products.size // count
        call = prepared_into(code, items, chunk(items, count), arrays, [rows, count])
        if call is None:
            return None
        _known.keep(key, call)
    found = call(*arrays, products)
    return None if found is NotImplemented else found


def prepare_pairs(x):
    """A call ``f(x)`` of the packed distances of the rows of (N, M) for one layout, or None."""
    if REFERENCE or x.ndim != 2 or x.dtype not in COMPILED_DTYPES or not x.size:
        return None
    (count, length), dtype = x.shape, x.dtype
    if count < 2:
        return None
    code = pair_distances.address(real=language_type(dtype), order=2)
    outputs, padded = [((count * (count - 1) // 2,), dtype)], -(-count // LANES) * LANES
    arrays, grain = [np.array(x), np.empty((length, padded), dtype)], chunk(count, length * count)
    call = prepared(code, count, grain, arrays, outputs, [count, length])

    def pairs(x):
        turned = np.zeros((length, padded), dtype)
        turned[:, :count] = x.T
        return called(call, (by_rows(x), turned))

    return pairs


def pairs_gradient(grad, x, out):
    """The gradient of (N, M) from that of its packed distances `out`; None where that is left to
    ops: other dtypes, batches, the reference mode."""
    same = grad.dtype is x.dtype is out.dtype
    if REFERENCE or not same or x.dtype not in COMPILED_DTYPES or x.ndim != 2 or not x.size:
        return None
    arrays = [by_rows(a) for a in (grad, x, out)]
    key = "gradient", x.shape, x.dtype
    call = _known.get(key)
    if call is None:
        count, length = x.shape
        code = pair_gradients.address(real=language_type(x.dtype))
        grain, outputs = chunk(count, length * count), [(x.shape, x.dtype)]
        call = _known.keep(key, prepared(code, count, grain, arrays, outputs, [count, length]))
    return called(call, arrays)
