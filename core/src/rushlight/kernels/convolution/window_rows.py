"""Windows over the rows of a plane in vectors: code emitted for one type, window and stride.

Outputs are computed a vector at a time, down the rows, from the plane as it is; with a stride,
every so many-th value of several vectors. Masks keep lanes beside the image at a neutral value, and
rows above and below it are left out, so that nothing is padded.
"""

from __future__ import annotations

import functools

from rushlight.kernels.gemm.microkernel import I32, I64, VL
from rushlight.machine.language.element_vectors import DOUBLE, SINGLE
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir

__all__ = ["WORDS", "Block", "WindowRows", "groups_of"]

# Words of the parameter block. Of convolutions: WEIGHT and BIAS (an address or 0). OUT: the first
# output. Paddings may be negative.
SOURCE, WEIGHT, BIAS, OUT, HEIGHT, WIDTH, PY, PX, ROWS, COLUMNS = range(10)
WORDS = 10
# Rows that a column of vectors goes down. Few in long rows, where memory is the limit: it is read
# almost in order then. More in short ones, where many vectors are at an edge and need masks.
BLOCK, BLOCK_OF_LONG, LONG = 16, 4, 32


class Block:
    """A function ``void(int64 *p)``, the `count` words of its parameter block, and its vectors,
    whose elements have ``size`` bytes."""

    count = WORDS

    def __init__(self, module, name, size):
        self.vectors = SINGLE if size == 4 else DOUBLE
        signature = ir.FunctionType(ir.VoidType(), [I64])
        self.function = ir.Function(module, signature, name)
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.words = [self._word(i) for i in range(self.count)]

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


