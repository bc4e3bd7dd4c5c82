"""Sums and extremes of short rows, as many at once as a vector has lanes: one tree brings together
the lanes of all. Sums of long ones.

`rows` is at most that many. A row beyond is the last one again: what is combined with what depends
on the length of a row alone.
"""

from __future__ import annotations

import functools

from rushlight.kernels.gemm.line_emitters import added, lane_totals, slots_of
from rushlight.kernels.reduction.row_extremes import ask_ahead
from rushlight.machine.language.element_vectors import DOUBLE, SINGLE
from rushlight.machine.language.functions import Chosen, Emitted, element, f32, f64, i64
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir

__all__ = [
    "DOUBLES",
    "SINGLES",
    "distances_of_run",
    "largest_of_rows32",
    "means_of_rows",
    "means_of_rows32",
    "squares_of_rows32",
    "sum_of_run",
]

I64 = ir.IntType(64)
BESIDE = 4  # sums of a long row: one waits for the one before
SINGLES, DOUBLES = SINGLE.count, DOUBLE.count  # rows of one call


class _Rows:
    """The rows that go together, each with a vector of what has been found so far."""

    def __init__(self, builder, kind, x, row, rows, start):
        self.builder, self.kind = builder, kind
        self.slots = slots_of(builder, kind, kind.count, start)
        last = builder.sub(rows, I64(1))
        self.places = [
            builder.select(builder.icmp_signed("<", I64(r), last), I64(r), last)
            for r in range(kind.count)
        ]
        self.starts = [builder.add(x, builder.mul(place, row)) for place in self.places]

    def add(self, index, combined, mask=None):
        """One vector more of each row: ``combined(so far, vector, place of the row)``."""
        builder = self.builder
        offset = builder.mul(index, I64(self.kind.size * self.kind.count))
        for slot, start, place in zip(self.slots, self.starts, self.places, strict=True):
            found = self.kind.load(builder, builder.add(start, offset), mask)
            builder.store(combined(builder.load(slot), found, place), slot)

    def together(self, combined):
        """A vector of the results of all rows."""
        builder = self.builder
        return lane_totals(builder, [builder.load(slot) for slot in self.slots], combined)


def _over(builder, kind, length, add):
    """Take all vectors of rows of a length, the last one by a mask."""
    whole = builder.sdiv(length, I64(kind.count))
    with counted_loop(builder, whole) as index:
        add(index)
    left = builder.sub(length, builder.mul(whole, I64(kind.count)))
    with builder.if_then(builder.icmp_signed(">", left, I64(0))):
        add(whole, kind.below(builder, left))


def _apart(builder, kind, value, centre, mask):
    """value - centre in the lanes that a mask (or None: all) names, zero in others."""
    apart = builder.fsub(value, centre)
    return apart if mask is None else builder.select(mask, apart, kind.zero)


def _with_square(builder, kind, total, value, centre, mask):
    """A sum and (value - centre) ** 2."""
    apart = _apart(builder, kind, value, centre, mask)
    return kind.fma(builder, apart, apart, total)


def _with_offset(builder, kind, total, value, centre, mask):
    """A sum and value - centre."""
    return builder.fadd(total, _apart(builder, kind, value, centre, mask))


def _with_value(builder, kind, total, value, centre, mask):
    """A sum and the value; lanes that a mask leaves out hold zero."""
    return builder.fadd(total, value)


def _emit_means(builder, values, kind):
    x, row, length, rows, out, divisor = values
    found = _Rows(builder, kind, x, row, rows, kind.zero)

    def add(index, mask=None):
        found.add(index, lambda total, value, _: builder.fadd(total, value), mask)

    _over(builder, kind, length, add)
    quotients = builder.fdiv(found.together(builder.fadd), kind.splat(builder, divisor))
    kind.store(builder, quotients, out, kind.below(builder, rows))


def _emit_squares(builder, values, kind):
    x, row, length, rows, out, centres = values
    found = _Rows(builder, kind, x, row, rows, kind.zero)

    def add(index, mask=None):
        def square(total, value, place):
            at = builder.add(centres, builder.mul(place, I64(kind.size)))
            return _with_square(builder, kind, total, value, kind.scalar(builder, at), mask)

        found.add(index, square, mask)

    _over(builder, kind, length, add)
    kind.store(builder, found.together(builder.fadd), out, kind.below(builder, rows))


