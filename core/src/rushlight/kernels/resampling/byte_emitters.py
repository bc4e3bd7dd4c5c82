"""Pieces of the loops over bytes that are written in LLVM IR: 16 bytes at once, whatever the
processor's registers. Import at first need."""

from __future__ import annotations

from rushlight.machine.language.functions import Emitted, i64
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir

LANES = 16
I8, I16, I32, I64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
_ROW, _SUMS = ir.VectorType(I8, LANES), ir.VectorType(I32, LANES)


def _pointer(builder, base, index, step, kind):
    return builder.inttoptr(builder.add(base, builder.mul(index, step)), kind.as_pointer())


def _every(builder, value):
    """A number in all lanes of a vector."""
    one = builder.insert_element(ir.Constant(_SUMS, ir.Undefined), value, I32(0))
    return builder.shuffle_vector(one, one, ir.Constant(_SUMS, None))


def _limited(builder, sums, low, high):
    for bound, word in ((low, "<"), (high, ">")):
        limit = ir.Constant(_SUMS, [bound] * LANES)
        sums = builder.select(builder.icmp_signed(word, sums, limit), limit, sums)
    return sums


def _weigh(builder, values):
    """16 bytes of the result: the bytes at (source + k * step), times the weights, in 32 bits."""
    source, step, weights, taps, target, shift = values
    with builder.goto_entry_block():
        total = builder.alloca(_SUMS)
    shift = builder.trunc(shift, I32)
    half = builder.shl(I32(1), builder.sub(shift, I32(1)))
    builder.store(_every(builder, half), total)
    with counted_loop(builder, taps) as k:
        row = builder.load(_pointer(builder, source, k, step, _ROW), align=1)
        weight = builder.load(_pointer(builder, weights, k, I64(2), I16), align=2)
        term = builder.mul(builder.zext(row, _SUMS), _every(builder, builder.sext(weight, I32)))
        builder.store(builder.add(builder.load(total), term), total)
    sums = builder.ashr(builder.load(total), _every(builder, shift))
    found = builder.trunc(_limited(builder, sums, 0, 255), _ROW)
    builder.store(found, builder.inttoptr(target, _ROW.as_pointer()), align=1)


def _turn(builder, values):
    """16 rows of 16 bytes as columns: four perfect shuffles of rows i and i + 8."""
    source, step, target, target_step = values
    rows = [
        builder.load(_pointer(builder, source, I64(i), step, _ROW), align=1) for i in range(LANES)
    ]
    half = LANES // 2
    orders = [
        ir.Constant(
            ir.VectorType(I32, LANES),
            [(lane // 2 + start) + (LANES if lane % 2 else 0) for lane in range(LANES)],
        )
        for start in (0, half)
    ]
    for _ in range(4):
        rows = [
            builder.shuffle_vector(rows[i], rows[i + half], order)
            for i in range(half)
            for order in orders
        ]
    for i, row in enumerate(rows):
        builder.store(row, _pointer(builder, target, I64(i), target_step, _ROW), align=1)


weigh = Emitted("weigh_bytes", None, (i64,) * 6, _weigh)
turn = Emitted("turn_bytes", None, (i64,) * 4, _turn)
