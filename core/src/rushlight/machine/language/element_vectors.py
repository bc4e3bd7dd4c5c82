"""Vectors of float32 or float64 in emitted code: their types and operations."""

from __future__ import annotations

import functools

from llvmlite import ir

from rushlight.machine.processors import processor

__all__ = ["DOUBLE", "SINGLE", "VL", "Vectors", "alignment_is_argument"]

I32, I64 = ir.IntType(32), ir.IntType(64)
VL = processor().vector_length  # float32 values of a vector


@functools.cache
def alignment_is_argument():
    """LLVM 22 took the alignment out of the arguments of masked memory operations."""
    import llvmlite.binding as llvm

    return llvm.llvm_version_info[0] < 22


class Vectors:
    """Types and operations of vectors with elements of one type; addresses are i64. `count`: how
    many of them, by default as many as the widest registers hold."""

    def __init__(self, element, name, size, count=None):
        self.element, self.name, self.size = element, name, size
        self.count = count or 4 * VL // size
        self.kind = ir.VectorType(element, self.count)
        self.mask = ir.VectorType(ir.IntType(1), self.count)
        self.indices = ir.VectorType(I64, self.count)
        self.zero = ir.Constant(self.kind, [0.0] * self.count)
        self.label, self.put_size = name, size  # `put_size`: bytes of an element of a result

    def _call(self, builder, name, result, operands):
        function = builder.module.globals.get(name)
        if function is None:
            kind = ir.FunctionType(result, [operand.type for operand in operands])
            function = ir.Function(builder.module, kind, name)
        return builder.call(function, operands)

    def fma(self, builder, a, b, c):
        """a * b + c, rounded once."""
        return self._call(builder, f"llvm.fma.v{self.count}{self.name}", self.kind, [a, b, c])

    def load(self, builder, address, mask=None, beside=None):
        """A vector; lanes outside the mask read as zero, or `beside`, and touch no memory."""
        where = builder.inttoptr(address, self.kind.as_pointer())
        if mask is None:
            return builder.load(where, align=self.size)
        alignment = [I32(self.size)] if alignment_is_argument() else []
        operands = [where, *alignment, mask, self.zero if beside is None else beside]
        return self._masked(builder, "load", self.kind, operands)

    def store(self, builder, value, address, mask=None):
        """Store a vector, or the lanes of it that the mask names."""
        where = builder.inttoptr(address, self.kind.as_pointer())
        if mask is None:
            builder.store(value, where, align=self.size)
            return
        alignment = [I32(self.size)] if alignment_is_argument() else []
        self._masked(builder, "store", ir.VoidType(), [value, where, *alignment, mask])

    def put(self, builder, value, address, mask=None):
        """Store a vector of results."""
        self.store(builder, value, address, mask)

    def _masked(self, builder, what, result, operands):
        name = f"llvm.masked.{what}.v{self.count}{self.name}.p0"
        return self._call(builder, name, result, operands)

    def splat(self, builder, value):
        """An element or an index in every lane."""
        kind = self.indices if value.type == I64 else self.kind
        undefined = ir.Constant(kind, ir.Undefined)
        one = builder.insert_element(undefined, value, I32(0))
        first = ir.Constant(ir.VectorType(I32, self.count), [0] * self.count)
        return builder.shuffle_vector(one, undefined, first)

    def scalar(self, builder, address):
        """The element at an address in every lane."""
        where = builder.inttoptr(address, self.element.as_pointer())
        return self.splat(builder, builder.load(where, align=self.size))

    def below(self, builder, count, first=0):
        """Mask of the lanes whose index, counted from ``first``, is below ``count``."""
        index = ir.Constant(self.indices, [first + i for i in range(self.count)])
        return builder.icmp_signed("<", index, self.splat(builder, count))


SINGLE, DOUBLE = Vectors(ir.FloatType(), "f32", 4), Vectors(ir.DoubleType(), "f64", 8)
