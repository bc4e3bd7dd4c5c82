"""Loops of the kernel language, and what they promise LLVM about memory."""

from __future__ import annotations

import ast

from llvmlite import ir

from rushlight.machine.language.functions import f32, i64, u32
from rushlight.machine.language.half_floats import narrowing, widening
from rushlight.machine.language.values import IR_TYPES, Value, ir_type
from rushlight.machine.processors import processor


def _width(lanes):
    """LLVM is to take that many elements at a time."""
    return (
        ("llvm.loop.vectorize.width", ir.IntType(32), lanes),
        ("llvm.loop.interleave.count", ir.IntType(32), 1),
    )


def rounds(kind):
    """The loops that together are one of a kind: ``(elements of a block, promise)`` each; a promise
    is None where rounds may depend on each other (those of "scattered" may too). Wide blocks are
    LLVM's own choice. With AVX-512 masked vectors do the rest. Without, they cost more than they
    save (AMD takes tens of cycles to store with a mask, bytes and half words are taken apart on
    all): vectors, then shorter ones.
    """
    if kind == "range":
        return [(1, None)]
    if kind == "scattered":
        return [(1, _width(1))]
    lanes = processor().vector_length
    blocks = [(4 * lanes, ())] if kind == "independent" else []
    if lanes == 16:
        masks = ("llvm.loop.vectorize.predicate.enable", ir.IntType(1), 1)
        return [*blocks, (1, (masks, *_width(lanes)))]
    short = [(lanes, _width(lanes))] if lanes > 4 else []
    return [*blocks, *short, (1, _width(4))]


class AccessGroup(ir.values.MDValue):
    """The accesses of one loop that are independent of those of its other rounds."""

    def __init__(self, module):
        super().__init__(module, [], str(len(module.metadata)))

    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__  # each its own

    def descr(self, buf):
        """Its text: "distinct", so that no two groups become one."""
        buf += ("distinct !{ }\n",)


class Loops:
    """Statements that repeat, for the lowering of a kernel."""

    def statement_While(self, node):
        """Rounds as long as a condition holds, or until a break."""
        head, body, after = (self.b.append_basic_block(n) for n in ("while", "do", "done"))
        self.b.branch(head)
        self.b.position_at_end(head)
        condition = self.expression(node.test)
        if isinstance(condition, Value):
            self.b.cbranch(self.truth(condition), body, after)
        else:
            self.b.branch(body if condition else after)
        self.b.position_at_end(body)
        self.loop_body(node, head, after)

    def loop_body(self, node, again, after):
        """The rounds of a loop; writing goes on after it."""
        self.scope.loops.append((again, after))
        self.statements(node.body)
        if not self.b.block.is_terminated:
            self.b.branch(again)
        self.scope.loops.pop()
        self.b.position_at_end(after)

    def statement_Break(self, node):
        """Leave the innermost loop."""
        self.b.branch(self.scope.loops[-1][1])

    def statement_Continue(self, node):
        """The next round of the innermost loop."""
        self.b.branch(self.scope.loops[-1][0])

    def statement_For(self, node):
        """A counted loop of one of the kinds, or an unrolled one."""
        call, kinds = node.iter, ("range", "masked", "independent", "scattered")
        if not isinstance(call, ast.Call) or not isinstance(node.target, ast.Name):
            self.fail(node, "for loops run over range(...) or static(...)")
        name = call.func.id
        bounds = [self.expression(argument) for argument in call.args]
        if name == "static":
            for i in range(*bounds):
                self.scope.locals[node.target.id] = i
                self.statements(node.body)
            return
        if name not in kinds:
            self.fail(node, f"for loops run over {', '.join(kinds)} or static(...)")
        if len(bounds) == 1:
            bounds = [0, *bounds]
        start, stop = (self.convert(v, i64, node).ir for v in bounds[:2])
        step = self.convert(bounds[2] if len(bounds) == 3 else 1, i64, node).ir
        if node.target.id not in self.scope.locals:
            self.scope.locals[node.target.id] = (self.slot(i64), i64)
        for size, promise in rounds(name):
            end = self._end_of_blocks(start, stop, size) if size > 1 else stop
            self._counted(node, start, end, step, promise, name != "scattered")
            start = end

    def _end_of_blocks(self, start, stop, size):
        """Where the last whole block of elements ends."""
        zero, mask = (ir.Constant(IR_TYPES["i64"], number) for number in (0, -size))
        count = self.b.sub(stop, start)
        count = self.b.select(self.b.icmp_signed(">", count, zero), count, zero)
        return self.b.add(start, self.b.and_(count, mask))

    def _counted(self, node, start, stop, step, promise, apart):
        """A loop, about which LLVM is promised `promise`; `apart`: that its rounds touch no memory
        of each other too."""
        counter = self.slot(i64)
        self.b.store(start, counter)
        slot, _ = self.scope.locals[node.target.id]
        head, body, again, after = (
            self.b.append_basic_block(n) for n in ("for", "body", "next", "end")
        )
        self.b.branch(head)
        self.b.position_at_end(head)
        index = self.b.load(counter)
        self.b.cbranch(self.b.icmp_signed("<", index, stop), body, after)
        self.b.position_at_end(again)
        self.b.store(self.b.add(self.b.load(counter), step, flags=("nsw",)), counter)
        latch, outer = self.b.branch(head), self.group
        if promise is not None:
            self.group = AccessGroup(self.module) if apart else outer
            self._describe(latch, promise, apart)
        self.b.position_at_end(body)
        self.b.store(index, slot)
        self.loop_body(node, again, after)
        self.group = outer

    def _describe(self, latch, promise, apart):
        """Say of a loop, by its last branch, that its rounds touch no memory of each other, and how
        wide its vectors are to be. Else LLVM compares addresses, rounded up to vectors, and takes
        one element at a time where small arrays are side by side: sums would depend on where the
        memory happens to be."""
        module, marks = self.module, []
        if apart:
            marks.append(module.add_metadata(["llvm.loop.parallel_accesses", self.group]))
        for name, kind, value in promise:
            marks.append(module.add_metadata([name, ir.Constant(kind, value)]))
        loop = ir.values.MDValue(module, marks, str(len(module.metadata)))
        loop.operands = (loop, *marks)  # itself first, so that no two loops have the same
        latch.set_metadata("llvm.loop", loop)

    def load_element(self, pointer):
        """What is at an element of an array."""
        value, kind = self.b.load(pointer.ir), pointer.type.element
        self._mark_independent(value)
        if kind.kind != "half":
            return Value(kind, value)
        bits = Value(u32, self.b.zext(value, IR_TYPES["u32"]))
        return self.call(widening(kind), [bits])

    def store_element(self, value, pointer, node):
        """Write an element of an array."""
        kind = pointer.type.element
        if kind.kind == "half":
            bits = self.call(narrowing(kind), [self.convert(value, f32, node)], node)
            bits = self.b.trunc(bits.ir, ir_type(kind))
        else:
            bits = self.convert(value, kind, node).ir
        self._mark_independent(self.b.store(bits, pointer.ir))

    def _mark_independent(self, access):
        if self.group is not None:
            access.set_metadata("llvm.access.group", self.group)
