"""The driver of any layout, through stack buffers, as LLVM IR text; see :mod:`.drivers`."""

from __future__ import annotations

from contextlib import contextmanager

from rushlight.compiler.cpu.drivers import (
    BLOCK,
    COPY,
    DESCRIPTOR_SIZES,
    DIRECT,
    LEAST_SLACK,
    LONG_RUN,
    MAX_DIMS,
    ONCE,
    PARAMETERS,
    SHORT_RUN,
    SLACK,
    Call,
    advance,
    locate,
    offset_of,
)
from rushlight.machine.llvm_text import Function


def copy_run() -> str:
    """`count` elements of 1, 2, 4 or 8 bytes from one stride to another."""
    f = Function(
        "void",
        "rl_copy_run",
        "i64 %target, i64 %to, i64 %source, i64 %from, i64 %size, i64 %count",
        "noinline",
    )
    same = f.value(f"and i1 {f.compare('eq', '%to', '%size')}, {f.compare('eq', '%from', '%size')}")
    with f.when(same):
        size = f.multiply("%size", "%count")
        f.call(
            "ptr",
            "@memcpy",
            f"ptr {f.pointer('%target')}, ptr {f.pointer('%source')}, i64 {size}",
        )
        f.do("ret void")
        f.lines.append(f"{f.name('dead')}:")
    for size in (4, 8, 2, 1):
        with f.when(f.compare("eq", "%size", size)):
            kind = f"i{8 * size}"
            with f.loop("%count") as i:
                source = f.pointer(f.add("%source", f.multiply(i, "%from")))
                target = f.pointer(f.add("%target", f.multiply(i, "%to")))
                f.store(f.load(source, 0, kind), target, 0, kind)
            f.do("ret void")
            f.lines.append(f"{f.name('dead')}:")
    f.do("ret void")
    return f.text()


def element_copies(f, emit):
    """`emit(kind)` for the element size in ``%size``."""
    for size in (4, 8, 2, 1):
        with f.when(f.compare("eq", "%size", size)):
            emit(f"i{8 * size}")


def copy_rows() -> str:
    """`rows` runs of `count` elements each, whose addresses move by `below` and `down`; `spread`:
    one element serves a whole run, in vectors that may end behind the target."""
    f = Function(
        "void",
        "rl_copy_rows",
        "i64 %target, i64 %to, i64 %below, i64 %source, i64 %from, i64 %down, i64 %size, "
        "i64 %count, i64 %rows, i1 %spread",
        "noinline",
    )
    length = f.multiply("%count", "%size")

    @contextmanager
    def every_row():
        target, source = f.slot(), f.slot()
        f.store("%target", target)
        f.store("%source", source)
        with f.loop("%rows"):
            there, here = f.load(target), f.load(source)
            yield there, here
            f.store(f.add(there, "%below"), target)
            f.store(f.add(here, "%down"), source)

    def spread(kind, width):
        """In vectors of `width` bytes."""
        lanes = 8 * width // int(kind[1:])
        vector = f"<{lanes} x {kind}>"
        with every_row() as (target, source):
            element = f.load(f.pointer(source), 0, kind)
            one = f.value(f"insertelement {vector} poison, {kind} {element}, i64 0")
            every = f.value(
                f"shufflevector {vector} {one}, {vector} poison, <{lanes} x i32> zeroinitializer"
            )
            with f.loop(length, 0, width) as at:
                f.do(f"store {vector} {every}, ptr {f.pointer(f.add(target, at))}, align 1")
        f.do("ret void")
        f.lines.append(f"{f.name('dead')}:")

    def by_elements(kind):
        with every_row() as (target, source), f.loop("%count") as i:
            here = f.pointer(f.add(source, f.multiply(i, "%from")))
            there = f.pointer(f.add(target, f.multiply(i, "%to")))
            f.store(f.load(here, 0, kind), there, 0, kind)
        f.do("ret void")
        f.lines.append(f"{f.name('dead')}:")

    def vectors():
        """Dense runs of a vector and more, the last vector ending with the run."""
        final, vector = f.subtract(length, LEAST_SLACK), f"<{LEAST_SLACK} x i8>"
        with every_row() as (target, source), f.loop(length, 0, LEAST_SLACK) as at:
            at = f.choose(f.compare("ult", at, final), at, final)
            value = f.load(f.pointer(f.add(source, at)), 0, vector)
            f.store(value, f.pointer(f.add(target, at)), 0, vector)
        f.do("ret void")
        f.lines.append(f"{f.name('dead')}:")

    with f.when("%spread"):
        with f.when(f.compare("ule", length, LEAST_SLACK)):
            element_copies(f, lambda kind: spread(kind, LEAST_SLACK))
        element_copies(f, lambda kind: spread(kind, SLACK))
    dense = f.value(
        f"and i1 {f.compare('eq', '%to', '%size')}, {f.compare('eq', '%from', '%size')}"
    )
    # what is shorter than a vector wraps around
    short = f.compare("ule", f.subtract(length, LEAST_SLACK), LONG_RUN - LEAST_SLACK)
    with f.when(f.value(f"and i1 {dense}, {short}")):
        vectors()
    with f.when(f.compare("ult", "%count", SHORT_RUN)):
        element_copies(f, by_elements)
    with every_row() as (target, source):
        arguments = f"i64 {target}, i64 %to, i64 {source}, i64 %from, i64 %size, i64 %count"
        f.call("void", "@rl_copy_run", arguments)
    f.do("ret void")
    return f.text()


