"""The driver of operands that repeat inside of dense runs, as LLVM IR text: pairwise differences.

For every index of the leading dimensions the others are one run. Operands are dense over it, or
repeat with a period that fits a stack buffer: that is filled once for a run, by doubling. lo..hi
are indices of the leading dimensions. The argument table as in
:mod:`rushlight.compiler.cpu.drivers`, and behind it: elements of a run, elements of a block,
leading dimensions, how each operand is reached (DIRECT, ONCE), the period of each operand.
"""

from __future__ import annotations

from rushlight.compiler.cpu.drivers import (
    BLOCK,
    DESCRIPTOR_SIZES,
    MAX_DIMS,
    ONCE,
    PARAMETERS,
    SLACK,
    Call,
    locate,
    offset_of,
)
from rushlight.machine.llvm_text import Function


def double_block() -> str:
    """Copy the first bytes of a buffer behind themselves until `total` are there."""
    f = Function("void", "rl_double_block", "i64 %buffer, i64 %first, i64 %total", "noinline")
    done = f.slot()
    f.store("%first", done)
    again, end = f.name("again"), f.name("end")
    f.label(again)
    f.exit_if(f.compare("uge", f.load(done), "%total"), end)
    there = f.load(done)
    left = f.subtract("%total", there)
    count = f.choose(f.compare("ult", there, left), there, left)
    target = f.pointer(f.add("%buffer", there))
    f.call("ptr", "@memcpy", f"ptr {target}, ptr {f.pointer('%buffer')}, i64 {count}")
    f.store(f.add(there, count), done)
    f.do(f"br label %{again}")
    f.lines.append(f"{end}:")
    f.do("ret void")
    return f.text()


def repeats() -> str:
    """Runs lo..hi."""
    f = Function("void", "rl_repeats", PARAMETERS)
    call = Call(f)
    dims, shape, strides = call.dimensions()
    run, block, lead = (f.load(call.extra, i) for i in range(3))
    modes = f.at(call.extra, 3)
    periods = f.at(modes, call.operands)
    sizes = f.at(call.descriptor, DESCRIPTOR_SIZES)
    coordinates = f.slot(MAX_DIMS)
    pointers = f.value(f"alloca i64, i64 {call.operands}, align 8")
    room = f.multiply(8 * BLOCK + SLACK, call.operands)
    buffers = f.address(f.value(f"alloca i8, i64 {room}, align 64"))
    filled = f.choose(f.compare("ult", run, block), run, block)

    def fill(j, own, base, buffer):
        """The elements of one period, then copies of them."""
        size, period = f.load(sizes, j), f.load(periods, j)
        total, first = f.multiply(filled, size), f.multiply(period, size)
        last = f.subtract(dims, 1)
        one_row = f.compare("eq", f.load(shape, last), period)
        dense = f.value(f"and i1 {one_row}, {f.compare('eq', f.load(own, last), size)}")
        with f.when(dense):
            f.call("ptr", "@memcpy", f"ptr {f.pointer(buffer)}, ptr {f.pointer(base)}, i64 {first}")
        with f.when(f.value(f"xor i1 {dense}, true")):
            f.call(
                "void",
                "@rl_copy_block",
                f"i64 {base}, ptr {f.at(own, lead)}, i64 {f.subtract(dims, lead)}, "
                f"ptr {f.at(shape, lead)}, i64 {size}, i64 {buffer}, i64 0, i64 {period}, "
                "i1 false",
            )
        f.call("void", "@rl_double_block", f"i64 {buffer}, i64 {first}, i64 {total}")

    with f.loop("%hi", "%lo") as item:
        locate(f, lead, shape, item, coordinates)
        with f.loop(call.operands) as j:
            own = f.at(strides, f.multiply(j, dims))
            base = f.add(f.load(call.addresses, j), offset_of(f, lead, own, coordinates))
            buffer = f.add(buffers, f.multiply(j, 8 * BLOCK + SLACK))
            once = f.compare("eq", f.load(modes, j), ONCE)
            f.store(f.choose(once, buffer, base), pointers, j)
            with f.when(once):
                fill(j, own, base, buffer)
        with f.loop(run, 0, block) as start:
            left = f.subtract(run, start)
            call.run(pointers, f.choose(f.compare("ult", left, block), left, block))
            with f.loop(call.operands) as j:
                with f.when(f.compare("ne", f.load(modes, j), ONCE)):
                    step = f.multiply(block, f.load(sizes, j))
                    f.store(f.add(f.load(pointers, j), step), pointers, j)
    f.do("ret void")
    return f.text()
