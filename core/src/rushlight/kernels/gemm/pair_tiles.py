"""Register tiles of bfloat16: sums of pairs of products by the processor's own instruction.

The tiles are those of :mod:`rushlight.kernels.gemm.microkernel` on 32-bit words that hold two
values each, neighbours in k: one instruction adds both products to a float32 sum. C is bfloat16,
rounded once. Intel calls the instructions AVX512_BF16; AMD has them since Zen 4. Where a processor
has matrix units, :mod:`rushlight.kernels.gemm.split` is quicker. Import at first kernel need.
"""

from __future__ import annotations

import functools
import os

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import I32, I64, VECTOR, VL, TileTable, declared
from rushlight.machine.language.element_vectors import Vectors, alignment_is_argument
from rushlight.machine.language.functions import Emitted, i64
from rushlight.machine.llvm import ir
from rushlight.machine.processors import processor

__all__ = ["COLUMNS_OF_A", "NARROW_COLUMNS_OF_A", "NARROW_ROWS", "ROWS", "available", "interleaved"]

I16 = ir.IntType(16)
WORDS, HALVES = ir.VectorType(I32, VL), ir.VectorType(I16, VL)


@functools.cache
def available() -> bool:
    """Whether this processor adds pairs of products. ``RUSHLIGHT_MATRIX_UNITS=0`` turns such
    instructions off, too."""
    if os.environ.get("RUSHLIGHT_MATRIX_UNITS", "1") == "0" or VL != 16:
        return False
    return processor().has("avx512f", "avx512bw", "avx512bf16")


def rounded(builder, value):
    """The upper halves of float32 values, rounded to the nearest even; NaN stays one."""

    def words(number):
        return ir.Constant(WORDS, [number] * VL)

    bits = builder.bitcast(value, WORDS)
    upper = builder.lshr(bits, words(16))
    up = builder.add(words(0x7FFF), builder.and_(upper, words(1)))
    nearest = builder.lshr(builder.add(bits, up), words(16))
    quiet = builder.or_(upper, words(0x40))
    is_nan = builder.fcmp_unordered("uno", value, value)
    return builder.trunc(builder.select(is_nan, quiet, nearest), HALVES)


class _Pairs(Vectors):
    """Words of a tile that hold two bfloat16 values, neighbours in k."""

    def __init__(self):
        super().__init__(ir.FloatType(), "f32", 4)
        self.label, self.put_size = "pairs", 2

    def fma(self, builder, a, b, c):
        """Both products of each pair added to float32 sums."""
        name = "llvm.x86.avx512bf16.dpbf16ps.512"
        pairs = [builder.bitcast(value, WORDS) for value in (a, b)]
        add = declared(builder, VECTOR, [VECTOR, WORDS, WORDS], name)
        return builder.call(add, [c, *pairs])

    def put(self, builder, value, address, mask=None):
        """Store sums as bfloat16."""
        _store_halves(builder, rounded(builder, value), address, mask)


PAIRS = _Pairs()


def _emit_interleaved(builder, values):
    first, second, target = values
    for v in range(mk.NV):
        low, high = (_wide(builder, builder.add(row, I64(2 * VL * v))) for row in (first, second))
        both = builder.or_(low, builder.shl(high, ir.Constant(WORDS, [16] * VL)))
        mk.store_vector(
            builder, builder.bitcast(both, VECTOR), builder.add(target, I64(4 * VL * v))
        )


def _wide(builder, address):
    where = builder.inttoptr(address, HALVES.as_pointer())
    return builder.zext(builder.load(where, align=2), WORDS)


# (first row, second row, target): words of PANEL values of two rows
interleaved = Emitted("interleaved", None, (i64,) * 3, _emit_interleaved)


def _store_halves(builder, value, address, mask):
    where = builder.inttoptr(address, HALVES.as_pointer())
    if mask is None:
        builder.store(value, where, align=2)
        return
    name = f"llvm.masked.store.v{VL}i16.p0"
    if alignment_is_argument():
        kinds, values = [HALVES, where.type, I32, mk.MASK], [value, where, I32(2), mask]
    else:
        kinds, values = [HALVES, where.type, mk.MASK], [value, where, mask]
    builder.call(declared(builder, ir.VoidType(), kinds, name), values)


ROWS, COLUMNS_OF_A = (TileTable(mode, kind=PAIRS) for mode in ("rows", "columns"))
NARROW_ROWS, NARROW_COLUMNS_OF_A = (TileTable(mode, 1, kind=PAIRS) for mode in ("rows", "columns"))