def copy_block() -> str:
    """Elements start..start+count of a strided operand to (or from) a buffer.

    As many whole runs at once as are along the dimension outside of them, then the odometer.
    """
    f = Function(
        "void",
        "rl_copy_block",
        "i64 %base, ptr %strides, i64 %dims, ptr %shape, i64 %size, i64 %buffer, i64 %start, "
        "i64 %count, i1 %out",
        "noinline",
    )
    outer = f.subtract("%dims", 1)
    inner, stride = f.load("%shape", outer), f.load("%strides", outer)
    coordinates = f.slot(MAX_DIMS)
    last = f.choose(f.compare("eq", outer, 0), 0, f.subtract(outer, 1))
    extent, down = f.load("%shape", last), f.load("%strides", last)
    row, first = f.divide("%start", inner)
    f.store(0, coordinates)
    locate(f, outer, "%shape", row, coordinates)
    address, column, done = f.slot(), f.slot(), f.slot()
    f.store(f.add("%base", offset_of(f, outer, "%strides", coordinates)), address)
    f.store(first, column)
    f.store(0, done)
    is_one = f.value(f"and i1 {f.value('xor i1 %out, true')}, {f.compare('eq', stride, 0)}")
    to, come = (f.choose("%out", *p) for p in ((stride, "%size"), ("%size", stride)))

    def move(d, steps):
        f.store(f.add(f.load(address), f.multiply(f.load("%strides", d), steps)), address)

    head, end = f.name("next"), f.name("end")
    f.label(head)
    at, finished = f.load(column), f.load(done)
    in_row, left = f.subtract(inner, at), f.subtract("%count", finished)
    count = f.choose(f.compare("ult", in_row, left), in_row, left)
    here = f.load(coordinates, last)
    some = f.slot()
    f.store(1, some)
    several = f.compare("uge", left, f.multiply(inner, 2))
    with f.when(f.value(f"and i1 {f.compare('eq', at, 0)}, {several}")):
        ahead, (fit, _) = f.subtract(extent, here), f.divide(left, inner)
        f.store(f.choose(f.compare("ult", ahead, fit), ahead, fit), some)
    rows = f.load(some)
    element = f.add(f.load(address), f.multiply(at, stride))
    cell = f.add("%buffer", f.multiply(finished, "%size"))
    width = f.multiply(count, "%size")
    target, source = (f.choose("%out", *p) for p in ((element, cell), (cell, element)))
    below, steps = (f.choose("%out", *p) for p in ((down, width), (width, down)))
    f.call(
        "void",
        "@rl_copy_rows",
        f"i64 {target}, i64 {to}, i64 {below}, i64 {source}, i64 {come}, i64 {steps}, i64 %size, "
        f"i64 {count}, i64 {rows}, i1 {is_one}",
    )
    before = f.subtract(rows, 1)
    f.store(f.add(f.load(address), f.multiply(down, before)), address)
    f.store(f.add(here, before), coordinates, last)
    f.store(f.add(finished, f.multiply(rows, count)), done)
    f.store(0, column)
    f.exit_if(f.compare("uge", f.load(done), "%count"), end)
    advance(f, outer, "%shape", coordinates, move)
    f.do(f"br label %{head}")
    f.lines.append(f"{end}:")
    f.do("ret void")
    return f.text()


def packed() -> str:
    """Elements lo..hi through stack buffers."""
    f = Function("void", "rl_packed", PARAMETERS)
    call = Call(f)
    dims, shape, strides = call.dimensions()
    block, modes = f.load(call.extra), f.at(call.extra, 1)
    sizes = f.at(call.descriptor, DESCRIPTOR_SIZES)
    pointers = f.value(f"alloca i64, i64 {call.operands}, align 8")
    room = f.multiply(8 * BLOCK + SLACK, call.operands)
    buffers = f.address(f.value(f"alloca i8, i64 {room}, align 64"))

    def copy(j, start, count, out):
        own = f.at(strides, f.multiply(j, dims))
        f.call(
            "void",
            "@rl_copy_block",
            f"i64 {f.load(call.addresses, j)}, ptr {own}, i64 {dims}, ptr {shape}, "
            f"i64 {f.load(sizes, j)}, i64 {f.load(pointers, j)}, i64 {start}, i64 {count}, "
            f"i1 {out}",
        )

    def mode_is(j, mode):
        return f.compare("eq", f.load(modes, j), mode)

    with f.loop(call.operands) as j:
        moved = f.add(f.load(call.addresses, j), f.multiply("%lo", f.load(sizes, j)))
        buffer = f.add(buffers, f.multiply(j, 8 * BLOCK + SLACK))
        f.store(f.choose(mode_is(j, DIRECT), moved, buffer), pointers, j)
        with f.when(mode_is(j, ONCE)):
            left = f.subtract("%hi", "%lo")
            copy(j, "%lo", f.choose(f.compare("ult", left, block), left, block), "false")
    with f.loop("%hi", "%lo", block) as start:
        left = f.subtract("%hi", start)
        count = f.choose(f.compare("ult", left, block), left, block)
        with f.loop(call.operands, call.outputs) as j, f.when(mode_is(j, COPY)):
            copy(j, start, count, "false")
        call.run(pointers, count)
        with f.loop(call.outputs) as j, f.when(mode_is(j, COPY)):
            copy(j, start, count, "true")
        with f.loop(call.operands) as j, f.when(mode_is(j, DIRECT)):
            step = f.multiply(block, f.load(sizes, j))
            f.store(f.add(f.load(pointers, j), step), pointers, j)
    f.do("ret void")
    return f.text()
