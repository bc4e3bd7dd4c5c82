"""Register tiles of whole numbers: int32 sums of products of bytes, exact on every processor.

The tiles are those of :mod:`rushlight.kernels.gemm.microkernel` on 32-bit words that hold VALUES
neighbours in k. Where the processor multiplies bytes (VNNI: Intel since Ice Lake, AMD since Zen 4)
there are four, signed ones of A and unsigned ones of B; elsewhere two signed numbers of 16 bits
(PMADDWD, part of every x86-64). Both add to the same sums, so that results have the same bits.
Import at first kernel need.
"""

from __future__ import annotations

from rushlight.kernels.gemm.microkernel import I32, VECTOR, VL, TileTable, declared
from rushlight.machine.language.element_vectors import Vectors
from rushlight.machine.llvm import ir
from rushlight.machine.processors import processor

__all__ = ["BYTES", "DEPTH_LIMIT", "INTEGERS", "ROWS", "VALUES", "VALUE_BYTES", "WORDS"]

DEPTH_LIMIT = 1 << 17  # products of two bytes that an int32 surely holds the sum of
WORDS, HALVES = ir.VectorType(I32, VL), ir.VectorType(ir.IntType(16), 2 * VL)
_FOURS = {16: "llvm.x86.avx512.vpdpbusd.512", 8: "llvm.x86.avx512.vpdpbusd.256"}
_PAIRS = {
    16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"
}  # fmt: skip


def _multiplies_bytes():
    has = processor().has
    return has("avx512f", "avx512vnni") if VL == 16 else VL == 8 and has("avxvnni")


BYTES = _multiplies_bytes()
VALUES, VALUE_BYTES = (4, 1) if BYTES else (2, 2)


class _Integers(Vectors):
    """Words of a tile; sums are int32, in registers that are called float32."""

    def __init__(self):
        super().__init__(ir.FloatType(), "f32", 4)
        self.label = f"integers_{VALUES}"

    def fma(self, builder, a, b, c):
        """All products of each word, added to the sum."""
        a, b, c = (builder.bitcast(value, WORDS) for value in (a, b, c))
        if BYTES:
            total = builder.call(declared(builder, WORDS, [WORDS] * 3, _FOURS[VL]), [c, b, a])
        else:
            a, b = (builder.bitcast(value, HALVES) for value in (a, b))
            function = declared(builder, WORDS, [HALVES] * 2, _PAIRS[VL])
            total = builder.add(builder.call(function, [a, b]), c)
        return builder.bitcast(total, VECTOR)


INTEGERS = _Integers()
# Sums of whole numbers have no rounding errors that shorter ones would lessen.
ROWS = TileTable("rows", sum_depth=DEPTH_LIMIT, kind=INTEGERS)
