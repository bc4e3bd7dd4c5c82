"""Stores that go past the caches, for results larger than they are. Import at first kernel need."""

from __future__ import annotations

from rushlight.kernels.gemm.microkernel import I64
from rushlight.machine.language.functions import Emitted, i64
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir

__all__ = ["LINE", "few_bytes", "stream_copy", "stream_fill"]

LINE = 64  # bytes of one store
_WORDS = ir.VectorType(I64, 8)


def _at(builder, base, line):
    address = builder.add(base, builder.mul(line, I64(LINE)))
    return builder.inttoptr(address, _WORDS.as_pointer())


def _stream(builder, value, where):
    store = builder.store(value, where, align=LINE)
    store.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))


def _copy(builder, values):
    """Lines from one address to another, which is a multiple of LINE."""
    source, target, count = values
    with counted_loop(builder, count) as line:
        found = builder.load(_at(builder, source, line), align=1)
        _stream(builder, found, _at(builder, target, line))


def _fill(builder, values):
    """Lines of one word, from an address that is a multiple of LINE."""
    word, target, count = values
    one = builder.insert_element(ir.Constant(_WORDS, ir.Undefined), word, ir.IntType(32)(0))
    every = ir.Constant(ir.VectorType(ir.IntType(32), 8), None)
    vector = builder.shuffle_vector(one, one, every)
    with counted_loop(builder, count) as line:
        _stream(builder, vector, _at(builder, target, line))


stream_copy = Emitted("rl_stream_copy", None, (i64,) * 3, _copy)
stream_fill = Emitted("rl_stream_fill", None, (i64,) * 3, _fill)


def few_bytes(count):
    """So few bytes copied through registers: (source, target)."""
    kind = ir.VectorType(ir.IntType(8), count)

    def emit(builder, values):
        source, target = (builder.inttoptr(value, kind.as_pointer()) for value in values)
        builder.store(builder.load(source, align=1), target, align=1)

    return Emitted(f"rl_copy_{count}", None, (i64,) * 2, emit)
