"""Running sums and products of a run of memory in vectors, in float64.

Eight elements are scanned by three shifted additions; what came before is kept as a vector, so
that one addition for eight elements is all that waits (Hillis and Steele, 1986).
"""

from __future__ import annotations

from rushlight.kernels.gemm.microkernel import I64
from rushlight.machine.language.functions import Emitted, f32, f64, i64
from rushlight.machine.language.values import counted_loop, ir_type
from rushlight.machine.llvm import ir

__all__ = ["GROUP", "scan"]

GROUP = 8  # elements of one step
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, GROUP)
_ORDER = ir.VectorType(ir.IntType(32), GROUP)


def _emitter(kind, product):
    def emit(builder, values):
        """Scan ``count * GROUP`` elements from a source to a target after a total; the new one."""
        source, target, count, total = values
        scalar, size = ir_type(kind), kind.bits // 8
        elements = ir.VectorType(scalar, GROUP)
        join = builder.fmul if product else builder.fadd
        neutral = ir.Constant(_VECTOR, [1.0 if product else 0.0] * GROUP)

        def at(base, group):
            address = builder.add(base, builder.mul(group, I64(GROUP * size)))
            return builder.inttoptr(address, elements.as_pointer())

        def every(vector, lane):
            return builder.shuffle_vector(vector, vector, ir.Constant(_ORDER, [lane] * GROUP))

        one = builder.insert_element(neutral, total, ir.IntType(32)(0))
        before = builder.alloca(_VECTOR)
        builder.store(every(one, 0), before)
        with counted_loop(builder, count) as group:
            found = builder.load(at(source, group), align=size)
            found = builder.fpext(found, _VECTOR) if kind is f32 else found
            for step in (1, 2, 4):
                order = [GROUP + i if i < step else i - step for i in range(GROUP)]
                moved = builder.shuffle_vector(found, neutral, ir.Constant(_ORDER, order))
                found = join(moved, found)
            carried = builder.load(before)
            builder.store(join(carried, every(found, GROUP - 1)), before)
            found = join(carried, found)
            found = builder.fptrunc(found, elements) if kind is f32 else found
            builder.store(found, at(target, group), align=size)
        return builder.extract_element(builder.load(before), ir.IntType(32)(0))

    return emit


# by element type, then by whether it is a product
scan = {
    kind: {
        product: Emitted(
            f"rl_scan_{kind.name}_{product}", f64, (i64, i64, i64, f64), _emitter(kind, product)
        )
        for product in (0, 1)
    }
    for kind in (f32, f64)
}
