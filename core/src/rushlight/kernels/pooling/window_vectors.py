"""Maxima, sums and means of windows in vectors: code emitted for a type, width and stride.

Results are computed a vector at a time (:mod:`rushlight.kernels.convolution.window_rows`). Which
rows and planes of the image a window has is looked up in tables. Maxima come with positions where
these are asked for: beside an image everything is minus infinity, which is larger than nothing; the
first of equal values wins, and the last NaN.
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.convolution import window_rows
from rushlight.kernels.convolution.window_rows import (
    COLUMNS,
    HEIGHT,
    OUT,
    PX,
    ROWS,
    SOURCE,
    WIDTH,
    WindowRows,
    groups_of,
)
from rushlight.kernels.gemm.microkernel import I64, VL
from rushlight.kernels.pooling.compiled import (
    CODE,
    COUNTED,
    INDEX,
    OD,
    OH,
    OW,
    PADDING_W,
    STEP_D,
    STEP_H,
    TABLE_D,
    TABLE_H,
    D,
    H,
    W,
    X,
    Y,
)
from rushlight.machine.language.element_vectors import Vectors
from rushlight.machine.language.functions import (
    array,
    call_address,
    f32,
    i64,
    range_kernel,
    real,
    stack,
)
from rushlight.machine.language.values import counted_loop, stepped_loop
from rushlight.machine.llvm import ir
from rushlight.machine.machine_code import load_module

__all__ = ["rows_of_windows", "windows_address"]

# Words of the parameter block behind those of all windows: the first and the last plane of the
# windows (in pairs of numbers) and the distance of planes; the same of rows, for each row of
# results; where positions go, or divisors are.
PLANES, PLANE_STEP, TABLE, ROW_STEP, BESIDE = range(window_rows.WORDS, window_rows.WORDS + 5)
WORDS = window_rows.WORDS + 5
UNROLLED, PIECE = 16, 12  # columns of a window; of wider ones pieces, which are whole strides


class _Tabled(WindowRows):
    """Emits the code for windows of some width."""

    count = WORDS

    def __init__(self, module, name, size, wide, step, apart):
        super().__init__(module, name, size, 1, wide, 1, step, 1, apart)
        self.steps_of_lanes = [step * i for i in range(self.v.count)]
        self.pieces = wide // PIECE if wide > UNROLLED else 0

    def build(self):
        """Emit the whole function."""
        self.last_place = self.end_of_whole()
        self.each_vector(self.begin, self.take, self.store, overlap=VL < 16)
        self.b.ret_void()

    def pair(self, word, index=None):
        """Two numbers of a table."""
        b = self.b
        address = self.words[word]
        if index is not None:
            address = b.add(address, b.mul(index, I64(16)))
        where = b.inttoptr(address, I64.as_pointer())
        return b.load(where), b.load(b.gep(where, [I64(1)]))

    def each_row(self, first, count, column, mask, shifts, masks, steps):
        """A vector of results for some rows of them."""
        b, (begin, take, store) = self.b, steps
        planes, start = self.pair(PLANES), shifts[0]
        columns = self.columns_of_taps(shifts)
        with counted_loop(b, count) as index:
            row = b.add(first, index)
            top, bottom = self.pair(TABLE, row)
            begin(b.add(b.mul(planes[0], self.words[HEIGHT]), top), columns, mask)
            with stepped_loop(b, *planes, self.words[PLANE_STEP]) as plane:
                above = b.mul(plane, self.words[HEIGHT])
                with stepped_loop(b, top, bottom, self.words[ROW_STEP]) as inside:
                    line = b.add(above, inside)
                    if self.pieces:
                        self.take_in_pieces(take, line, column, mask, start)
                    else:
                        take(self.row_of_taps(line, shifts, masks), line, columns)
            store(column, mask, row)

    def columns_of_taps(self, shifts):
        """Which columns of the image the lanes of each tap are."""
        phases = [(shifts[group], phase) for group, phase in self.taps]
        return [self.columns(self.b.add(shift, I64(phase))) for shift, phase in phases]

    def take_in_pieces(self, take, line, column, mask, start):
        """Take a row of a wide window, some columns at a time."""
        b, apart, done = self.b, self.apart[1], self.pieces * PIECE
        with counted_loop(b, I64(self.pieces)) as piece:
            begin = b.add(start, b.mul(piece, I64(PIECE * apart)))
            self.take_piece(take, line, column, mask, begin, PIECE)
        if self.wide > done:
            begin = b.add(start, I64(done * apart))
            self.take_piece(take, line, column, mask, begin, self.wide - done)

    def take_piece(self, take, line, column, mask, start, wide):
        """Take so many columns from one on. From here on the taps are those of a piece: a window
        that is made of pieces has no others."""
        step = self.steps[1]
        self.groups, self.taps = groups_of(wide, step, self.apart[1], self.v.count)
        masks = [[None] * step] * len(self.groups)
        if mask is not None:
            masks = self.edge(column, start)[1]
        shifts = [self.b.add(start, I64(base)) for base, _ in self.groups]
        take(self.row_of_taps(line, shifts, masks), line, self.columns_of_taps(shifts))

    def beside_out(self, place, size):
        """The address of what belongs to an output, of elements of this size."""
        b = self.b
        index = b.sdiv(b.sub(place, self.words[OUT]), I64(self.v.size))
        return b.add(self.words[BESIDE], b.mul(index, I64(size)))

    def columns(self, shift):
        """Which columns of the image the lanes meet."""
        return self.b.add(self.splat(shift), ir.Constant(self.lanes, self.steps_of_lanes))


class _Maxima(_Tabled):
    """The largest values, and where they are if positions are asked for."""

    def __init__(self, module, name, *geometry, places):
        super().__init__(module, name, *geometry)
        self.places = places
        self.beside = ir.Constant(self.v.kind, [-math.inf] * self.v.count)
        self.best, self.at = self.b.alloca(self.v.kind), self.b.alloca(self.lanes)

    def begin(self, line, columns, mask):
        """Nothing was seen yet: the position is where the window begins."""
        self.b.store(self.beside, self.best)
        if self.places:
            self.b.store(self.b.add(self.line(line), self.leftmost(columns, mask)), self.at)

    def leftmost(self, columns, mask):
        """The first column of each window."""
        found = columns[0]
        if mask is None:
            return found
        if self.apart[1] == 1:
            zero = ir.Constant(self.lanes, [0] * self.v.count)
            return self.b.select(self.b.icmp_signed(">", found, zero), found, zero)
        for each in reversed(columns):
            is_inside = self.b.icmp_unsigned("<", each, self.splat(self.words[WIDTH]))
            found = self.b.select(is_inside, each, found)
        return found

    def line(self, row):
        """The position of a row's first element in every lane."""
        return self.splat(self.b.mul(row, self.words[WIDTH]))

    def take(self, values, line, columns):
        """Keep what is larger in a row of the windows."""
        b, first = self.b, self.line(line)
        for value, column in zip(values, columns, strict=True):
            best = b.load(self.best)
            larger = b.fcmp_ordered(">", value, best)
            unlike = b.fcmp_unordered("uno", value, value)
            b.store(b.select(unlike, value, b.select(larger, value, best)), self.best)
            if self.places:
                at = b.select(b.or_(larger, unlike), b.add(first, column), b.load(self.at))
                b.store(at, self.at)

    def store(self, column, mask, row):
        """Store a vector of maxima."""
        b, v = self.b, self.v
        place, best, at = self.out_place(column, row), b.load(self.best), b.load(self.at)
        whole = Vectors(I64, "i64", 8, v.count)

        def put(lanes):
            v.store(b, best, place, lanes)
            if self.places:
                found = at if v.size == 8 else b.sext(at, whole.kind)
                whole.store(b, found, self.beside_out(place, 8), lanes)

        self.put(place, mask, self.last_place, put)


