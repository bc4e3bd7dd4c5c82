"""The extreme of a run of memory in vectors, NaN winning over all numbers, and where it first is.

The optimiser does not vectorise such loops: it would have to reorder what NaN does, or to read past
the element that ends the search. Numbers go by the processor's own maximum, which drops NaN; that
there was one is kept beside it, and costs half a comparison for each vector.
"""

from __future__ import annotations

import functools

from rushlight.kernels.gemm.line_emitters import LINE_BYTES
from rushlight.kernels.gemm.microkernel import I64, VL, prefetch
from rushlight.machine.language.element_vectors import alignment_is_argument
from rushlight.machine.language.functions import Emitted, f32, f64, i64
from rushlight.machine.language.values import counted_loop, ir_type
from rushlight.machine.llvm import ir
from rushlight.machine.processors import has_two_wide_units

__all__ = [
    "FEW",
    "first_place",
    "largest",
    "largest_of_few",
    "select_largest",
    "select_smallest",
    "smallest",
    "smallest_of_few",
]

AHEAD = 4096  # bytes of memory that are asked for before they are read
VECTORS = 4  # results kept at once: one waits for the one before
BIT, I32 = ir.IntType(1), ir.IntType(32)


class _Vectors:
    """Vectors of floating-point elements: `lanes` of them (a register's), `size` bytes each."""

    def __init__(self, builder, kind, lanes=None):
        self.builder, self.kind, self.size = builder, kind, kind.bits // 8
        self.lanes = lanes or VL * 32 // kind.bits
        self.type = ir.VectorType(ir_type(kind), self.lanes)
        self.mask = ir.VectorType(BIT, self.lanes)
        self.none = ir.Constant(self.mask, [0] * self.lanes)

    def every(self, value):
        """A vector of one value."""
        none = ir.Constant(ir.VectorType(value.type, self.lanes), ir.Undefined)
        one = self.builder.insert_element(none, value, I32(0))
        return self.builder.shuffle_vector(one, one, lane_order([0] * self.lanes))

    def load(self, address, index):
        """The vector at an element."""
        at = self.builder.add(address, self.builder.mul(index, I64(self.size)))
        found = self.builder.load(self.builder.inttoptr(at, self.type.as_pointer()))
        found.align = self.size
        return found

    def load_rest(self, address, index, count, other):
        """The vector at an element of which only `count` lanes are there, and which these are."""
        numbers = ir.Constant(ir.VectorType(I64, self.lanes), list(range(self.lanes)))
        there = self.builder.icmp_signed("<", numbers, self.every(count))
        at = self.builder.add(address, self.builder.mul(index, I64(self.size)))
        arguments = [self.builder.inttoptr(at, self.type.as_pointer()), there, other]
        if alignment_is_argument():
            arguments.insert(1, I32(self.size))
        name = f"llvm.masked.load.v{self.lanes}{self.kind.name}.p0"
        signature = ir.FunctionType(self.type, [argument.type for argument in arguments])
        load = self.builder.module.globals.get(name)
        load = load or ir.Function(self.builder.module, signature, name)
        return self.builder.call(load, arguments), there

    def any(self, mask):
        """Whether a mask has a lane."""
        bits = self.bits(mask)
        return self.builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    def bits(self, mask):
        """A mask as an integer."""
        return self.builder.bitcast(mask, ir.IntType(self.lanes))

    def across(self, vector, better):
        """The best lane."""
        step = self.lanes // 2
        while step:
            order = [lane + step if lane < step else lane for lane in range(self.lanes)]
            moved = self.builder.shuffle_vector(vector, vector, lane_order(order))
            vector, step = better(moved, vector), step // 2
        return self.builder.extract_element(vector, I32(0))

    def unless_nan(self, odd, found):
        """A number, or NaN where a mask has a lane."""
        nan = ir.Constant(ir_type(self.kind), float("nan"))
        return self.builder.select(self.any(odd), nan, found)

    def same(self, found, wanted):
        """Which lanes are a value; where there is NaN it is the value."""
        equal = self.builder.fcmp_ordered("==", found, wanted)
        return self.builder.or_(equal, self.builder.fcmp_unordered("uno", found, found))


def pointer_to(kind):
    """The type of an address of an element."""
    return ir_type(kind).as_pointer()


def lane_order(order):
    """The constant that a shuffle takes."""
    return ir.Constant(ir.VectorType(I32, len(order)), order)


def ask_ahead(builder, address, count):
    """Ask for the lines of so many bytes, AHEAD of those at an address, where two units wait for
    them. A Zen 4 does as well by itself, and takes a third to half longer for extremes with it."""
    if not has_two_wide_units():
        return
    for offset in range(0, count, LINE_BYTES):
        prefetch(builder, builder.add(address, I64(AHEAD + offset)))


def worst(v, order):
    """The vector over which every number wins."""
    return ir.Constant(v.type, [float("-inf") if order == ">" else float("inf")] * v.lanes)


