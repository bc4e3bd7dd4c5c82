"""Rows of a depthwise convolution in vectors (:mod:`.window_rows`).

Several rows of results are computed together: what a tap meets in a row of the image is read once
for all of them, and a column of weights stays in registers meanwhile. Rows above and below the
image are read from zeros, so that its pixels do not count there even where they are NaN. The
gradient of the weight goes row by row and keeps a vector of sums for every tap instead.
"""

from __future__ import annotations

import functools

from rushlight.kernels.convolution.window_rows import (
    HEIGHT,
    PY,
    SOURCE,
    WEIGHT,
    WIDTH,
    WindowRows,
)
from rushlight.kernels.gemm.microkernel import I64, VL
from rushlight.machine.llvm import ir
from rushlight.machine.machine_code import load_module

__all__ = ["STRIDES", "rows_address", "rows_at_once"]

STRIDES = (1, 2)  # of columns
_LONGEST = 800  # multiply-adds of a block of rows
_MOST, _MOST_OF_LOW, _LOW = 14, 8, 3  # rows of results; rows of a window


class _Rows(WindowRows):
    """Emits the code for a window. Of the gradient WEIGHT is a vector of sums for each tap, OUT the
    output's gradient."""

    def __init__(self, module, name, *window, block):
        super().__init__(module, name, *window)
        self.block = block  # rows of results that are computed together, if there are as many
        self.meeting = {}  # distance of a row of the image -> (row of results, row of taps)
        for i in range(block):
            for y in range(self.high):
                distance = i * self.steps[0] + y * self.apart[0]
                self.meeting.setdefault(distance, []).append((i, y))
        self.meeting = dict(sorted(self.meeting.items()))

    def forward(self):
        self.end, self.start = self.end_of_whole(), self.bias()
        self.zeros = self.row_of_zeros()
        self.each_block(self.results, self.block, overlap=VL < 16)
        self.b.ret_void()

    def row_of_zeros(self):
        """The address of as many zeros as a row of taps may read."""
        b, v = self.b, self.v
        count = -(-((self.wide - 1) * self.apart[1] + v.count * (self.steps[1] + 1)) // v.count)
        memory = b.ptrtoint(b.alloca(v.kind, count), I64)
        for i in range(count):
            v.store(b, v.zero, b.add(memory, I64(v.size * v.count * i)))
        return memory

    def results(self, first, column, mask, start, masks):
        """A vector of results in each row of a block."""
        b = self.b
        top = b.sub(b.mul(first, I64(self.steps[0])), self.words[PY])
        behind = b.add(top, I64(max(self.meeting)))
        whole = b.and_(b.icmp_signed(">=", top, I64(0)),
                       b.icmp_signed("<", behind, self.words[HEIGHT]))  # fmt: skip
        with b.if_else(whole) as (inner, edge):
            with inner:
                self.results_of(self.rows_of_image(top, start, True), first, column, mask, masks)
            with edge:
                self.results_of(self.rows_of_image(top, start, False), first, column, mask, masks)

    def results_of(self, rows, first, column, mask, masks):
        """The same, of known rows of the image."""
        b, v = self.b, self.v
        totals = [self.start] * self.block
        for group, (base, offsets) in enumerate(self.groups):
            taps = [x for x, (number, _) in enumerate(self.taps) if number == group]
            weights = {x: [self.weight_of(y, x) for y in range(self.high)] for x in taps}
            for distance, pointer in rows.items():
                read = [
                    v.load(b, b.add(pointer, I64(v.size * (base + offset))), inside)
                    for offset, inside in zip(offsets, masks[group], strict=True)
                ]
                for x in taps:
                    values = self.strided(read, offsets, self.taps[x][1])
                    for i, y in self.meeting[distance]:
                        totals[i] = v.fma(b, weights[x][y], values, totals[i])
        for i, total in enumerate(totals):
            place = self.out_place(column, b.add(first, I64(i)))
            store = functools.partial(lambda place, total, lanes: v.store(b, total, place, lanes),
                                      place, total)  # fmt: skip
            self.put(place, mask, self.end, store)

    def weight_of(self, y, x):
        """The weight of a tap in every lane."""
        tap = y * self.wide + x
        return self.scalar(self.b.add(self.words[WEIGHT], I64(self.v.size * tap)))

    def rows_of_image(self, top, start, whole):
        """Where column `start` is in each row of the image that a block meets, by the row's
        distance from the first: in zeros where the row is beside the image, if not the `whole`
        block is inside."""
        b, found = self.b, {}
        place = self.address(SOURCE, b.add(b.mul(top, self.words[WIDTH]), start))
        pitch = b.mul(self.words[WIDTH], I64(self.v.size))
        for distance in self.meeting:
            row = b.add(top, I64(distance))
            at = b.add(place, b.mul(pitch, I64(distance)))
            if not whole:
                inside = b.icmp_unsigned("<", row, self.words[HEIGHT])
                at = b.select(inside, at, self.zeros)
            found[distance] = at
        return found

    def weight(self):
        b, v, taps = self.b, self.vectors, self.high * self.wide
        at = [b.add(self.words[WEIGHT], I64(4 * VL * tap)) for tap in range(taps)]
        slots, grad = [b.alloca(v.kind) for _ in at], b.alloca(v.kind)
        for slot, place in zip(slots, at, strict=True):
            b.store(v.load(b, place), slot)

        def begin(column, mask, row):
            b.store(v.load(b, self.out_place(column, row), mask), grad)

        def tap(index, values):
            b.store(v.fma(b, b.load(grad), values, b.load(slots[index])), slots[index])

        self.each_vector(begin, tap, lambda column, mask, row: None, overlap=False)
        for slot, place in zip(slots, at, strict=True):
            v.store(b, b.load(slot), place)
        b.ret_void()


def rows_at_once(rows, high, wide):
    """How many of so many rows of results are computed together: as many as registers hold beside a
    column of weights, in parts that are about equal, and no more than makes long code. Of low
    windows, whose rows few results share, fewer: memory is read almost in order then."""
    registers = 30 if VL == 16 else 14
    most = max(1, min(_MOST if high > _LOW else _MOST_OF_LOW, registers - high,
                      _LONGEST // (high * wide)))  # fmt: skip
    return -(-rows // -(-rows // most))


@functools.cache
def rows_address(kind, block, *window):
    """Address of the code for "forward" (of `block` rows at a time, at most as many as there are)
    or "weight" and (bytes of an element, high, wide, steps, distances of taps)."""
    symbol = f"rl_depthwise_rows_{kind}_{block}_{'_'.join(map(str, window))}_{VL}"

    def build():
        module = ir.Module(name=symbol)
        getattr(_Rows(module, symbol, *window, block=block), kind)()
        return module

    return load_module(symbol, build)