class _Sums(_Tabled):
    """Sums; where these are `divided`, by numbers for each result of a plane."""

    def __init__(self, module, name, *geometry, divided):
        super().__init__(module, name, *geometry)
        self.divided = divided
        self.total = self.b.alloca(self.v.kind)

    def begin(self, line, columns, mask):
        """Begin at zero."""
        self.b.store(self.v.zero, self.total)

    def take(self, values, line, columns):
        """Add a row of the windows."""
        b = self.b
        for value in values:
            b.store(b.fadd(b.load(self.total), value), self.total)

    def store(self, column, mask, row):
        """Store a vector of sums."""
        b, v = self.b, self.v
        place, found = self.out_place(column, row), b.load(self.total)
        if self.divided:
            ones = ir.Constant(v.kind, [1.0] * v.count)
            found = b.fdiv(found, v.load(b, self.beside_out(place, v.size), mask, ones))
        self.put(place, mask, self.last_place, lambda lanes: v.store(b, found, place, lanes))


_KINDS = {
    "maxima": functools.partial(_Maxima, places=False),
    "positions": functools.partial(_Maxima, places=True),
    "means": functools.partial(_Sums, divided=True),
    "sums": functools.partial(_Sums, divided=False),
}


@functools.cache
def windows_address(kind, size, wide, step, apart):
    """Address of the code for "maxima", "positions" (of maxima, with these), "sums" or "means".

    Elements have so many bytes. Windows have `wide` columns, `apart` from each other, and are
    `step` from each other.
    """
    symbol = f"rl_pooled_{kind}_{size}_{wide}_{step}_{apart}_{VL}"

    def build():
        module = ir.Module(name=symbol)
        _KINDS[kind](module, symbol, size, wide, step, apart).build()
        return module

    return load_module(symbol, build)


@range_kernel
def rows_of_windows(args, lo, hi, tid):
    """Results by the code at CODE. Items are rows of them."""
    g, block, size = array(i64, args), stack(WORDS), 4 if real is f32 else 8
    p, oh, ow = array(i64, block), g[OH], g[OW]
    p[HEIGHT], p[WIDTH] = g[H], g[W]
    p[PX], p[COLUMNS] = g[PADDING_W], ow
    p[PLANE_STEP], p[ROW_STEP] = g[STEP_D], g[STEP_H]
    row = lo
    while row < hi:
        rest, b = row // oh, row % oh
        plane, a = rest // g[OD], rest % g[OD]
        p[SOURCE] = g[X] + size * plane * g[D] * g[H] * g[W]
        p[OUT], p[BESIDE] = g[Y] + size * row * ow, g[INDEX] + 8 * row * ow
        if g[COUNTED] != 0:
            p[BESIDE] = g[COUNTED] + size * (a * oh + b) * ow
        p[PLANES], p[TABLE] = g[TABLE_D] + 16 * a, g[TABLE_H] + 16 * b
        p[ROWS] = min(hi - row, oh - b)
        call_address(g[CODE], block)
        row += p[ROWS]
