"""Elementwise kernels that others run on what they have just computed, while it is in a cache.

An epilogue is a table of words: the range function of a kernel of one operand and one result, and
its argument table but for the two addresses. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.machine.language.functions import Emitted, i64
from rushlight.machine.llvm import ir

__all__ = ["DESCRIPTOR", "MOST_NUMBERS", "NUMBERS", "RANGE", "WORDS", "emit_epilogue", "finish"]

RANGE, DESCRIPTOR, NUMBERS = range(3)
MOST_NUMBERS = 2
WORDS = NUMBERS + MOST_NUMBERS

I64 = ir.IntType(64)


def emit_epilogue(builder, epilogue, address, count):
    """Run an epilogue in place on ``count`` elements."""
    with builder.goto_entry_block():
        table = builder.alloca(I64, 3 + MOST_NUMBERS)
    words = builder.inttoptr(epilogue, I64.as_pointer())
    code, descriptor, *numbers = (
        builder.load(builder.gep(words, [I64(i)])) for i in range(WORDS)
    )  # fmt: skip
    for i, value in enumerate((descriptor, address, address, *numbers)):
        builder.store(value, builder.gep(table, [I64(i)]))
    signature = ir.FunctionType(ir.VoidType(), [I64] * 4)
    function = builder.inttoptr(code, signature.as_pointer())
    builder.call(function, [builder.ptrtoint(table, I64), I64(0), count, I64(0)])


def _emit_finish(builder, values):
    with builder.if_then(builder.icmp_signed("!=", values[0], I64(0))):
        emit_epilogue(builder, *values)


# (epilogue or 0, address, elements)
finish = Emitted("finish", None, (i64,) * 3, _emit_finish)
