"""Values of the kernel language while they are lowered, and pieces shared by IR emitters."""

from __future__ import annotations

import contextlib

from llvmlite import ir

from rushlight.machine.language.functions import Pointer

IR_TYPES = {
    "boolean": ir.IntType(1),
    "i8": ir.IntType(8),
    "u8": ir.IntType(8),
    "u16": ir.IntType(16),
    "i32": ir.IntType(32),
    "u32": ir.IntType(32),
    "i64": ir.IntType(64),
    "f32": ir.FloatType(),
    "f64": ir.DoubleType(),
    "f16": ir.IntType(16),  # bits, in memory alone
    "bf16": ir.IntType(16),
}


class KernelError(SyntaxError):
    """A kernel uses something the language does not have."""


def ir_type(kind):
    """The LLVM type of a machine type or pointer; void for None."""
    if kind is None:
        return ir.VoidType()
    if isinstance(kind, Pointer):
        return ir_type(kind.element).as_pointer()
    return IR_TYPES[kind.name]


class Value:
    """A typed LLVM value."""

    __slots__ = ("ir", "type")

    def __init__(self, kind, value):
        self.type, self.ir = kind, value


@contextlib.contextmanager
def counted_loop(builder, count):
    """For IR emitters: a loop over 0..count-1; yields the index."""
    kind = IR_TYPES["i64"]
    with stepped_loop(builder, ir.Constant(kind, 0), count, ir.Constant(kind, 1)) as index:
        yield index


@contextlib.contextmanager
def stepped_loop(builder, first, end, step):
    """For IR emitters: a loop over range(first, end, step), upward; yields the index."""
    head, body, after = (builder.append_basic_block(n) for n in ("head", "body", "after"))
    start = builder.block
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(IR_TYPES["i64"])
    index.add_incoming(first, start)
    builder.cbranch(builder.icmp_signed("<", index, end), body, after)
    builder.position_at_end(body)
    yield index
    following = builder.add(index, step, flags=("nsw",))
    index.add_incoming(following, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
