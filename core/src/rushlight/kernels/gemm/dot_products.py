"""Dot products of rows, several at once: float32 sums that stay in registers.

OUTPUTS rows times SHIFTS other rows share what they load; behind the weight gradients of
convolutions with few channels.
"""

from __future__ import annotations

from rushlight.kernels.gemm.microkernel import (
    F32,
    I64,
    VECTOR,
    VL,
    ZERO,
    fma,
    lanes_below,
    load_vector,
)
from rushlight.machine.language.functions import Emitted, i64
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir

# Of one block: 24 sums, 4 values and 1 gradient fill 29 registers, or 12, 3 and 1 all 16.
OUTPUTS, SHIFTS = (6, 4) if VL == 16 else (4, 3)


def _emit_dot_block(builder, values):
    """sums[o * SHIFTS + s] += dot(gradient row o, input at shift s) over rows of pixels.

    Arguments: addresses of OUTPUTS words with addresses of gradients and SHIFTS words with
    addresses of inputs, bytes between rows of each, rows, columns, address of the sums.
    """
    gradients, inputs, gradient_row, input_row, rows, columns, sums = values

    def word(base, index):
        address = builder.add(base, I64(8 * index))
        return builder.load(builder.inttoptr(address, I64.as_pointer()))

    from_gradient = [word(gradients, i) for i in range(OUTPUTS)]
    from_input = [word(inputs, i) for i in range(SHIFTS)]
    slots = [[builder.alloca(VECTOR) for _ in range(SHIFTS)] for _ in range(OUTPUTS)]
    for line in slots:
        for slot in line:
            builder.store(ZERO, slot)
    whole = builder.udiv(columns, I64(VL))
    rest = builder.sub(columns, builder.mul(whole, I64(VL)))
    mask = lanes_below(builder, rest)

    def add_vector(down, along, across, mask):
        here = builder.add(along, across)
        shifted = [load_vector(builder, builder.add(a, here), mask) for a in from_input]
        here = builder.add(down, across)
        for o in range(OUTPUTS):
            gradient = load_vector(builder, builder.add(from_gradient[o], here), mask)
            for s in range(SHIFTS):
                total = fma(builder, gradient, shifted[s], builder.load(slots[o][s]))
                builder.store(total, slots[o][s])

    with counted_loop(builder, rows) as row:
        down, along = builder.mul(row, gradient_row), builder.mul(row, input_row)
        with counted_loop(builder, whole) as vector:
            add_vector(down, along, builder.mul(vector, I64(4 * VL)), None)
        with builder.if_then(builder.icmp_signed(">", rest, I64(0))):
            add_vector(down, along, builder.mul(whole, I64(4 * VL)), mask)
    for o in range(OUTPUTS):
        for s in range(SHIFTS):
            address = builder.add(sums, I64(4 * (o * SHIFTS + s)))
            where = builder.inttoptr(address, F32.as_pointer())
            total = _sum_of_lanes(builder, builder.load(slots[o][s]))
            builder.store(builder.fadd(builder.load(where), total), where)


def _sum_of_lanes(builder, vector):
    """Halves added to halves: the same order everywhere."""
    lanes = VL
    kind = ir.VectorType(ir.IntType(32), VL)
    while lanes > 1:
        lanes //= 2
        order = [(i + lanes) % VL for i in range(VL)]
        turned = builder.shuffle_vector(vector, vector, ir.Constant(kind, order))
        vector = builder.fadd(vector, turned)
    return builder.extract_element(vector, ir.IntType(32)(0))


dot_block = Emitted("plane_dot_block", None, (i64,) * 7, _emit_dot_block)
