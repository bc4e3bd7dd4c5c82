"""Sums of short rows, as many at once as a vector has lanes: one tree adds up the lanes of all."""

from __future__ import annotations

from llvmlite import ir

from rushlight.backends.element_vectors import DOUBLE, SINGLE
from rushlight.backends.kernel_language import Chosen, Emitted, element, f32, f64, i64
from rushlight.backends.kernel_values import counted_loop
from rushlight.backends.line_products import lane_totals, zero_slots

__all__ = ["DOUBLES", "SINGLES", "means_of_rows"]

I64 = ir.IntType(64)
SINGLES, DOUBLES = SINGLE.count, DOUBLE.count  # rows of one call


def _emit(builder, values, kind):
    """out[r] = (sum of row r) / divisor for r below `rows`, at most as many as a vector has lanes.
    A row beyond is the last one again: what is added to what depends on its length alone."""
    x, row, length, rows, out, divisor = values
    last, size, slots = builder.sub(rows, I64(1)), kind.size, zero_slots(builder, kind, kind.count)
    starts = []
    for r in range(kind.count):
        place = builder.select(builder.icmp_signed("<", I64(r), last), I64(r), last)
        starts.append(builder.add(x, builder.mul(place, row)))

    def add(offset, mask=None):
        for slot, start in zip(slots, starts, strict=True):
            found = kind.load(builder, builder.add(start, offset), mask)
            builder.store(builder.fadd(builder.load(slot), found), slot)

    whole = builder.sdiv(length, I64(kind.count))
    with counted_loop(builder, whole) as index:
        add(builder.mul(index, I64(size * kind.count)))
    done = builder.mul(whole, I64(kind.count))
    left = builder.sub(length, done)
    with builder.if_then(builder.icmp_signed(">", left, I64(0))):
        add(builder.mul(done, I64(size)), kind.below(builder, left))
    totals = lane_totals(builder, [builder.load(slot) for slot in slots])
    quotients = builder.fdiv(totals, kind.splat(builder, divisor))
    kind.store(builder, quotients, out, kind.below(builder, rows))


def _piece(kind, number):
    arguments = (i64,) * 5 + (number,)
    name = f"means_of_rows_{kind.label}"
    return Emitted(name, None, arguments, lambda b, values: _emit(b, values, kind))


# (rows, bytes from one to the next, elements of a row, how many rows, results, divisor)
means_of_rows = Chosen(element, {f32: _piece(SINGLE, f32), f64: _piece(DOUBLE, f64)})
