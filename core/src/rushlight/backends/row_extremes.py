"""The extreme of a run of memory in vectors, NaN winning over all numbers.

The optimiser does not vectorise such a loop: it would have to reorder what NaN does.
"""

from __future__ import annotations

from llvmlite import ir

from rushlight.backends.kernel_language import Emitted, f32, f64, i64
from rushlight.backends.kernel_values import counted_loop, ir_type
from rushlight.backends.microkernel import I64, VL

__all__ = ["GROUP", "largest", "smallest"]

VECTORS = 4  # results kept at once: one waits for the one before
GROUP = VECTORS * VL  # elements of one step (float64: two vectors for each of float32)


def _emitter(kind, name):
    def emit(builder, values):
        """The extreme of ``count * GROUP`` elements from an address; count is at least 1."""
        address, count = values
        scalar = ir_type(kind)
        lanes = VL * 32 // kind.bits
        vector, parts = ir.VectorType(scalar, lanes), GROUP // lanes
        pair = ir.FunctionType(vector, [vector, vector])
        suffix = f"v{lanes}{kind.name}"
        module = builder.module
        combine = module.declare_intrinsic(f"llvm.{name}.{suffix}", (), pair)
        across = module.declare_intrinsic(
            f"llvm.vector.reduce.f{name}.{suffix}", (), ir.FunctionType(scalar, [vector])
        )

        def load(at, part):
            where = builder.add(at, I64(part * lanes * kind.bits // 8))
            found = builder.load(builder.inttoptr(where, vector.as_pointer()))
            found.align = kind.bits // 8
            return found

        slots = [builder.alloca(vector) for _ in range(parts)]
        for part, slot in enumerate(slots):
            builder.store(load(address, part), slot)
        with counted_loop(builder, builder.sub(count, I64(1))) as i:
            step = builder.mul(builder.add(i, I64(1)), I64(GROUP * kind.bits // 8))
            at = builder.add(address, step)
            for part, slot in enumerate(slots):
                builder.store(builder.call(combine, [builder.load(slot), load(at, part)]), slot)
        found = builder.load(slots[0])
        for slot in slots[1:]:
            found = builder.call(combine, [found, builder.load(slot)])
        return builder.call(across, [found])

    return emit


def _by_type(name):
    return {
        kind: Emitted(f"rl_{name}_{kind.name}", kind, (i64, i64), _emitter(kind, name))
        for kind in (f32, f64)
    }


largest, smallest = _by_type("maximum"), _by_type("minimum")