def _emit_largest(builder, values, kind):
    x, row, vectors, rows, out, factor = values
    factor = kind.splat(builder, factor)

    def larger(a, b):  # in this order it is the processor's own maximum
        return builder.select(builder.fcmp_ordered(">", b, a), b, a)

    lowest = ir.Constant(kind.kind, [float("-inf")] * kind.count)
    found = _Rows(builder, kind, x, row, rows, lowest)
    with counted_loop(builder, vectors) as index:
        found.add(index, lambda best, value, _: larger(best, builder.fmul(value, factor)))
    kind.store(builder, found.together(larger), out, kind.below(builder, rows))


def _emit_run(builder, values, kind, steps):
    address, n, *given = values
    size, vector, group = kind.size, kind.size * kind.count, BESIDE * kind.count
    centre = kind.splat(builder, given[0]) if given else None
    sums = [(step, slots_of(builder, kind, BESIDE)) for step in steps]

    def add(place, start, mask=None):
        found = kind.load(builder, start, mask)
        for step, slots in sums:
            before = builder.load(slots[place])
            builder.store(step(builder, kind, before, found, centre, mask), slots[place])

    groups = builder.sdiv(n, I64(group))
    with counted_loop(builder, groups) as index:
        start = builder.add(address, builder.mul(index, I64(size * group)))
        ask_ahead(builder, start, size * group)
        for place in range(BESIDE):
            add(place, builder.add(start, I64(vector * place)))
    done = builder.mul(groups, I64(group))
    rest, left = builder.add(address, builder.mul(done, I64(size))), builder.sub(n, done)
    _over(builder, kind, left, lambda index, *mask: add(
        0, builder.add(rest, builder.mul(index, I64(vector))), *mask
    ))  # fmt: skip
    totals = [lane_totals(builder, [added(builder, slots)]) for _, slots in sums]
    return [builder.extract_element(total, ir.IntType(32)(0)) for total in totals]


def _emit_sum(builder, values, kind):
    return _emit_run(builder, values, kind, [_with_value])[0]


def _emit_distances(builder, values, kind):
    *values, to = values
    for place, total in enumerate(_emit_run(builder, values, kind, [_with_square, _with_offset])):
        where = builder.inttoptr(builder.add(to, I64(8 * place)), kind.element.as_pointer())
        builder.store(total, where)


def _piece(name, kind, last, emit):
    arguments = (i64,) * 5 + (last,)
    return Emitted(f"{name}_{kind.label}", None, arguments, lambda b, v: emit(b, v, kind))


def _long(name, emit, arguments, gives):
    """The piece for the type of a kernel's parameter ``element``; further arguments, and what it
    gives, as functions of that."""
    return Chosen(
        element,
        {
            number: Emitted(f"{name}_{kind.label}", gives(number),
                            (i64, i64, *arguments(number)), functools.partial(emit, kind=kind))
            for number, kind in ((f32, SINGLE), (f64, DOUBLE))
        },
    )  # fmt: skip


# Of a long row: (address, elements).
sum_of_run = _long("sum_of_run", _emit_sum, lambda number: (), lambda number: number)
# The sums of (x - centre) ** 2 and of x - centre: (address, elements, centre, where both go in
# words of eight bytes each).
distances_of_run = _long(
    "distances_of_run", _emit_distances, lambda number: (number, i64), lambda number: None
)
# out[r] = (sum of row r) / divisor:
# (rows, bytes from one to the next, elements of a row, how many rows, results, divisor)
means_of_rows = Chosen(
    element,
    {
        f32: _piece("means_of_rows", SINGLE, f32, _emit_means),
        f64: _piece("means_of_rows", DOUBLE, f64, _emit_means),
    },
)
means_of_rows32 = means_of_rows.members[f32]
# out[r] = the sum of (row r - centre r) ** 2: the same, with the address of the centres
squares_of_rows32 = _piece("squares_of_rows", SINGLE, i64, _emit_squares)
# out[r] = the largest of factor * row r, which is made of whole vectors; NaN is passed over:
# (rows, bytes from one to the next, vectors of a row, how many rows, results, factor)
largest_of_rows32 = _piece("largest_of_rows", SINGLE, f32, _emit_largest)