class WindowRows(Block):
    """Emits the code for a window."""

    def __init__(self, module, name, size, high, wide, step_y, step_x, apart_y, apart_x):
        super().__init__(module, name, size)
        self.high, self.wide = high, wide
        self.steps, self.apart = (step_y, step_x), (apart_y, apart_x)
        self.v = self.vectors
        self.lanes = ir.VectorType(ir.IntType(8 * size), self.v.count)
        self.beside = self.v.zero  # what lanes beside the image count as
        self.groups, self.taps = groups_of(wide, step_x, apart_x, self.v.count)

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
        b, rows = self.b, self.words[ROWS]
        long = b.icmp_signed(">", self.words[COLUMNS], I64(LONG))
        size = b.select(long, I64(BLOCK_OF_LONG), I64(BLOCK))
        blocks = b.udiv(b.add(rows, b.sub(size, I64(1))), size)
        with counted_loop(b, blocks) as block:
            first = b.mul(block, size)
            count = self.least(b.sub(rows, first), size)

            def some(column, mask, start, masks):
                shifts = [b.add(start, I64(base)) for base, _ in self.groups]
                self.each_row(first, count, column, mask, shifts, masks, (begin, tap, end))

            self.each_column(some, overlap)

    def each_block(self, results, block, overlap):
        """``results(first, column, mask, start, masks)`` for `block` rows at a time from `first`
        on, the last of which may begin in those before; `start` is the first column that is
        read."""
        b, rows, size = self.b, self.words[ROWS], I64(block)
        blocks = b.udiv(b.add(rows, I64(block - 1)), size)
        with counted_loop(b, blocks) as block:
            first = self.least(b.mul(block, size), b.sub(rows, size))
            self.each_column(functools.partial(results, first), overlap)

    def each_column(self, results, overlap):
        """``results(column, mask, start, masks)`` for all columns of vectors."""
        b, lanes = self.b, self.v.count
        vectors = b.udiv(b.add(self.words[COLUMNS], I64(lanes - 1)), I64(lanes))
        last = self.at_least_0(b.sub(self.words[COLUMNS], I64(lanes)))
        with counted_loop(b, vectors) as index:
            column = b.mul(index, I64(lanes))
            if overlap:
                column = self.least(column, last)
            start = b.sub(b.mul(column, I64(self.steps[1])), self.words[PX])
            reach = (self.wide - 1) * self.apart[1] + (lanes - 1) * self.steps[1] + 1
            whole = b.and_(
                b.icmp_signed("<=", b.add(column, I64(lanes)), self.words[COLUMNS]),
                b.and_(b.icmp_signed(">=", start, I64(0)),
                       b.icmp_signed("<=", b.add(start, I64(reach)), self.words[WIDTH])),
            )  # fmt: skip
            with b.if_else(whole) as (inner, edge):
                with inner:
                    masks = [[None] * self.steps[1]] * len(self.groups)
                    results(column, None, start, masks)
                with edge:
                    mask, masks = self.edge(column, start)
                    results(column, mask, start, masks)

    def least(self, x, y):
        """The smaller of two numbers."""
        return self.b.select(self.b.icmp_signed("<", x, y), x, y)

    def at_least_0(self, x):
        """The number, or 0 where it is negative."""
        return self.b.select(self.b.icmp_signed(">", x, I64(0)), x, I64(0))

    def edge(self, column, start):
        """What of a vector of outputs is there, and what its taps read."""
        b = self.b
        present = b.sub(self.words[COLUMNS], column)
        # what outputs read that are not there is not read either: it may be NaN
        wanted = b.mul(present, I64(self.steps[1]))
        masks = [
            [b.and_(self.below(wanted, offset), self.inside(b.add(start, I64(base + offset))))
             for offset in offsets]
            for base, offsets in self.groups
        ]  # fmt: skip
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
        """What the taps of a row of the window meet in a row of the image."""
        b, vectors, beside = self.b, self.vectors, self.beside
        line = b.mul(row, self.words[WIDTH])
        read: dict = {}
        for group, phase in self.taps:
            offsets = self.groups[group][1]
            if group not in read:
                place = b.add(line, shifts[group])
                read[group] = [
                    vectors.load(b, self.address(SOURCE, b.add(place, I64(offset))), mask, beside)
                    for offset, mask in zip(offsets, masks[group], strict=True)
                ]
            yield self.strided(read[group], offsets, phase)

    def address(self, word, index):
        """The address of an element."""
        return self.b.add(self.words[word], self.b.mul(index, I64(self.vectors.size)))

    def strided(self, found, offsets, phase):
        """Every so many-th value of as many vectors with these offsets, from value `phase` on."""
        lanes, step = self.v.count, len(found)
        if step == 1:
            return found[0]
        values = [step * i + phase for i in range(lanes)]
        sources = [min(value // lanes, step - 1) for value in values]
        taken = found[0]
        for v in range(1, step):
            order = [
                lanes + value - offsets[v] if source == v else value if v == 1 else i
                for i, (value, source) in enumerate(zip(values, sources, strict=True))
            ]
            order = [
                place if source <= v else 0 for place, source in zip(order, sources, strict=True)
            ]
            kind = ir.VectorType(I32, lanes)
            taken = self.b.shuffle_vector(taken, found[v], ir.Constant(kind, order))
        return taken

    def out_place(self, column, row):
        """The address of an output."""
        b = self.b
        return self.address(OUT, b.add(b.mul(row, self.words[COLUMNS]), column))

    def end_of_whole(self):
        """The last address at which a vector of outputs ends before they do."""
        b, v = self.b, self.v
        outputs = b.mul(self.words[ROWS], self.words[COLUMNS])
        return b.add(self.words[OUT], b.mul(b.sub(outputs, I64(v.count)), I64(v.size)))

    def put(self, place, mask, end_of_whole, store):
        """``store(mask)`` for the outputs at an address."""
        b = self.b
        if mask is None or VL == 16:  # AVX-512 stores parts as fast
            store(mask)
            return
        # A whole vector where it ends before the plane does: what it writes behind its row is
        # written anew later on. AVX2 may take ten times as long to store a part.
        with b.if_else(b.icmp_unsigned("<=", place, end_of_whole)) as (whole, part):
            with whole:
                store(None)
            with part:
                store(mask)


def groups_of(wide, step, apart, lanes):
    """How a row of taps is read, with a stride: neighbouring taps take turns in the values of the
    same vectors. First distance and offsets of vectors of each group; group and first value of each
    tap. The last vector begins early where its last values would not be taken."""
    phases: dict = {}
    for x in range(wide):
        phase = x * apart % step
        phases.setdefault(x * apart - phase, []).append(phase)
    groups, taps = [], []
    for base, several in phases.items():
        offsets = [lanes * v for v in range(step)]
        offsets[-1] -= step - 1 - max(several)
        groups.append((base, offsets))
        taps += [(len(groups) - 1, phase) for phase in several]
    return groups, taps
