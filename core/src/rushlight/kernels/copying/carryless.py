"""CRC-32 by carry-less multiplication: the IR of the folding loop, for processors that have it.

A message is a polynomial over the bits; its CRC is the remainder modulo P. Moving 128 bits of it
``d`` bits further down the message multiplies them by x^d, and two carry-less products with
constants ``x^(d + 32) mod P`` and ``x^(d - 32) mod P`` do so without making them longer: four
registers fold a whole buffer that way to 16 bytes with the same remainder (V. Gopal and others,
Fast CRC computation using PCLMULQDQ, Intel 2009). Bits are reflected, as in zlib.
"""

from __future__ import annotations

import functools

from rushlight.machine.language.functions import Emitted, i64
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir
from rushlight.machine.processors import processor

POLYNOMIAL = 0x104C11DB7  # CRC-32's, the highest power first
REGISTERS = 4
I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
PAIR = ir.VectorType(I64, 2)


@functools.cache
def lanes() -> int:
    """128-bit lanes of the widest carry-less product here: 4, 1, or 0 where there is none."""
    if not processor().has("pclmul"):
        return 0
    return 4 if processor().has("vpclmulqdq", "avx512f") else 1


def power(exponent: int) -> int:
    """x^exponent mod P, reflected into the upper 32 of 33 bits as the products need it."""
    value = 1
    for _ in range(exponent):
        value <<= 1
        if value >> 32:
            value ^= POLYNOMIAL
    return int(f"{value:032b}"[::-1], 2) << 1


def _product(builder, width, a, b, halves):
    """The carry-less products of the lower (0x00) or upper (0x11) halves of each lane."""
    kind = ir.VectorType(I64, 2 * width)
    name = "llvm.x86.pclmulqdq" + ("" if width == 1 else f".{128 * width}")
    found = builder.module.globals.get(name)
    if found is None:
        signature = ir.FunctionType(kind, [kind, kind, I8])
        found = ir.Function(builder.module, signature, name)
    return builder.call(found, [a, b, I8(halves)])


def _moved(builder, width, value, bits):
    """Each lane, `bits` further down the message."""
    kind = ir.VectorType(I64, 2 * width)
    factors = ir.Constant(kind, [power(bits + 32), power(bits - 32)] * width)
    low = _product(builder, width, value, factors, 0x00)
    return builder.xor(low, _product(builder, width, value, factors, 0x11))


def _emit_fold(builder, values, width):
    """The 16 bytes, stored at `target`, that leave the same remainder as `blocks` blocks."""
    address, blocks, start, target = values
    kind = ir.VectorType(I64, 2 * width)
    size = 16 * width

    def load(position):
        return builder.load(builder.inttoptr(position, kind.as_pointer()), align=1)

    registers = [load(builder.add(address, I64(size * r))) for r in range(REGISTERS)]
    first = builder.insert_element(ir.Constant(kind, [0] * (2 * width)), start, I32(0))
    registers[0] = builder.xor(registers[0], first)
    slots = [builder.alloca(kind) for _ in registers]
    for value, slot in zip(registers, slots, strict=True):
        builder.store(value, slot)
    with counted_loop(builder, builder.sub(blocks, I64(1))) as index:
        block = builder.mul(builder.add(index, I64(1)), I64(size * REGISTERS))
        here = builder.add(address, block)
        for r, slot in enumerate(slots):
            moved = _moved(builder, width, builder.load(slot), 128 * width * REGISTERS)
            following = load(builder.add(here, I64(size * r)))
            builder.store(builder.xor(moved, following), slot)
    total = None
    for slot in slots:
        value = builder.load(slot)
        for lane in range(width):
            order = ir.Constant(ir.VectorType(I32, 2), [2 * lane, 2 * lane + 1])
            piece = builder.shuffle_vector(value, ir.Constant(kind, ir.Undefined), order)
            total = piece if total is None else builder.xor(_moved(builder, 1, total, 128), piece)
    builder.store(total, builder.inttoptr(target, PAIR.as_pointer()), align=1)


def fold(width):
    """``fold(address, blocks, start, target)``: blocks of ``64 * width`` bytes, at least one, with
    `start` added to the first 32 bits, folded to 16 bytes."""
    return Emitted(
        f"fold_crc_{width}",
        None,
        (i64,) * 4,
        lambda builder, values: _emit_fold(builder, values, width),
    )
