"""Matrix units (Intel AMX): float32 products out of bfloat16 tiles, as pieces of LLVM IR.

A tile register holds 16 rows of 64 bytes. One instruction multiplies 16 x 32 by 32 x 16 bfloat16
values and adds into 16 x 16 float32 values: 16 times the multiply-adds of a float32 vector unit.
A float32 value is the exact sum of three bfloat16 values (8 + 8 + 8 bits): ``high + middle + low``.
Of the nine products of two such sums the six largest give float32 accuracy; the three left out are
below 2**-24 of the product, half of a unit in the last place. (The same splitting in other formats:
Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
Higher-Precision Computations", ARITH 2019.)

Packed operands are sequences of tiles of 1 KB. A block is 32 rows of A (or 32 columns of B) times
32 steps of k: for every plane (high, middle, low) two tiles side by side. In a tile of A a row
holds 32 steps of k; in a tile of B a row holds, for each column, two steps of k. Steps i and 16 + i
of a block make a pair in both: joining them takes a shift, neighbours would take permutations.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys

from rushlight.kernels.gemm.microkernel import VL, lanes_below, load_vector, prefetch
from rushlight.kernels.gemm.transposes import interleave
from rushlight.machine.language.element_vectors import alignment_is_argument
from rushlight.machine.language.functions import Chosen, Emitted, Parameter, i64
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir
from rushlight.machine.processors import processor

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
LANES = 16
FLOATS, WORDS = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(I32, LANES)
TILE = 1024  # bytes of a tile
SIDE = 32  # rows (of A) or columns (of B) of a block, and its steps of k

# Orders in which planes meet: (plane of A, plane of B); neighbours share an operand. Small products
# come first.
PATHS = {
    0: ((0, 0),),
    1: ((0, 0),),
    2: ((1, 0), (0, 0), (0, 1)),
    3: ((2, 0), (1, 0), (1, 1), (0, 1), (0, 2), (0, 0)),
}


# Planes of the operands of a kernel; 0: they are bfloat16 already.
planes = Parameter("planes")


@functools.cache
def available():
    """Whether this processor has the units and the operating system lets this process use them.

    ``RUSHLIGHT_MATRIX_UNITS=0`` turns them off.
    """
    if os.environ.get("RUSHLIGHT_MATRIX_UNITS", "1") == "0":
        return False
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    if VL != LANES or not processor().has("avx512f", "avx512bw", "amx-tile", "amx-bf16"):
        return False
    return "amx-tile" in processor().emulated or _permitted()


def _permitted():
    """Ask Linux for the tile registers: 158 is arch_prctl, 0x1023 its permission request."""
    return ctypes.CDLL(None, use_errno=True).syscall(158, 0x1023, 18) == 0


# ---- instructions --------------------------------------------------------------------------------


def _call(builder, name, *arguments):
    kinds = [argument.type for argument in arguments]
    found = builder.module.globals.get(name)
    if found is None:
        found = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), kinds), name)
    builder.call(found, arguments)


def _bytes(builder, address):
    return builder.inttoptr(address, I8.as_pointer())


def _load(builder, tile, address, stride):
    _call(builder, "llvm.x86.tileloadd64", I8(tile), _bytes(builder, address), stride)


def _store(builder, tile, address, stride):
    _call(builder, "llvm.x86.tilestored64", I8(tile), _bytes(builder, address), stride)


def _emit_configure(builder, _):
    """Palette 1; eight tiles of 16 rows and 64 bytes."""
    setting = [1, 0] + [0] * 14 + [64, 0] * 8 + [0] * 16 + [16] * 8 + [0] * 8
    kind = ir.ArrayType(I8, 64)
    slot = builder.alloca(kind)
    builder.store(ir.Constant(kind, setting), slot)
    _call(builder, "llvm.x86.ldtilecfg", builder.bitcast(slot, I8.as_pointer()))


# Every kernel that uses tiles configures them first and releases them last.
configure = Emitted("tiles_configure", None, (), _emit_configure)
release = Emitted("tiles_release", None, (), lambda b, _: _call(b, "llvm.x86.tilerelease"))


# ---- accumulators: tiles 0 to 3 are the quarters of a block of C ---------------------------------


def _quarters(builder, address, stride):
    down = builder.add(address, builder.mul(stride, I64(16)))
    return [address, builder.add(address, I64(64)), down, builder.add(down, I64(64))]


def _emit_zero(builder, _):
    for tile in range(4):
        _call(builder, "llvm.x86.tilezero", I8(tile))


def _emit_load(builder, values):
    for tile, address in enumerate(_quarters(builder, *values)):
        _load(builder, tile, address, values[1])


def _emit_store(builder, values):
    for tile, address in enumerate(_quarters(builder, *values)):
        _store(builder, tile, address, values[1])


zero_block = Emitted("block_zero", None, (), _emit_zero)
# (address, row stride); with stride 0 every row is the same one
load_block = Emitted("block_load", None, (i64,) * 2, _emit_load)
store_block = Emitted("block_store", None, (i64,) * 2, _emit_store)


def _emit_multiply(builder, values, planes, planes_b=None):
    a, b, count = values
    steps = [I64(max(1, side) * 2 * TILE) for side in (planes, planes_b or planes)]
    with counted_loop(builder, count) as index:
        offsets = [builder.mul(index, steps[0])] * 2
        if planes_b:
            offsets[1] = builder.mul(index, steps[1])
        sides = [builder.add(a, offsets[0]), builder.add(b, offsets[1])]
        loaded = [None, None]
        for wanted in PATHS[planes] if planes_b is None else _paths_to_one(planes):
            for side in (0, 1):
                if loaded[side] != wanted[side]:
                    loaded[side] = wanted[side]
                    for half in (0, 1):
                        where = builder.add(sides[side], I64((2 * wanted[side] + half) * TILE))
                        _load(builder, 4 + 2 * side + half, where, I64(64))
            for tile in range(4):
                operands = I8(tile), I8(4 + tile // 2), I8(6 + tile % 2)
                _call(builder, "llvm.x86.tdpbf16ps", *operands)


def _paths_to_one(planes):
    """All planes of A, the smallest first, meet the only one of B."""
    return tuple((plane, 0) for plane in reversed(range(planes)))


def _multiplier(count, count_b=None):
    emit = functools.partial(_emit_multiply, planes=count, planes_b=count_b)
    name = f"block_multiply_{count}{f'_{count_b}' if count_b else ''}"
    return Emitted(name, None, (i64,) * 3, emit)


# (packed A, packed B, blocks of k): add the product into the accumulators; the second where B is
# one plane whatever A is
multiply_blocks = Chosen(planes, {count: _multiplier(count) for count in PATHS})
multiply_by_one_plane = Chosen(
    planes, {1: _multiplier(1, 1), 2: _multiplier(2, 1), 3: _multiplier(3, 1)}
)


# ---- splitting and packing -----------------------------------------------------------------------


def _constant(value, kind=WORDS):
    return ir.Constant(kind, [value] * kind.count)


def _round(builder, value):
    """The nearest bfloat16 value (ties away from zero), as float32 bits."""
    words = builder.add(builder.bitcast(value, WORDS), _constant(0x8000))
    return builder.and_(words, _constant(0xFFFF0000 - (1 << 32)))


def _split(builder, value, planes):
    """float32 bits of ``planes`` bfloat16 values; three of them sum exactly to ``value``."""
    parts = []
    for plane in range(planes):
        if plane == 2:
            parts.append(builder.bitcast(value, WORDS))  # 8 bits are left
            break
        part = _round(builder, value)
        parts.append(part)
        value = builder.fsub(value, builder.bitcast(part, FLOATS))
    return parts


def _in_pairs(builder, first, second):
    """Words whose lower half is from ``first`` and whose upper half from ``second``."""
    upper = builder.and_(second, _constant(0xFFFF0000 - (1 << 32)))  # subnormals have lower bits
    return builder.or_(builder.lshr(first, _constant(16)), upper)


def _word_pointer(builder, address):
    return builder.inttoptr(address, WORDS.as_pointer())


def _emit_pack_bytes(builder, values):
    """A tile of 16 rows of 32 signed bytes, which bfloat16 holds exactly: source, row stride,
    target."""
    source, stride, target = values
    kind = ir.VectorType(I8, LANES)
    for line in range(LANES):
        row = builder.add(source, builder.mul(stride, I64(line)))
        pair = []
        for half in (0, 1):
            where = builder.add(row, I64(LANES * half))
            loaded = builder.load(builder.inttoptr(where, kind.as_pointer()), align=1)
            floats = builder.sitofp(builder.sext(loaded, WORDS), FLOATS)
            pair.append(builder.bitcast(floats, WORDS))
        where = builder.add(target, I64(64 * line))
        builder.store(_in_pairs(builder, *pair), _word_pointer(builder, where), align=4)


pack_bytes = Emitted("tile_pack_bytes", None, (i64,) * 3, _emit_pack_bytes)


def _larger(builder, peak, value):
    words = builder.and_(builder.bitcast(value, WORDS), _constant(0x7FFFFFFF))
    return builder.select(builder.icmp_signed(">", words, peak), words, peak)


def _emit_pack(builder, values, planes, paired, edge):
    """One tile for each plane from 16 rows of 32 values, or from 32 rows of 16 (``paired``).

    Arguments: source, row stride, target, address of the largest magnitudes so far and, at an
    edge, rows and columns that exist.
    """
    source, stride, target, peak_address = values[:4]
    if planes:
        peak = builder.load(_word_pointer(builder, peak_address), align=4)
    masks = [None, None]
    if edge:
        columns = [0] if paired else [0, LANES]
        masks = [lanes_below(builder, values[5], first) for first in columns]
    for line in range(LANES):
        loaded = []
        for i in (0, 1):
            row, column = (line + LANES * i, 0) if paired else (line, LANES * i)
            mask = None
            if edge:
                inside = builder.icmp_signed("<", I64(row), values[4])
                mask = masks[0 if paired else i]
                nothing = ir.Constant(mask.type, [0] * LANES)
                mask = builder.select(inside, mask, nothing)
            address = builder.add(source, builder.mul(stride, I64(row)))
            load, size = (load_vector, 4) if planes else (_load_halves, 2)
            where = builder.add(address, I64(size * column))
            loaded.append(load(builder, where, mask))
            if not (paired or edge):  # ask for the next block: processors foresee few rows
                prefetch(builder, builder.add(where, I64(2 * LANES * size)))
        if planes:
            peak = _larger(builder, _larger(builder, peak, loaded[0]), loaded[1])
            parts = [_split(builder, value, planes) for value in loaded]
        else:
            parts = [[value] for value in loaded]
        for plane, (first, second) in enumerate(zip(*parts, strict=True)):
            where = builder.add(target, I64(2 * TILE * plane + 64 * line))
            builder.store(_in_pairs(builder, first, second), _word_pointer(builder, where), align=4)
    if planes:
        builder.store(peak, _word_pointer(builder, peak_address), align=4)


def _gather(builder, base, offsets, mask):
    """Sixteen float32 values at byte offsets from an address; zeros where the mask says so."""
    floats, booleans = FLOATS, ir.VectorType(I1, LANES)
    name = "llvm.x86.avx512.mask.gather.dps.512"
    found = builder.module.globals.get(name)
    arguments = [ir.Constant(floats, [0.0] * LANES), _bytes(builder, base), offsets, mask, I32(1)]
    if found is None:
        kinds = [floats, arguments[1].type, WORDS, booleans, I32]
        found = ir.Function(builder.module, ir.FunctionType(floats, kinds), name)
    return builder.call(found, arguments)


def _emit_pack_gathered(builder, values, planes, paired):
    """One tile for each plane of values that are at source + line offset + step offset.

    Arguments: source, offsets of the lines (int32, bytes), offsets of the steps of k, target,
    address of the largest magnitudes, and how many of 16 lines and of 32 steps exist. ``paired``:
    lanes are lines, as in a tile of B; otherwise lanes are steps, as in a tile of A.
    """
    source, lines, steps, target, peak_address, line_count, step_count = values

    def offset_at(table, index):
        where = builder.add(table, I64(4 * index))
        return builder.sext(builder.load(builder.inttoptr(where, I32.as_pointer())), I64)

    def offsets_at(table, first):
        where = builder.add(table, I64(4 * first))
        return builder.load(_word_pointer(builder, where), align=4)

    nothing = ir.Constant(ir.VectorType(I1, LANES), [0] * LANES)
    if paired:
        lanes, masks = [offsets_at(lines, 0)] * 2, [lanes_below(builder, line_count)] * 2
    else:
        lanes = [offsets_at(steps, first) for first in (0, LANES)]
        masks = [lanes_below(builder, step_count, first) for first in (0, LANES)]
    peak = builder.load(_word_pointer(builder, peak_address), align=4)
    for row in range(LANES):
        loaded = []
        for i in (0, 1):
            index = row + LANES * i if paired else row
            inside = builder.icmp_signed("<", I64(index), step_count if paired else line_count)
            base = builder.add(source, offset_at(steps if paired else lines, index))
            mask = builder.select(inside, masks[i], nothing)
            loaded.append(_gather(builder, base, lanes[i], mask))
        peak = _larger(builder, _larger(builder, peak, loaded[0]), loaded[1])
        parts = [_split(builder, value, planes) for value in loaded]
        for plane, (first, second) in enumerate(zip(*parts, strict=True)):
            where = builder.add(target, I64(2 * TILE * plane + 64 * row))
            pair = _in_pairs(builder, first, second)
            builder.store(pair, _word_pointer(builder, where), align=4)
    builder.store(peak, _word_pointer(builder, peak_address), align=4)


def _gatherer(count, paired):
    emit = functools.partial(_emit_pack_gathered, planes=count, paired=paired)
    name = f"tile_gather_{count}{'_paired' if paired else ''}"
    return Emitted(name, None, (i64,) * 7, emit)


# Fragments of :func:`_emit_pack_gathered`, for float32 values.
gather_rows, gather_pairs = (
    Chosen(planes, {count: _gatherer(count, paired) for count in PATHS if count})
    for paired in (False, True)
)


def _emit_round_row(builder, values):
    """32 float32 values to bfloat16, to the nearest, ties to even; NaN stays NaN."""
    source, target, count = values
    kind = ir.VectorType(I16, LANES)
    for i in (0, 1):
        where = builder.add(source, I64(64 * i))
        value = builder.load(builder.inttoptr(where, FLOATS.as_pointer()), align=4)
        words = builder.bitcast(value, WORDS)
        last = builder.and_(builder.lshr(words, _constant(16)), _constant(1))
        rounded = builder.add(builder.add(words, _constant(0x7FFF)), last)
        is_nan = builder.fcmp_unordered("uno", value, value)
        rounded = builder.select(is_nan, _constant(0x7FC00000), rounded)
        halves = builder.trunc(builder.lshr(rounded, _constant(16)), kind)
        to = builder.inttoptr(builder.add(target, I64(32 * i)), kind.as_pointer())
        mask = lanes_below(builder, count, LANES * i)
        arguments = [halves, to, mask]
        if alignment_is_argument():
            arguments.insert(2, I32(2))
        _call(builder, "llvm.masked.store.v16i16.p0", *arguments)


# (32 float32 values, target, how many of them to store)
round_row = Emitted("round_row", None, (i64,) * 3, _emit_round_row)


def _emit_transpose(builder, values):
    """A tile as 16 x 16 words, transposed where it is."""
    places = [
        _word_pointer(builder, builder.add(values[0], I64(64 * line))) for line in range(LANES)
    ]
    rows = [builder.load(place, align=4) for place in places]
    rows = interleave(builder, rows)
    for row, place in zip(rows, places, strict=True):
        builder.store(row, place, align=4)


transpose_tile = Emitted("tile_transpose", None, (i64,), _emit_transpose)


def _load_halves(builder, address, mask):
    """Sixteen bfloat16 values as the upper halves of words."""
    kind = ir.VectorType(I16, LANES)
    where = builder.inttoptr(address, kind.as_pointer())
    if mask is None:
        halves = builder.load(where, align=2)
    else:
        halves = _masked_load(builder, where, mask, kind)
    return builder.shl(builder.zext(halves, WORDS), _constant(16))


def _masked_load(builder, where, mask, kind):
    name = "llvm.masked.load.v16i16.p0"
    arguments = [where, mask, ir.Constant(kind, [0] * LANES)]
    if alignment_is_argument():
        arguments.insert(1, I32(2))
    found = builder.module.globals.get(name)
    if found is None:
        signature = ir.FunctionType(kind, [argument.type for argument in arguments])
        found = ir.Function(builder.module, signature, name)
    return builder.call(found, arguments)


def _packer(count, paired, edge):
    name = f"tile_pack_{count}{'_paired' if paired else ''}{'_edge' if edge else ''}"
    emit = functools.partial(_emit_pack, planes=count, paired=paired, edge=edge)
    return Emitted(name, None, (i64,) * (6 if edge else 4), emit)


def _packers(paired, edge):
    return Chosen(planes, {count: _packer(count, paired, edge) for count in PATHS})


# Fragments of :func:`_emit_pack`.
pack_whole_rows, pack_edge_rows = _packers(False, False), _packers(False, True)
pack_whole_pairs, pack_edge_pairs = _packers(True, False), _packers(True, True)
