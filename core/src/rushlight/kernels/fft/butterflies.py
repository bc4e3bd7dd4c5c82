"""Butterflies of fast Fourier transforms: VL transforms at once, one in each lane.

A value is E bytes: VL real parts, VL imaginary parts. A stage is that of Stockham's algorithm in
its form without reordering (decimation in frequency): with `done` the product of the radices
before it and m = n / (done * radix), ::

    y[q + done * (radix * p + j)] = w^(j p) * sum over k of x[q + done * (p + m k)] * u^(j k)

where w and u are roots of unity of order n / done and `radix`. Import at first kernel need.
"""

from __future__ import annotations

import contextlib
import math

from rushlight.kernels.gemm.microkernel import (
    F32,
    I64,
    VECTOR,
    VL,
    fma,
    load_vector,
    splat,
    store_vector,
)
from rushlight.machine.language.functions import Emitted, i64
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir

__all__ = [
    "E",
    "RADICES",
    "conjugates",
    "from_real_transform",
    "joined_columns",
    "pairs_from_halves",
    "pairs_to_halves",
    "mirror",
    "scale",
    "spread_columns",
    "stages",
    "to_real_transform",
    "turn",
]

E = 2 * VL * 4
SAME = I64(0)
RADICES = (2, 3, 4, 5, 7, 8)


def _constant(value):
    return ir.Constant(VECTOR, [value] * VL)


def _sum(b, x, y):
    return b.fadd(x[0], y[0]), b.fadd(x[1], y[1])


def _difference(b, x, y):
    return b.fsub(x[0], y[0]), b.fsub(x[1], y[1])


def _product(b, x, w):
    real = b.fsub(b.fmul(x[0], w[0]), b.fmul(x[1], w[1]))
    return real, fma(b, x[0], w[1], b.fmul(x[1], w[0]))


def _transform(b, a):
    """The sums over k for every j."""
    if len(a) == 2:
        return [_sum(b, *a), _difference(b, *a)]
    if len(a) == 4:
        even, odd = _sum(b, a[0], a[2]), _sum(b, a[1], a[3])
        rest, turned = _difference(b, a[0], a[2]), _difference(b, a[1], a[3])
        first = b.fadd(rest[0], turned[1]), b.fsub(rest[1], turned[0])  # minus i times `turned`
        third = b.fsub(rest[0], turned[1]), b.fadd(rest[1], turned[0])
        return [_sum(b, even, odd), first, _difference(b, even, odd), third]
    return _eight(b, a) if len(a) == 8 else _odd(b, a)


def _eight(b, a):
    """Two transforms of four, those of odd values turned by eighths of a circle."""
    even, odd = _transform(b, a[::2]), _transform(b, a[1::2])
    (r, i), (x, y) = odd[1], odd[3]
    half = _constant(math.sqrt(0.5))
    turned = [
        odd[0],
        (b.fmul(half, b.fadd(r, i)), b.fmul(half, b.fsub(i, r))),
        (odd[2][1], b.fsub(_constant(-0.0), odd[2][0])),
        (b.fmul(half, b.fsub(y, x)), b.fmul(_constant(-math.sqrt(0.5)), b.fadd(x, y))),
    ]
    pairs = list(zip(even, turned, strict=True))
    return [_sum(b, *p) for p in pairs] + [_difference(b, *p) for p in pairs]


