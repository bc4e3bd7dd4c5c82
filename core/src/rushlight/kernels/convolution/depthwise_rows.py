"""Rows of a depthwise convolution in vectors: code emitted for one type, window and stride.

Outputs are computed a vector at a time, down the rows, from the plane as it is: a multiply-add for
every tap, whose weight stays in a register; every second value of two vectors where the stride is
2. Masks keep lanes beside the image zero, and rows above and below it are left out, so that nothing
is padded, and pixels that a tap does not meet do not count even where they are NaN. The gradient of
the weight keeps a vector of sums for every tap in registers instead.
"""

from __future__ import annotations

import functools

from rushlight.kernels.gemm.microkernel import I32, I64, VL
from rushlight.machine.language.element_vectors import DOUBLE, SINGLE
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir
from rushlight.machine.machine_code import load_module

__all__ = ["STRIDES", "WORDS", "rows_address"]

# Words of the parameter block. Forward: BIAS is an address or 0, OUT the first output. Weight
# gradient: WEIGHT is a vector of sums for each tap, OUT the output's gradient. Paddings may be
# negative.
SOURCE, WEIGHT, BIAS, OUT, HEIGHT, WIDTH, PY, PX, ROWS, COLUMNS = range(10)
WORDS = 10
STRIDES = (1, 2)  # of columns
# Rows that a column of vectors goes down. Few in long rows, where memory is the limit: it is read
# almost in order then. More in short ones, where many vectors are at an edge and need masks.
BLOCK, BLOCK_OF_LONG, LONG = 16, 4, 32
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
        self.v = self.vectors
        self.lanes = ir.VectorType(ir.IntType(8 * size), self.v.count)

    def splat(self, value):
        """An index in every lane, in integers as wide as an element."""
        one = self.b.insert_element(ir.Constant(self.lanes, ir.Undefined),
                                    self.b.trunc(value, self.lanes.element), I32(0))  # fmt: skip
        first = ir.Constant(ir.VectorType(I32, self.lanes.count), [0] * self.lanes.count)
        return self.b.shuffle_vector(one, ir.Constant(self.lanes, ir.Undefined), first)

    def counted(self, first):
        """first, first + 1, ... in the lanes."""
        return self.b.add(self.splat(first), ir.Constant(self.lanes, list(range(self.lanes.count))))

    def inside(self, first):
        """Which lanes, counted from column ``first``, are columns of the image."""
        return self.b.icmp_unsigned("<", self.counted(first), self.splat(self.words[WIDTH]))

    def below(self, count, first=0):
        """Which lanes, counted from ``first``, are below ``count``."""
        return self.b.icmp_signed("<", self.counted(I64(first)), self.splat(count))

    def each_vector(self, begin, tap, end, overlap):
        """``begin(column, mask, row)``; ``tap(index, values)`` for the taps that meet the image;
        ``end(column, mask, row)``: for some rows of one column of vectors after the other. The
        mask is None where everything that is read is there. With ``overlap`` the last vector
        begins early enough to be whole, if the rows are as long."""
        b, rows, lanes = self.b, self.words[ROWS], self.v.count
        vectors = b.udiv(b.add(self.words[COLUMNS], I64(lanes - 1)), I64(lanes))
        long = b.icmp_signed(">", self.words[COLUMNS], I64(LONG))
        size = b.select(long, I64(BLOCK_OF_LONG), I64(BLOCK))
        blocks = b.udiv(b.add(rows, b.sub(size, I64(1))), size)
        last = self.at_least_0(b.sub(self.words[COLUMNS], I64(lanes)))
        with counted_loop(b, blocks) as block, counted_loop(b, vectors) as index:
            first, column = b.mul(block, size), b.mul(index, I64(lanes))
            if overlap:
                column = self.least(column, last)
            count = self.least(b.sub(rows, first), size)
            start = b.sub(b.mul(column, I64(self.steps[1])), self.words[PX])
            behind = b.add(start, I64((self.wide - 1) * self.apart[1] + lanes * self.steps[1]))
            whole = b.and_(
                b.icmp_signed("<=", b.add(column, I64(lanes)), self.words[COLUMNS]),
                b.and_(b.icmp_signed(">=", start, I64(0)),
                       b.icmp_signed("<=", behind, self.words[WIDTH])),
            )  # fmt: skip
            shifts = [b.add(start, I64(x * self.apart[1])) for x in range(self.wide)]
            with b.if_else(whole) as (inner, edge):
                with inner:
                    masks = [[None] * self.steps[1]] * self.wide
                    self.each_row(first, count, column, None, shifts, masks, (begin, tap, end))
                with edge:
                    mask, masks = self.edge(column, shifts)
                    self.each_row(first, count, column, mask, shifts, masks, (begin, tap, end))

    def least(self, x, y):
        return self.b.select(self.b.icmp_signed("<", x, y), x, y)

    def at_least_0(self, x):
        return self.b.select(self.b.icmp_signed(">", x, I64(0)), x, I64(0))

    def edge(self, column, shifts):
        """What of a vector of outputs is there, and what its taps read."""
        b, lanes = self.b, self.v.count
        present = b.sub(self.words[COLUMNS], column)
        # what outputs read that are not there is not read either: it may be NaN
        wanted = b.mul(present, I64(self.steps[1]))
        read = [self.below(wanted, lanes * v) for v in range(self.steps[1])]
        masks = [
            [
                b.and_(these, self.inside(b.add(shift, I64(lanes * v))))
                for v, these in enumerate(read)
            ]
            for shift in shifts
        ]
        return self.below(present), masks

    def each_row(self, first, count, column, mask, shifts, masks, steps):
        """The steps of :meth:`each_vector` for a block of rows."""
        b, (begin, tap, end) = self.b, steps
        with counted_loop(b, count) as index:
            row = b.add(first, index)
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
        outputs = b.mul(self.words[ROWS], self.words[COLUMNS])
        end_of_whole = b.add(self.words[OUT], b.mul(b.sub(outputs, I64(v.count)), I64(v.size)))

        def begin(column, mask, row):
            b.store(bias, total)

        def tap(index, values):
            factor = kept[index] if kept else self.scalar(at[index])
            b.store(v.fma(b, factor, values, b.load(total)), total)

        def end(column, mask, row):
            place = self.out_place(column, row)
            if mask is None or VL == 16:  # AVX-512 stores parts as fast
                v.store(b, b.load(total), place, mask)
                return
            # A whole vector where it ends before the plane does: what it writes behind its row is
            # written anew later on. AVX2 may take ten times as long to store a part.
            with b.if_else(b.icmp_unsigned("<=", place, end_of_whole)) as (whole, part):
                with whole:
                    v.store(b, b.load(total), place)
                with part:
                    v.store(b, b.load(total), place, mask)

        self.each_vector(begin, tap, end, overlap=VL < 16)
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

        self.each_vector(begin, tap, lambda column, mask, row: None, overlap=False)
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
