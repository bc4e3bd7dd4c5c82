"""Rows of a depthwise convolution in vectors: code emitted for one type, window and stride.

Outputs are computed a vector at a time, down the rows, from the plane as it is: a multiply-add for
every tap, whose weight stays in a register; every second value of two vectors where the stride is
2. Masks keep lanes beside the image zero, and rows above and below it are left out, so that nothing
is padded, and pixels that a tap does not meet do not count even where they are NaN. The gradient of
the weight keeps a vector of sums for every tap in registers instead.
"""

from __future__ import annotations

import functools

from llvmlite import ir

from rushlight.backends.element_vectors import DOUBLE, SINGLE
from rushlight.backends.kernel_values import counted_loop
from rushlight.backends.machine_code import load_module
from rushlight.backends.microkernel import I32, I64, VL

__all__ = ["STRIDES", "WORDS", "rows_address"]

# Words of the parameter block. Forward: BIAS is an address or 0, OUT the first output. Weight
# gradient: WEIGHT is a vector of sums for each tap, OUT the output's gradient. Paddings may be
# negative.
SOURCE, WEIGHT, BIAS, OUT, HEIGHT, WIDTH, PY, PX, ROWS, COLUMNS = range(10)
WORDS = 10
STRIDES = (1, 2)  # of columns
BLOCK = 16  # rows that a column of vectors goes down: what they read stays in the first cache
IN_REGISTERS = 25  # weights that are loaded before the rows


class Block:
    """A function ``void(int64 *p)``, the words of its parameter block, and its vectors, whose
    elements have ``size`` bytes."""

    def __init__(self, module, name, size):
        self.vectors = SINGLE if size == 4 else DOUBLE
        signature = ir.FunctionType(ir.VoidType(), [I64])
        self.function = ir.Function(module, signature, name)
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.words = [self._word(i) for i in range(WORDS)]

    def _word(self, index):
        address = self.b.add(self.function.args[0], I64(8 * index))
        return self.b.load(self.b.inttoptr(address, I64.as_pointer()))

    def scalar(self, address):
        """What is at an address, in every lane."""
        return self.vectors.scalar(self.b, address)

    def bias(self):
        """The bias in every lane, or zero."""
        b = self.b
        slot = b.alloca(self.vectors.kind)
        b.store(self.vectors.zero, slot)
        with b.if_then(b.icmp_signed("!=", self.words[BIAS], I64(0))):
            b.store(self.scalar(self.words[BIAS]), slot)
        return b.load(slot)


class _Rows(Block):
    """Emits the code for a window."""

    def __init__(self, module, name, size, high, wide, step_y, step_x, apart_y, apart_x):
        super().__init__(module, name, size)
        self.high, self.wide = high, wide
        self.steps, self.apart = (step_y, step_x), (apart_y, apart_x)

    def inside(self, first):
        """Which lanes, counted from column ``first``, are columns of the image."""
        b, v = self.b, self.vectors
        columns = b.add(v.splat(b, first), ir.Constant(v.indices, list(range(v.count))))
        return b.icmp_unsigned("<", columns, v.splat(b, self.words[WIDTH]))

    def each_vector(self, begin, tap, end):
        """``begin(column, mask, row)``; ``tap(index, values)`` for the taps that meet the image;
        ``end(column, mask, row)``: for some rows of one column of vectors after the other."""
        b, rows, lanes = self.b, self.words[ROWS], self.vectors.count
        below = functools.partial(self.vectors.below, b)
        vectors = b.udiv(b.add(self.words[COLUMNS], I64(lanes - 1)), I64(lanes))
        blocks = b.udiv(b.add(rows, I64(BLOCK - 1)), I64(BLOCK))
        with counted_loop(b, blocks) as block, counted_loop(b, vectors) as index:
            first, column = b.mul(block, I64(BLOCK)), b.mul(index, I64(lanes))
            rest = b.sub(rows, first)
            count = b.select(b.icmp_signed("<", rest, I64(BLOCK)), rest, I64(BLOCK))
            mask = below(b.sub(self.words[COLUMNS], column))
            start = b.sub(b.mul(column, I64(self.steps[1])), self.words[PX])
            shifts = [b.add(start, I64(x * self.apart[1])) for x in range(self.wide)]
            # what outputs read that are not there is not read either: it may be NaN
            wanted = b.mul(b.sub(self.words[COLUMNS], column), I64(self.steps[1]))
            read = [below(wanted, lanes * v) for v in range(self.steps[1])]
            masks = [[b.and_(these, self.inside(b.add(shift, I64(lanes * v))))
                      for v, these in enumerate(read)] for shift in shifts]  # fmt: skip
            with counted_loop(b, count) as index_in_block:
                row = b.add(first, index_in_block)
                begin(column, mask, row)
                top = b.sub(b.mul(row, I64(self.steps[0])), self.words[PY])
                for y in range(self.high):
                    at = b.add(top, I64(y * self.apart[0]))
                    with b.if_then(b.icmp_unsigned("<", at, self.words[HEIGHT]), likely=True):
                        for x, values in enumerate(self.row_of_taps(at, shifts, masks)):
                            tap(y * self.wide + x, values)
                end(column, mask, row)

    def row_of_taps(self, row, shifts, masks):
        """What the taps of a row of the window meet in a row of the image, zeros beside it."""
        b, vectors = self.b, self.vectors
        line = b.mul(row, self.words[WIDTH])
        for shift, lanes in zip(shifts, masks, strict=True):
            place = b.add(self.words[SOURCE], b.mul(b.add(line, shift), I64(vectors.size)))
            found = [
                vectors.load(b, b.add(place, I64(4 * VL * v)), inside)
                for v, inside in enumerate(lanes)
            ]
            if len(found) == 2:
                order = ir.Constant(
                    ir.VectorType(I32, vectors.count), [2 * i for i in range(vectors.count)]
                )
                found[0] = b.shuffle_vector(*found, order)
            yield found[0]

    def out_place(self, column, row):
        b = self.b
        place = b.add(b.mul(row, self.words[COLUMNS]), column)
        return b.add(self.words[OUT], b.mul(place, I64(self.vectors.size)))

    def forward(self):
        b, v, taps = self.b, self.vectors, self.high * self.wide
        at = [b.add(self.words[WEIGHT], I64(v.size * tap)) for tap in range(taps)]
        kept = [self.scalar(place) for place in at] if taps <= IN_REGISTERS else None
        bias, total = self.bias(), b.alloca(v.kind)

        def begin(column, mask, row):
            b.store(bias, total)

        def tap(index, values):
            factor = kept[index] if kept else self.scalar(at[index])
            b.store(v.fma(b, factor, values, b.load(total)), total)

        def end(column, mask, row):
            v.store(b, b.load(total), self.out_place(column, row), mask)

        self.each_vector(begin, tap, end)
        b.ret_void()

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

        self.each_vector(begin, tap, lambda column, mask, row: None)
        for slot, place in zip(slots, at, strict=True):
            v.store(b, b.load(slot), place)
        b.ret_void()


@functools.cache
def rows_address(kind, *window):
    """Address of the code for "forward" or "weight" and (bytes of an element, high, wide, steps,
    distances of taps)."""
    symbol = f"rl_depthwise_{kind}_{'_'.join(map(str, window))}_{VL}"

    def build():
        module = ir.Module(name=symbol)
        getattr(_Rows(module, symbol, *window), kind)()
        return module

    return load_module(symbol, build)