def _odd(b, a):
    """An odd number of values: those of k and -k share their products."""
    size, half = len(a), range(1, (len(a) + 1) // 2)
    sums = [_sum(b, a[k], a[size - k]) for k in half]
    rest = [_difference(b, a[k], a[size - k]) for k in half]
    found = [a[0]] + [None] * (size - 1)
    for part in sums:
        found[0] = _sum(b, found[0], part)
    for j in half:
        angles = [2 * math.pi * (j * k % size) / size for k in half]
        cosines, sines = ([f(t) for t in angles] for f in (math.cos, math.sin))
        whole, turned = a[0], None
        for c, s, x, y in zip(cosines, sines, sums, rest, strict=True):
            whole = tuple(fma(b, _constant(c), v, old) for v, old in zip(x, whole, strict=True))
            if turned is None:
                turned = tuple(b.fmul(_constant(s), v) for v in y)
            else:
                turned = tuple(
                    fma(b, _constant(s), v, old) for v, old in zip(y, turned, strict=True)
                )
        found[j] = b.fadd(whole[0], turned[1]), b.fsub(whole[1], turned[0])
        found[size - j] = b.fsub(whole[0], turned[1]), b.fadd(whole[1], turned[0])
    return found


def _load(b, address, swap=SAME):
    real, imaginary = _places(b, address, swap)
    return load_vector(b, real), load_vector(b, imaginary)


def _store(b, value, address, swap=SAME):
    for part, place in zip(value, _places(b, address, swap), strict=True):
        store_vector(b, part, place)


def _places(b, address, swap):
    return b.add(address, swap), b.sub(b.add(address, I64(4 * VL)), swap)


def _root(b, address):
    """A number of a table in all lanes."""
    parts = []
    for offset in (0, 4):
        where = b.inttoptr(b.add(address, I64(offset)), F32.as_pointer())
        parts.append(splat(b, b.load(where, align=4)))
    return tuple(parts)


def _emit_stage(radix):
    def emit(b, values):
        source, target, roots, m, done, swap = values
        step, width = b.mul(done, I64(E)), b.mul(b.mul(done, m), I64(E))
        with counted_loop(b, m) as p:
            table = b.add(roots, b.mul(p, I64(8 * (radix - 1))))
            w = [_root(b, b.add(table, I64(8 * j))) for j in range(radix - 1)]
            begin = b.add(source, b.mul(p, step))
            end = b.add(target, b.mul(b.mul(p, I64(radix)), step))
            with counted_loop(b, done) as q:
                at, to = (b.add(x, b.mul(q, I64(E))) for x in (begin, end))
                a = [_load(b, b.add(at, b.mul(width, I64(k))), swap) for k in range(radix)]
                for j, found in enumerate(_transform(b, a)):
                    turned = found if j == 0 else _product(b, found, w[j - 1])
                    _store(b, turned, b.add(to, b.mul(step, I64(j))), swap)

    return emit


# By radix: (source, target, roots, m, done, swap). With 4 * VL as `swap` real and imaginary parts
# are in each other's position, which makes it the transform back.
stages = {r: Emitted(f"stage_{r}", None, (i64,) * 6, _emit_stage(r)) for r in RADICES}


def _emit_scale(b, values):
    address, count, factor = values
    number = splat(b, b.load(b.inttoptr(factor, F32.as_pointer()), align=4))
    with counted_loop(b, count) as i:
        at = b.add(address, b.mul(i, I64(4 * VL)))
        store_vector(b, b.fmul(load_vector(b, at), number), at)


scale = Emitted("scale_vectors", None, (i64,) * 3, _emit_scale)  # (address, vectors, the factor's)


def _shuffled(b, x, y, places):
    """Elements of two vectors, those of the second counted on."""
    kind = ir.VectorType(ir.IntType(32), VL)
    return b.shuffle_vector(x, y, ir.Constant(kind, list(places)))


def _load_pairs(b, at, back=False):
    """VL complex numbers that are side by side; `back`: in reverse."""
    pair = load_vector(b, at), load_vector(b, b.add(at, I64(4 * VL)))
    order = [range(first, 2 * VL, 2) for first in (0, 1)]
    return [_shuffled(b, *pair, places[::-1] if back else places) for places in order]


def _store_pairs(b, parts, at, back=False):
    for first in (0, VL // 2):
        lanes = [j // 2 + first for j in range(VL)]
        places = [(VL - 1 - k if back else k) + VL * (j % 2) for j, k in enumerate(lanes)]
        store_vector(b, _shuffled(b, *parts, places), b.add(at, I64(8 * first)))


def _emit_spread(b, values):
    source, pitch, target, count = values
    with counted_loop(b, count) as i:
        parts = _load_pairs(b, b.add(source, b.mul(i, pitch)))
        _store(b, parts, b.add(target, b.mul(i, I64(E))))


def _emit_joined(b, values):
    source, target, pitch, count = values
    with counted_loop(b, count) as i:
        parts = _load(b, b.add(source, b.mul(i, I64(E))))
        _store_pairs(b, parts, b.add(target, b.mul(i, pitch)))


def _emit_turn(b, values):
    address, table, count, factor, swap = values
    number = splat(b, b.bitcast(b.trunc(factor, ir.IntType(32)), F32))
    with counted_loop(b, count) as i:
        at, step = b.add(address, b.mul(i, I64(E))), b.mul(i, I64(E))
        found = _product(b, _load(b, at, swap), _load(b, b.add(table, step)))
        _store(b, [b.fmul(v, number) for v in found], at, swap)


# (address, table, count, factor, swap): values times those of a table, times the float32 of which
# these are the bits.
turn = Emitted("turn", None, (i64,) * 5, _emit_turn)


# (source, pitch, target, count) and (source, target, pitch, count): VL complex numbers side by
# side, `pitch` bytes from row to row, as values of a transform and back.
spread_columns = Emitted("spread_columns", None, (i64,) * 4, _emit_spread)
joined_columns = Emitted("joined_columns", None, (i64,) * 4, _emit_joined)


@contextlib.contextmanager
def _mirrored(b, count):
    """Loop over k = 0 .. count / 2: offsets of k and count - k, k itself, and whether it is 0."""
    with counted_loop(b, b.add(b.udiv(count, I64(2)), I64(1))) as k:
        yield b.mul(k, I64(E)), b.mul(b.sub(count, k), I64(E)), k, b.icmp_signed("==", k, I64(0))


def _conjugate(b, x):
    return x[0], b.fsub(_constant(-0.0), x[1])


def _ends(b, x, first, factor):
    """A value, times a number if it is the first or the last of a half."""
    factor = b.bitcast(b.trunc(factor, ir.IntType(32)), F32)
    times = splat(b, b.select(first, factor, F32(1.0)))
    return tuple(b.fmul(v, times) for v in x)


def _half_of_real(b, z, y, root):
    """Values k and count - k of the half, from those of complex numbers; the root of order k."""
    half, y = _constant(0.5), _conjugate(b, y)
    even, odd = ([b.fmul(half, v) for v in f(b, z, y)] for f in (_sum, _difference))
    odd = _product(b, odd, root)
    value = b.fadd(even[0], odd[1]), b.fsub(even[1], odd[0])
    return value, _conjugate(b, (b.fsub(even[0], odd[1]), b.fadd(even[1], odd[0])))


def _complex_of_half(b, x, y, root):
    """The way back."""
    whole, rest = (f(b, x, _conjugate(b, y)) for f in (_sum, _difference))
    rest = _product(b, rest, _conjugate(b, root))
    value = b.fsub(whole[0], rest[1]), b.fadd(whole[1], rest[0])
    return value, _conjugate(b, (b.fadd(whole[0], rest[1]), b.fsub(whole[1], rest[0])))


def _emit_real(b, values):
    source, target, roots, count, ends = values
    with _mirrored(b, count) as (at, mirrored, k, first):
        z = _load(b, b.add(source, at))
        y = _load(b, b.add(source, b.select(first, I64(0), mirrored)))
        root = _root(b, b.add(roots, b.mul(k, I64(8))))
        value, other = _half_of_real(b, z, y, root)
        for found, place in ((value, at), (other, mirrored)):
            _store(b, _ends(b, found, first, ends), b.add(target, place))


def _emit_back(b, values):
    source, target, roots, count, ends = values
    with _mirrored(b, count) as (at, mirrored, k, first):
        x, y = (_load(b, b.add(source, place)) for place in (at, mirrored))
        x, y = ((v[0], b.select(first, _constant(0.0), v[1])) for v in (x, y))
        x, y = (_ends(b, v, first, ends) for v in (x, y))
        root = _root(b, b.add(roots, b.mul(k, I64(8))))
        value, other = _complex_of_half(b, x, y, root)
        _store(b, value, b.add(target, at))
        _store(b, other, b.add(target, mirrored))


def _emit_mirror(b, values):
    address, count = values
    with counted_loop(b, b.sub(count, I64(1))) as i:
        k = b.add(i, I64(1))
        value = _load(b, b.add(address, b.mul(k, I64(E))))
        back = b.sub(b.mul(count, I64(2)), k)
        _store(b, _conjugate(b, value), b.add(address, b.mul(back, I64(E))))


# (address, count): from the first half of a transform of real values to all of it, 2 * count.
mirror = Emitted("mirror", None, (i64,) * 2, _emit_mirror)

# (source, target, roots, count, ends). `count` complex values hold twice as many real ones,
# neighbours as real and imaginary part. From their transform to the first half, count + 1 values,
# of that of the real ones; and back: imaginary parts that real values cannot have do not count.
# `ends`: the bits of a float32 by which the first and the last value of the half are multiplied.
to_real_transform = Emitted("to_real_transform", None, (i64,) * 5, _emit_real)
from_real_transform = Emitted("from_real_transform", None, (i64,) * 5, _emit_back)


@contextlib.contextmanager
def _blocks(b, count):
    """Loop over VL of 1 .. count at a time, at least VL; the last ones end there: the first."""
    with counted_loop(b, b.udiv(b.add(count, I64(VL - 1)), I64(VL))) as i:
        start, last = b.add(b.mul(i, I64(VL)), I64(1)), b.sub(count, I64(VL - 1))
        yield b.select(b.icmp_signed("<", start, last), start, last)


def _emit_pairs(formula):
    def emit(b, values):
        source, target, roots, count = values
        with _blocks(b, b.udiv(count, I64(2))) as k:
            at = b.mul(k, I64(8))
            mirrored = b.mul(b.sub(b.sub(count, k), I64(VL - 1)), I64(8))
            x, y = _load_pairs(b, b.add(source, at)), _load_pairs(b, b.add(source, mirrored), True)
            value, other = formula(b, x, y, _load_pairs(b, b.add(roots, at)))
            _store_pairs(b, value, b.add(target, at))
            _store_pairs(b, other, b.add(target, mirrored), True)

    return emit


def _emit_conjugates(b, values):
    address, count = values
    with _blocks(b, b.sub(count, I64(1))) as k:
        value = _conjugate(b, _load_pairs(b, b.add(address, b.mul(k, I64(8)))))
        back = b.sub(b.sub(b.mul(count, I64(2)), k), I64(VL - 1))
        _store_pairs(b, value, b.add(address, b.mul(back, I64(8))), True)


# The same for one row whose complex numbers are side by side: (source, target, roots, count), all
# values but the first and the last, if they are 2 * VL at least, and (address, count), if they are
# more than VL.
pairs_to_halves = Emitted("pairs_to_halves", None, (i64,) * 4, _emit_pairs(_half_of_real))
pairs_from_halves = Emitted("pairs_from_halves", None, (i64,) * 4, _emit_pairs(_complex_of_half))
conjugates = Emitted("conjugates", None, (i64,) * 2, _emit_conjugates)
