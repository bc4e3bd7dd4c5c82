"""Register-tiled float32 microkernel: the inner loop behind GEMM, convolution and Winograd.

A *tile kernel* ``void tile(int64 *p)`` computes a tile of R rows x PANEL columns::

    C[r, :] = start + sum over segments s, k < DEPTH of
              A[a_offset[s] + r * A_ROW + k * A_K] * B[b_offset[s] + k * PANEL, :]

where start is 0, C itself, a bias row or a bias for each row. An elementwise kernel can follow
(:mod:`rushlight.kernels.gemm.epilogue_emitters`), on the finished sums before they are stored.
Registers take SUM_DEPTH products (or as many as a table names), then go to the stack and begin
anew: in one long sum rounding errors would grow with the root of its length (4 times PyTorch's at
4096). Strides and offsets are in bytes. One segment is a matrix product; one segment per kernel tap
is a convolution; segments over image rows are a weight gradient. B is packed in panels of PANEL
columns.

Modes: "rows" (A_K is 4 bytes, A_ROW free: NN and NT products, convolution, Winograd), "columns"
(A_ROW is 4 bytes, A_K free: TN products, weight gradients), "groups" ("rows" for two groups of
GROUP rows, GROUP_STRIDE apart: two rows of a 7-wide image) and "offsets" ("rows", but row k of B
is B_OFFSETS[k] bytes behind B: planes of images as they are; float64, too, with half as many
columns). Each number of rows is compiled
when a shape first needs it.

Sources of B: "panels", as above; "rows", which are where they are, B_ROW bytes apart, and of which
a tile of few rows takes several panels side by side; "ends", which are such rows, of which no more
than COLUMNS may be read; "packing": such rows, which are written into the panel at PACKED, too, for
the tiles that follow.

The tile reaches the peak of the multiply-add units (measured 117 of
117 GFLOP/s per core, 14 x 32 with 16 lanes), which OpenBLAS does not.
"""

from __future__ import annotations

import itertools

from rushlight.kernels.gemm.epilogue_emitters import emit_epilogue
from rushlight.machine import llvm_passes, np
from rushlight.machine.language.element_vectors import DOUBLE, SINGLE, VL
from rushlight.machine.language.functions import (
    Emitted,
    array,
    call_address,
    function,
    i64,
    shared_function,
)
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir
from rushlight.machine.machine_code import load_module
from rushlight.machine.processors import ways_of_first_cache

I8, I32, I64, F32 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.FloatType()
NV = 2  # vectors per tile row
MAX_ROWS = {16: 14, 8: 6, 4: 6}[VL]  # accumulators + B + one broadcast fill the register file
PANEL = NV * VL  # columns of a packed B panel
GROUP = 7  # rows of one group in mode "groups"
SUM_DEPTH = 192  # products that are summed in registers
CROWDED = 4096  # see `most_rows`
UNROLL = 4
# Rows of an unpacked B by which it is asked for in advance, and into which cache: where rows of A
# are few, and where a step takes longer.
B_AHEAD, B_FAR_AHEAD = (8, 1), (48, 2)
LINE_BYTES = 64  # of a cache
AHEAD = 8  # steps of k by which a transposed A is asked for in advance: 12 and 16 win no more
VECTOR = ir.VectorType(F32, VL)
MASK = ir.VectorType(ir.IntType(1), VL)
LANES = ir.VectorType(I64, VL)
ZERO = ir.Constant(VECTOR, [0.0] * VL)
FALSE, TRUE = (ir.Constant(ir.IntType(1), value) for value in (0, 1))

# Words of the parameter block of a tile kernel.
A, A_ROW, A_K, B, C, C_ROW, SEGMENTS, SEGMENT_COUNT, DEPTH, START = range(10)
BIAS, COLUMNS, A_GROUP, C_GROUP, B_OFFSETS, LATER, EPILOGUE, PANEL_BYTES = range(10, 18)
B_ROW, PACKED = 18, 19
TILE_WORDS = 20
START_ZERO, START_C, START_BIAS, START_ROWS = range(4)
FINISHES = 4  # added to one of these: the epilogue follows
FINISHES_FROM = 16  # products of a sum from which that is quicker than a pass over C
FINISHED_VECTORS = 4  # of which, and of their multiples, elementwise kernels make whole blocks