def _extreme(kind, order):
    """The extreme of n elements from an address; n is at least 1."""

    def emit(builder, values):
        address, n = values
        v = _Vectors(builder, kind)
        neutral = worst(v, order)

        def better(new, old):
            return builder.select(builder.fcmp_ordered(order, new, old), new, old)

        slots = [builder.alloca(v.type) for _ in range(VECTORS)]
        odd = builder.alloca(v.mask)
        for slot in slots:
            builder.store(neutral, slot)
        builder.store(v.none, odd)

        def note(found, other):
            builder.store(
                builder.or_(builder.load(odd), builder.fcmp_unordered("uno", found, other)), odd
            )

        group = VECTORS * v.lanes
        groups = builder.sdiv(n, I64(group))
        with counted_loop(builder, groups) as i:
            first = builder.mul(i, I64(group))
            start = builder.add(address, builder.mul(first, I64(v.size)))
            ask_ahead(builder, start, group * v.size)
            loaded = [v.load(address, builder.add(first, I64(p * v.lanes))) for p in range(VECTORS)]
            for slot, found in zip(slots, loaded, strict=True):
                builder.store(better(found, builder.load(slot)), slot)
            for pair in range(0, VECTORS, 2):
                note(loaded[pair], loaded[pair + 1])
        first = builder.mul(groups, I64(group))
        rest = builder.sub(n, first)
        singles = builder.sdiv(rest, I64(v.lanes))
        with counted_loop(builder, singles) as i:
            found = v.load(address, builder.add(first, builder.mul(i, I64(v.lanes))))
            builder.store(better(found, builder.load(slots[0])), slots[0])
            note(found, found)
        done = builder.mul(singles, I64(v.lanes))
        left = builder.sub(rest, done)
        with builder.if_then(builder.icmp_signed(">", left, I64(0))):
            found, _ = v.load_rest(address, builder.add(first, done), left, neutral)
            builder.store(better(found, builder.load(slots[1])), slots[1])
            note(found, found)
        found = builder.load(slots[0])
        for slot in slots[1:]:
            found = better(builder.load(slot), found)
        return v.unless_nan(builder.load(odd), v.across(found, better))

    return emit


def _few_extreme(kind, order, lanes):
    """The extreme of at most `lanes` elements from an address."""

    def emit(builder, values):
        address, n = values
        v = _Vectors(builder, kind, lanes)
        found, _ = v.load_rest(address, I64(0), n, worst(v, order))
        odd = builder.fcmp_unordered("uno", found, found)
        best = v.across(found, lambda a, b: builder.select(builder.fcmp_ordered(order, a, b), a, b))
        return v.unless_nan(odd, best)

    return emit


def _few_selected(kind, order, lanes):
    """Where the extreme of at most `lanes` elements first is; it is written to an address."""

    def emit(builder, values):
        address, n, target = values
        v = _Vectors(builder, kind, lanes)
        found, there = v.load_rest(address, I64(0), n, worst(v, order))
        odd = builder.fcmp_unordered("uno", found, found)
        best = v.across(found, lambda a, b: builder.select(builder.fcmp_ordered(order, a, b), a, b))
        store = builder.store(v.unless_nan(odd, best), builder.inttoptr(target, pointer_to(kind)))
        store.align = v.size
        same = builder.fcmp_ordered("==", found, v.every(best))
        first = builder.select(v.any(odd), odd, builder.and_(same, there))
        return builder.zext(builder.cttz(v.bits(first), BIT(0)), I64)

    return emit


def _first_place(kind):
    """The first of n elements from an address that is a value (or NaN as it is), or n."""

    def emit(builder, values):
        address, n, value = values
        v = _Vectors(builder, kind)
        wanted = v.every(value)

        names = ("look", "here", "next", "rest", "after")
        look, here, following, rest, after = (builder.append_basic_block(x) for x in names)
        start = builder.block
        builder.branch(look)
        builder.position_at_end(look)
        index = builder.phi(I64)
        index.add_incoming(I64(0), start)
        until = builder.add(index, I64(v.lanes))
        builder.cbranch(builder.icmp_signed("<=", until, n), here, rest)
        builder.position_at_end(here)
        bits = v.bits(v.same(v.load(address, index), wanted))
        zero = ir.Constant(bits.type, 0)
        builder.cbranch(builder.icmp_unsigned("!=", bits, zero), after, following)
        builder.position_at_end(following)
        index.add_incoming(until, following)
        builder.branch(look)
        builder.position_at_end(rest)
        found, there = v.load_rest(address, index, builder.sub(n, index), wanted)
        last = v.bits(builder.and_(v.same(found, wanted), there))
        builder.branch(after)
        builder.position_at_end(after)
        lanes = builder.phi(bits.type)
        lanes.add_incoming(bits, here)
        lanes.add_incoming(last, rest)
        return builder.add(index, builder.zext(builder.cttz(lanes, BIT(0)), I64))

    return emit


def _by_type(name, result, arguments, emitter):
    return {
        kind: Emitted(f"rl_{name}_{kind.name}", result or kind, arguments, emitter(kind))
        for kind in (f32, f64)
    }


# ``largest(address, n)``: NaN if there is one.
largest = _by_type("largest", None, (i64, i64), functools.partial(_extreme, order=">"))
smallest = _by_type("smallest", None, (i64, i64), functools.partial(_extreme, order="<"))
# ``first_place(address, n, value)``: an i64.
first_place = {
    kind: Emitted(f"rl_first_place_{kind.name}", i64, (i64, i64, kind), _first_place(kind))
    for kind in (f32, f64)
}
# The same for at most FEW elements, without loops; and ``select_largest(address, n, target)``,
# which gives the place and writes the element.
FEW = 8
largest_of_few = _by_type(
    "largest_of_few", None, (i64, i64), functools.partial(_few_extreme, order=">", lanes=FEW)
)
smallest_of_few = _by_type(
    "smallest_of_few", None, (i64, i64), functools.partial(_few_extreme, order="<", lanes=FEW)
)
select_largest = _by_type(
    "select_largest", i64, (i64,) * 3, functools.partial(_few_selected, order=">", lanes=FEW)
)
select_smallest = _by_type(
    "select_smallest", i64, (i64,) * 3, functools.partial(_few_selected, order="<", lanes=FEW)
)