# ---- vector operations ---------------------------------------------------------------------------


def _pointer(builder, address, kind=I64):
    return builder.inttoptr(address, kind.as_pointer())


def declared(builder, result, arguments, name):
    """A function of the module, declared at first use."""
    found = builder.module.globals.get(name)
    if found is None:
        found = ir.Function(builder.module, ir.FunctionType(result, arguments), name)
    return found


def prefetch(builder, address, locality=3):
    """Ask for the line of an address, which need not be memory."""
    where = _pointer(builder, address, I8)
    f = declared(builder, ir.VoidType(), [where.type] + [I32] * 3, "llvm.prefetch.p0")
    builder.call(f, [where, I32(0), I32(locality), I32(1)])


fma, load_vector, store_vector = SINGLE.fma, SINGLE.load, SINGLE.store
lanes_below = SINGLE.below


def splat(builder, value, kind=VECTOR):
    """A vector with the same value in every lane."""
    undefined = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(undefined, value, I32(0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(I32, VL), [0] * VL))


# ---- the microkernel -----------------------------------------------------------------------------


flat = itertools.chain.from_iterable


class _TileEmitter:
    """Emits one function ``void(int64 *p)`` for a fixed number of rows."""

    def __init__(self, module, name, rows, mode, vectors, sum_depth, kind, asks, panels, source):
        self.kind, self.size, self.asks = kind, kind.size, asks
        self.panels, vectors = panels, panels * vectors
        self.rows, self.mode, self.vectors, self.sum_depth = rows, mode, vectors, sum_depth
        self.source = source
        signature = ir.FunctionType(ir.VoidType(), [I64])
        self.function = ir.Function(module, signature, name)
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        # (group, row within the group) of every tile row
        split = mode == "groups"
        self.position = [(r // GROUP, r % GROUP) if split else (0, r) for r in range(rows)]

    def word(self, index):
        address = self.b.add(self.function.args[0], I64(8 * index))
        return self.b.load(_pointer(self.b, address))

    def slot(self, value):
        with self.b.goto_entry_block():
            slot = self.b.alloca(value.type)
        self.b.store(value, slot)
        return slot

    def emit(self):
        b = self.b
        # Accumulators are stack slots here; LLVM turns them into registers.
        row = range(self.vectors)
        self.accumulators = [[b.alloca(self.kind.kind) for _ in row] for _ in range(self.rows)]
        self.masks = [
            self.kind.below(b, self.word(COLUMNS), v * self.kind.count) for v in range(self.vectors)
        ]
        whole = b.icmp_signed(">=", self.word(COLUMNS), I64(self.vectors * self.kind.count))
        self.summed = b.alloca(I64)  # products in the accumulators
        # An address as a number keeps LLVM from looking for registers for these, too.
        self.sums = b.ptrtoint(b.alloca(self.kind.kind, self.finished()), I64)
        self.is_begun = b.alloca(ir.IntType(1))  # whether they have a part of the sums
        b.store(I64(0), self.summed)
        self.start()
        with counted_loop(b, self.word(SEGMENT_COUNT)) as segment:
            entry = b.add(self.word(SEGMENTS), b.mul(segment, I64(16)))
            a_offset = b.load(_pointer(b, entry))
            b_offset = b.load(_pointer(b, b.add(entry, I64(8))))
            self.cursors(b.add(self.word(A), a_offset), b.add(self.word(B), b_offset))
            self.blocks()
        with b.if_then(b.load(self.is_begun)):
            self.add_sums()
        with b.if_then(b.icmp_signed("==", self.begins(), I64(START_C))):
            self.add_c()
        with b.if_then(b.icmp_signed("!=", b.and_(self.word(START), I64(FINISHES)), I64(0))):
            self.finish()
        with b.if_else(whole) as (then, otherwise):
            with then:
                self.store([None] * self.vectors)
            with otherwise:
                self.store(self.masks)
        b.ret_void()

    def blocks(self):
        """The products of a segment; full accumulators go to memory before the next ones."""
        b, depth, most = self.b, self.word(DEPTH), I64(self.sum_depth)
        count = b.udiv(b.add(depth, I64(self.sum_depth - 1)), most)
        with counted_loop(b, count) as block:
            with b.if_then(b.icmp_signed(">=", b.load(self.summed), most)):
                with b.if_then(b.load(self.is_begun)):
                    self.add_sums()
                for i, part in enumerate(flat(self.accumulators)):
                    self.kind.store(b, b.load(part), b.add(self.sums, I64(i * VL * 4)))
                self.fill(lambda r, v: self.kind.zero)
                b.store(TRUE, self.is_begun)
                b.store(I64(0), self.summed)
            left = b.sub(depth, b.mul(block, most))
            steps = b.select(b.icmp_signed("<", left, most), left, most)
            self.products(steps)
            b.store(b.add(b.load(self.summed), steps), self.summed)

    # -- accumulators before and after the k loop

    def c_address(self, r):
        b, (group, row) = self.b, self.position[r]
        address = b.add(self.word(C), b.mul(self.word(C_ROW), I64(row)))
        if self.mode != "groups":
            return address
        return b.add(address, b.mul(self.word(C_GROUP), I64(group)))

    def begins(self):
        """With what the sums begin: one of START_ZERO and the like."""
        return self.b.and_(self.word(START), I64(FINISHES - 1))

    def start(self):
        b, kind = self.b, self.begins()
        b.store(FALSE, self.is_begun)
        with b.if_else(b.icmp_signed("==", kind, I64(START_BIAS))) as (bias, other):
            with bias:
                row = [
                    self.kind.load(b, b.add(self.word(BIAS), I64(v * VL * 4)), self.masks[v])
                    for v in range(self.vectors)
                ]
                self.fill(lambda r, v: row[v])
            with other, b.if_else(b.icmp_signed("==", kind, I64(START_ROWS))) as (rows, zero):
                with rows:
                    found = [self.row_bias(r) for r in range(self.rows)]
                    self.fill(lambda r, v: found[r])
                with zero:
                    self.fill(lambda r, v: self.kind.zero)

    def row_bias(self, r):
        b = self.b
        return self.kind.scalar(b, b.add(self.word(BIAS), I64(self.size * r)))

    def fill(self, value):
        for r in range(self.rows):
            for v in range(self.vectors):
                self.b.store(value(r, v), self.accumulators[r][v])

    def add_sums(self):
        b = self.b
        for i, part in enumerate(flat(self.accumulators)):
            total = self.kind.load(b, b.add(self.sums, I64(i * VL * 4)))
            b.store(b.fadd(total, b.load(part)), part)

    def add_c(self):
        b = self.b
        for r in range(self.rows):
            address = self.c_address(r)
            for v in range(self.vectors):
                part = self.kind.load(b, b.add(address, I64(v * VL * 4)), self.masks[v])
                slot = self.accumulators[r][v]
                b.store(b.fadd(part, b.load(slot)), slot)

    def finished(self):
        """Vectors of a tile, and as many more as make whole blocks of an epilogue."""
        return -(-self.rows * self.vectors // FINISHED_VECTORS) * FINISHED_VECTORS

    def finish(self):
        """The epilogue on all sums at once."""
        b, step = self.b, VL * 4
        for i, part in enumerate(flat(self.accumulators)):
            self.kind.store(b, b.load(part), b.add(self.sums, I64(i * step)))
        emit_epilogue(b, self.word(EPILOGUE), self.sums, I64(self.finished() * self.kind.count))
        for i, part in enumerate(flat(self.accumulators)):
            b.store(self.kind.load(b, b.add(self.sums, I64(i * step))), part)

    def store(self, masks):
        b = self.b
        for r in range(self.rows):
            address = self.c_address(r)
            for v in range(self.vectors):
                value, step = b.load(self.accumulators[r][v]), self.kind.count * self.kind.put_size
                self.kind.put(b, value, b.add(address, I64(v * step)), masks[v])

    # -- the k loop

    def cursors(self, a_address, b_address):
        b = self.b
        self.b_cursor = self.slot(b_address)
        if self.asks:
            self.later = self.slot(self.word(LATER))
        if self.source != "panels":
            self.cursors_of_rows()
        elif self.panels > 1:
            step = self.word(PANEL_BYTES)
            self.panel_offsets = [b.mul(step, I64(panel)) for panel in range(self.panels)]
        if self.mode == "offsets":
            self.b_start, self.b_cursor = b_address, self.slot(self.word(B_OFFSETS))
        if self.mode == "columns":
            self.bases = [self.slot(a_address)]
            self.k_stride = self.word(A_K)
            self.ahead = b.mul(self.k_stride, I64(AHEAD))
        else:
            self.bases_of_rows(a_address)

    def bases_of_rows(self, a_address):
        """One base register per three rows of A: x86 addresses base, base + s and base + 2s without
        extra arithmetic."""
        b = self.b
        self.row_stride = self.word(A_ROW)
        self.row_stride_2 = b.add(self.row_stride, self.row_stride)
        starts = sorted({(g, row - row % 3) for g, row in self.position})
        self.base_index = {start: i for i, start in enumerate(starts)}
        self.bases = []
        for group, row in starts:
            offset = b.mul(self.row_stride, I64(row))
            if group:
                offset = b.add(offset, b.mul(self.word(A_GROUP), I64(group)))
            self.bases.append(self.slot(b.add(a_address, offset)))

    def cursors_of_rows(self):
        """What rows of B are read by where they are."""
        self.b_stride = self.word(B_ROW)
        ahead, self.b_cache = B_AHEAD if self.panels > 1 else B_FAR_AHEAD
        self.b_ahead = self.b.mul(self.b_stride, I64(ahead))
        self.packed = self.slot(self.word(PACKED))

    def products(self, depth):
        b = self.b
        with counted_loop(b, b.udiv(depth, I64(UNROLL))):
            self.steps(UNROLL)
        with counted_loop(b, b.urem(depth, I64(UNROLL))):
            self.steps(1)

    def a_address(self, bases, r, u):
        b, (group, row) = self.b, self.position[r]
        if self.mode == "columns":
            return b.add(bases[0], I64(self.size * r))
        address = bases[self.base_index[group, row - row % 3]]
        if row % 3:
            address = b.add(address, self.row_stride if row % 3 == 1 else self.row_stride_2)
        return b.add(address, I64(self.size * u)) if u else address

    def unrelated(self, address):
        """The address, not known to move evenly: LLVM would keep one per row, on the stack."""
        kind = ir.FunctionType(I64, [I64])
        return self.b.asm(kind, "", "=r,0", [address], False)

    def prefetch(self, address):
        """Ask for the values of a later k: no hardware foresees steps of whole rows."""
        for offset in (0, self.size * (self.rows - 1)):
            prefetch(self.b, self.b.add(address, I64(offset)))

    def b_row(self, cursor, u):
        """Address of a row of B: in a packed panel, or at an offset from a table."""
        b = self.b
        if self.mode == "offsets":
            return b.add(self.b_start, b.load(_pointer(b, b.add(cursor, I64(8 * u)))))
        if self.source != "panels":
            return b.add(cursor, b.mul(self.b_stride, I64(u))) if u else cursor
        return b.add(cursor, I64(4 * PANEL * u))

    def vectors_of_rows(self, cursor, u):
        """The vectors of a row of B where it is. Those of a later row are asked for: short pieces
        of rows tell hardware nothing of them."""
        b, masks = self.b, self.masks if self.source == "ends" else [None] * self.vectors
        row = self.b_row(cursor, u)
        later, packed = b.add(row, self.b_ahead), b.load(self.packed)
        for v in range(self.vectors):
            offset = I64(v * VL * 4)
            if v * VL * 4 % LINE_BYTES == 0:
                prefetch(b, b.add(later, offset), 4 - self.b_cache)
            value = self.kind.load(b, b.add(row, offset), masks[v])
            if self.source == "packing":
                self.kind.store(b, value, b.add(packed, I64((u * PANEL + v * VL) * 4)))
            yield value

    def b_vectors(self, cursor, u):
        """The vectors of a row of B, of one panel or of several."""
        if self.source != "panels":
            yield from self.vectors_of_rows(cursor, u)
            return
        b, each = self.b, self.vectors // self.panels
        for panel in range(self.panels):
            row = self.b_row(cursor, u)
            if panel:
                row = b.add(row, self.panel_offsets[panel])
            for v in range(each):
                yield self.kind.load(b, b.add(row, I64(v * VL * 4)))

    def steps(self, count):
        b = self.b
        bases = [self.unrelated(b.load(slot)) for slot in self.bases]
        cursor = b.load(self.b_cursor)
        if self.asks:
            later = b.load(self.later)
            for u in range(count):
                prefetch(b, b.add(later, I64(64 * u)), 4 - self.asks)
            b.store(b.add(later, I64(64 * count)), self.later)
        for u in range(count):
            row_of_b = [*self.b_vectors(cursor, u)]
            for r in range(self.rows):
                broadcast = self.kind.scalar(b, self.a_address(bases, r, u))
                for v in range(self.vectors):
                    slot = self.accumulators[r][v]
                    b.store(self.kind.fma(b, broadcast, row_of_b[v], b.load(slot)), slot)
            if self.mode == "columns":
                self.prefetch(b.add(bases[0], self.ahead))
                bases = [b.add(bases[0], self.k_stride)]
        if self.mode != "columns":
            bases = [b.add(base, I64(self.size * count)) for base in bases]
        for slot, base in zip(self.bases, bases, strict=True):
            b.store(base, slot)
        step = I64(8 if self.mode == "offsets" else 4 * PANEL)
        if self.source == "packing":
            packed = b.add(b.load(self.packed), b.mul(step, I64(count)))
            b.store(packed, self.packed)
        if self.source != "panels":
            step = self.b_stride
        b.store(b.add(cursor, b.mul(step, I64(count))), self.b_cursor)


def _tile_address(
    mode, rows, vectors=NV, sum_depth=SUM_DEPTH, kind=SINGLE, asks=0, panels=1, source="panels"
):  # fmt: skip
    symbol = f"rl_tile_{mode}_{rows}_{vectors}_{VL}_{sum_depth}_{kind.label}"
    if asks:
        symbol += f"_asks_{asks}"
    if panels > 1:
        symbol += f"_{panels}"
    if source != "panels":
        symbol += f"_{source}"

    def build():
        module = ir.Module(name=symbol)
        _TileEmitter(
            module, symbol, rows, mode, vectors, sum_depth, kind, asks, panels, source
        ).emit()
        return module

    return load_module(symbol, build, llvm_passes.simplify)  # its loops are of vectors already


class TileTable:
    """Addresses of the tile kernels of one mode by number of rows, compiled as shapes need them.

    A table of one vector computes the first VL columns of a panel only: for few output channels.
    One that `asks` brings a line into the first or second cache (1 or 2) at each step of k, the
    first line from LATER.
    Kernels of `several` panels, PANEL_BYTES apart, are for at most FEW rows, or where the `source`
    of B are rows for as many as registers take.
    """

    def __init__(self, mode, vectors=NV, sum_depth=SUM_DEPTH, kind=SINGLE, asks=0,
                 several=False, source="panels"):  # fmt: skip
        self.tile = mode, vectors, sum_depth, kind, asks
        self.several, self.source = several, source
        self.words = np.zeros(MAX_ROWS + 1, np.int64)
        self.address = self.words.ctypes.data

    def need(self, *totals, most=MAX_ROWS):
        """Prepare every tile size that covering ``totals`` rows by parts of at most `most` (see
        :func:`split`) uses."""
        for total in totals:
            parts = max(1, -(-total // most))
            for rows in {total // parts, -(-total // parts)}:
                if rows > 0 and self.words[rows] == 0:
                    mode, *more = self.tile
                    panels = panels_beside(rows, self.source) if self.several else 1
                    self.words[rows] = _tile_address(
                        mode, rows, *more, panels=panels, source=self.source
                    )
        return self.address


ROWS, COLUMNS_OF_A = TileTable("rows"), TileTable("columns")
NARROW_ROWS, NARROW_COLUMNS_OF_A = TileTable("rows", 1), TileTable("columns", 1)
# A product waits for the one before in its sum: tiles of at most FEW rows compute as many panels
# side by side as give all registers but those of B a sum, BESIDE for one row.
FEW, BESIDE = 2, 4
ROWS_OF_SEVERAL = TileTable("rows", several=True)


def panels_beside(rows, source="rows"):
    """Panels that a tile of so many rows computes at once, of several."""
    if source == "panels":
        return BESIDE // rows
    registers = 31 if VL == 16 else 15  # one takes what is broadcast
    return max(1, min(BESIDE, registers // (rows + 1) // NV))


def most_rows(a_row):
    """Rows of a tile whose rows of A are so many bytes apart: those that are multiples of 4096
    apart share one set of the first cache."""
    return min(MAX_ROWS, ways_of_first_cache()) if a_row % CROWDED == 0 else MAX_ROWS


def need_both(wide, narrow, columns, *rows, most=MAX_ROWS):
    """Prepare tables for ``columns`` output columns: (address for panels, address for the last).

    The last panel takes the narrow table where its columns fit into one vector.
    """
    last = (columns - 1) % PANEL + 1
    whole = wide.need(*rows, most=most) if columns > VL else wide.address
    return whole, narrow.need(*rows, most=most) if last <= VL else whole


GROUPS_FIT = MAX_ROWS >= 2 * GROUP


def group_tile():
    """Address of the tile kernel for two groups of GROUP rows; 0 where registers do not suffice."""
    return _tile_address("groups", 2 * GROUP) if GROUPS_FIT else 0


@function
def call_tile(table, rows, p):
    """Run the tile kernel for a number of rows."""
    call_address(array(i64, table)[rows], p)


@function
def split(total, limit, index):
    """First item and size of part ``index`` of the fewest nearly equal parts below ``limit``."""
    parts = (total + limit - 1) // limit
    first = total * index // parts
    return first, total * (index + 1) // parts - first


# ---- moving panels -------------------------------------------------------------------------------


def _emit_copy_row(builder, values, edge):
    for v in range(NV):
        mask = lanes_below(builder, values[2], v * VL) if edge else None
        value = load_vector(builder, builder.add(values[0], I64(v * VL * 4)), mask)
        store_vector(builder, value, builder.add(values[1], I64(v * VL * 4)))


_copy_row = Emitted("copy_row", None, (i64,) * 2, lambda b, v: _emit_copy_row(b, v, False))
_copy_row_edge = Emitted("copy_row_edge", None, (i64,) * 3, lambda b, v: _emit_copy_row(b, v, True))


@shared_function
def pack_rows(source, source_stride, target, rows, columns):
    """Copy ``rows`` rows of up to PANEL columns into a panel, zeros beyond ``columns``."""
    if columns >= PANEL:
        for k in range(rows):
            _copy_row(source + k * source_stride, target + k * PANEL * 4)
    else:
        for k in range(rows):
            _copy_row_edge(source + k * source_stride, target + k * PANEL * 4, columns)


def _emit_gather_rows(builder, values):
    """target[k, :] = the first ``floats`` values of source[k, :] for ``count`` rows k, of which a
    tile of A has up to MAX_ROWS, of float32 or float64; up to a vector behind them is written."""
    source, source_stride, target, pitch, count, floats, wide = values
    vectors = [-(-MAX_ROWS * size // (4 * VL)) for size in (SINGLE.size, DOUBLE.size)]
    masks = [lanes_below(builder, floats, v * VL) for v in range(vectors[1])]

    later = builder.mul(count, source_stride)

    def copied(index, v):
        start = builder.add(source, builder.mul(index, source_stride))
        if v == 0:
            prefetch(builder, builder.add(start, later))
        end = builder.add(target, builder.mul(index, pitch))
        value = load_vector(builder, builder.add(start, I64(v * VL * 4)), masks[v])
        store_vector(builder, value, builder.add(end, I64(v * VL * 4)))

    with builder.if_else(builder.icmp_signed("!=", wide, I64(0))) as (doubles, singles):
        for branch, number in ((doubles, vectors[1]), (singles, vectors[0])):
            with branch, counted_loop(builder, count) as index:
                for v in range(number):
                    copied(index, v)


# (source, its stride, target, its stride, rows, values of a row as float32, is float64)
gather_rows = Emitted("gather_rows", None, (i64,) * 7, _emit_gather_rows)


def _emit_sum_rows(builder, values):
    target, source, stride, count = values
    sums = []
    for _ in range(NV):
        slot = builder.alloca(VECTOR)
        builder.store(ZERO, slot)
        sums.append(slot)
    with counted_loop(builder, count) as index:
        row = builder.add(source, builder.mul(index, stride))
        for v in range(NV):
            part = load_vector(builder, builder.add(row, I64(v * VL * 4)))
            builder.store(builder.fadd(builder.load(sums[v]), part), sums[v])
    for v in range(NV):
        store_vector(builder, builder.load(sums[v]), builder.add(target, I64(v * VL * 4)))


# (target, source, stride, count): target = sum of ``count`` panel rows ``stride`` bytes apart
sum_rows = Emitted("sum_rows", None, (i64,) * 4, _emit_sum_rows)
