"""Range functions that drive a kernel's blocks over any layout, as LLVM IR text.

Compiled once for all kernels. Each is ``void f(i64* args, i64 lo, i64 hi, i64 tid)``, the form the
worker pool calls:

flat     one dimension, every operand contiguous or scalar; lo..hi are elements
rows     contiguous or scalar along the last dimension, arbitrary outside; lo..hi are rows
packed   anything else (stepped, negative strides, short rows); lo..hi are elements. Blocks of up to
         1024 go through stack buffers, except operands that are contiguous throughout, which are
         used where they are, and operands that repeat, which are copied once
tiles    transposed operands: the same with tiles of the last two dimensions, so that a cache line
         is read once; lo..hi are tiles

The argument table (int64 words)::

    descriptor, address of each operand (outputs first), scalars,
    but for flat: dims, shape[dims], strides[operand][dims] in bytes
    packed: elements of a block, how each operand is reached (COPY, DIRECT, ONCE)
    tiles: tiles along the last two dimensions

The descriptor belongs to a compiled kernel and never changes::

    blocks function, log2 of its lanes, operands, outputs, scalars, whether stores are aligned only,
    element size of each operand, step per element of each operand (0 for a scalar one)
"""

from __future__ import annotations

from rushlight.backends.llvm_text import Function

BLOCK = 1024  # elements of a stack buffer, of 8 bytes each
TILE_ROWS, TILE_COLUMNS = 16, 64
SHORT_RUN = 16
SLACK = 64  # bytes by which the last vector of a run of one element may pass the end of a buffer
MAX_DIMS = 8
FEW = 3  # operands whose addresses stay in registers
ALIGNED_ONLY, DESCRIPTOR_SIZES = 5, 6
COPY, DIRECT, ONCE = range(3)
UNKNOWN = 2
PARAMETERS = "ptr %args, i64 %lo, i64 %hi, i64 %tid"
DECLARATIONS = """declare ptr @memcpy(ptr, ptr, i64)
declare ptr @memset(ptr, i32, i64)"""


class _Call:
    """The parts of the argument table that every driver reads."""

    def __init__(self, f: Function):
        self.f = f
        self.descriptor = f.load("%args", 0, "ptr")
        self.operands = f.load(self.descriptor, 2)
        self.outputs = f.load(self.descriptor, 3)
        self.addresses = f.at("%args", 1)
        self.scalars = f.at(self.addresses, self.operands)
        layout = f.at(self.scalars, f.load(self.descriptor, 4))
        self.layout = layout

    def dimensions(self):
        """dims, pointer to shape, pointer to strides."""
        f = self.f
        dims = f.load(self.layout)
        shape = f.at(self.layout, 1)
        strides = f.at(shape, dims)
        self.extra = f.at(strides, f.multiply(self.operands, dims))
        return dims, shape, strides

    def run(self, pointers, n, apart=UNKNOWN):
        """The kernel on `n` elements; `apart`: see :func:`apart`."""
        self.f.call(
            "void",
            "@rl_run",
            f"ptr {self.descriptor}, ptr {pointers}, i64 {n}, ptr {self.scalars}, i64 {apart}",
        )

    def apart(self, pointers):
        """Whether blocks may be done twice, found once for many runs."""
        return self.f.call("i64", "@rl_apart", f"ptr {self.descriptor}, ptr {pointers}")


def run() -> str:
    """Whole blocks, then the rest through stack buffers."""
    f = Function(
        "void",
        "rl_run",
        "ptr %descriptor, ptr %pointers, i64 %n, ptr %scalars, i64 %apart",
        "alwaysinline",
    )
    blocks, shift = f.load("%descriptor", 0, "ptr"), f.load("%descriptor", 1)
    count = f.value(f"lshr i64 %n, {shift}")
    whole = f.value(f"shl i64 {count}, {shift}")
    left = f.subtract("%n", whole)
    with f.when(f.compare("ne", count, 0)):
        f.call("void", blocks, f"ptr %pointers, i64 {count}, ptr %scalars")
    with f.when(f.compare("ne", left, 0)):
        f.call(
            "void",
            "@rl_tail",
            f"ptr %descriptor, ptr %pointers, i64 {whole}, i64 {left}, ptr %scalars, i64 %apart",
        )
    f.do("ret void")
    return f.text()


def apart() -> str:
    """1 if computing elements twice is harmless: no output is an input, stores need no alignment;
    else 0."""
    f = Function("i64", "rl_apart", "ptr %descriptor, ptr %pointers", "noinline")
    operands, outputs = f.load("%descriptor", 2), f.load("%descriptor", 3)
    result = f.slot()
    aligned_only = f.load("%descriptor", ALIGNED_ONLY)
    f.store(f.subtract(1, aligned_only), result)
    with f.loop(outputs) as o:
        target = f.load("%pointers", o)
        with f.loop(operands, outputs) as j:
            with f.when(f.compare("eq", f.load("%pointers", j), target)):
                f.store(0, result)
    f.do(f"ret i64 {f.load(result)}")
    return f.text()


def tail() -> str:
    """The last `left` elements, touching nothing outside.

    One block that ends with them where whole blocks came before, which computes some elements
    twice; on copies of them where there were none, or where an output is an input, or where stores
    must be aligned.
    """
    f = Function(
        "void",
        "rl_tail",
        "ptr %descriptor, ptr %pointers, i64 %whole, i64 %left, ptr %scalars, i64 %apart",
        "noinline",
    )
    blocks, shift = f.load("%descriptor", 0, "ptr"), f.load("%descriptor", 1)
    operands, outputs = f.load("%descriptor", 2), f.load("%descriptor", 3)
    sizes = f.at("%descriptor", DESCRIPTOR_SIZES)
    steps = f.at(sizes, operands)
    buffer_bytes = f.value(f"shl i64 8, {shift}")
    passed = f.value(f"alloca i64, i64 {operands}, align 8")
    twice = f.slot()
    f.store(f.choose(f.compare("eq", "%whole", 0), 0, "%apart"), twice)
    with f.when(f.compare("eq", f.load(twice), UNKNOWN)):
        f.store(f.call("i64", "@rl_apart", "ptr %descriptor, ptr %pointers"), twice)
    with f.when(f.compare("ne", f.load(twice), 0)):
        lanes = f.value(f"shl i64 1, {shift}")
        back = f.subtract(f.add("%whole", "%left"), lanes)
        with f.loop(operands) as j:
            moved = f.multiply(back, f.load(steps, j))
            f.store(f.add(f.load("%pointers", j), moved), passed, j)
        f.call("void", blocks, f"ptr {passed}, i64 1, ptr %scalars")
        f.do("ret void")
        f.lines.append(f"{f.name('dead')}:")
    total = f.multiply(buffer_bytes, operands)
    buffers = f.value(f"alloca i8, i64 {total}, align 64")
    f.call("ptr", "@memset", f"ptr {buffers}, i32 0, i64 {total}")
    with f.loop(operands) as j:
        step, source = f.load(steps, j), f.load("%pointers", j)
        buffer = f.at(buffers, f.multiply(j, buffer_bytes), "i8")
        is_scalar = f.compare("eq", step, 0)
        f.store(f.choose(is_scalar, source, f.address(buffer)), passed, j)
        is_input = f.compare("uge", j, outputs)
        copied = f.value(f"select i1 {is_scalar}, i1 false, i1 {is_input}")
        with f.when(copied):
            start = f.pointer(f.add(source, f.multiply("%whole", step)))
            size = f.multiply("%left", step)
            f.call("ptr", "@memcpy", f"ptr {buffer}, ptr {start}, i64 {size}")
    f.call("void", blocks, f"ptr {passed}, i64 1, ptr %scalars")
    with f.loop(outputs) as j:
        step = f.load(steps, j)
        target = f.pointer(f.add(f.load("%pointers", j), f.multiply("%whole", step)))
        buffer = f.at(buffers, f.multiply(j, buffer_bytes), "i8")
        size = f.multiply("%left", step)
        f.call("ptr", "@memcpy", f"ptr {target}, ptr {buffer}, i64 {size}")
    f.do("ret void")
    return f.text()


def flat() -> str:
    """Elements lo..hi; from 0 the table's own addresses serve."""
    f = Function("void", "rl_flat", PARAMETERS)
    call = _Call(f)
    n = f.subtract("%hi", "%lo")
    with f.when(f.compare("eq", "%lo", 0)):
        call.run(call.addresses, n)
        f.do("ret void")
        f.lines.append(f"{f.name('dead')}:")
    steps = f.at(f.at(call.descriptor, DESCRIPTOR_SIZES), call.operands)
    moved = f.value(f"alloca i64, i64 {call.operands}, align 8")
    with f.loop(call.operands) as j:
        offset = f.multiply("%lo", f.load(steps, j))
        f.store(f.add(f.load(call.addresses, j), offset), moved, j)
    call.run(moved, n)
    f.do("ret void")
    return f.text()


def _locate(f, dims, shape, index, coordinates):
    """Split a row-major index over the first `dims` dimensions into coordinates."""
    rest = f.slot()
    f.store(index, rest)
    with f.loop(dims) as k:
        d = f.subtract(f.subtract(dims, k), 1)
        quotient, remainder = f.divide(f.load(rest), f.load(shape, d))
        f.store(remainder, coordinates, d)
        f.store(quotient, rest)


def _offset(f, dims, strides, coordinates):
    """Byte offset of coordinates."""
    total = f.slot()
    f.store(0, total)
    with f.loop(dims) as d:
        step = f.multiply(f.load(coordinates, d), f.load(strides, d))
        f.store(f.add(f.load(total), step), total)
    return f.load(total)


def _advance(f, dims, shape, coordinates, move):
    """Next coordinates, last dimension fastest; `move(d, steps)` shifts the addresses.

    Leaving early is done by a flag: the loop runs over few dimensions.
    """
    moving = f.slot()
    f.store(1, moving)
    with f.loop(dims) as k, f.when(f.compare("ne", f.load(moving), 0)):
        d = f.subtract(f.subtract(dims, k), 1)
        extent = f.load(shape, d)
        following = f.add(f.load(coordinates, d), 1)
        wraps = f.compare("eq", following, extent)
        f.store(f.choose(wraps, 0, following), coordinates, d)
        f.store(f.value(f"zext i1 {wraps} to i64"), moving)
        move(d, f.choose(wraps, f.subtract(1, extent), 1))


def _rows_in_step(f, call, pointers, steps, inner, count):
    """``count`` rows of a few operands, whose addresses stay in registers: whole blocks, then one
    that ends with the row and may compute some elements twice."""
    blocks, shift = f.load(call.descriptor, 0, "ptr"), f.load(call.descriptor, 1)
    several = f.value(f"lshr i64 {inner}, {shift}")
    rest = f.subtract(inner, f.value(f"shl i64 {several}, {shift}"))
    back = f.subtract(inner, f.value(f"shl i64 1, {shift}"))
    widths = f.at(f.at(call.descriptor, DESCRIPTOR_SIZES), call.operands)
    now, ends = [f.slot() for _ in range(FEW)], f.slot(FEW)
    step, end = [], []
    for j in range(FEW):
        f.store(f.load(pointers, j), now[j])
        step.append(f.load(steps, j))
        width = f.load(widths, f.choose(f.compare("ult", j, call.operands), j, 0))
        end.append(f.multiply(back, width))
    with f.loop(count):
        for j in range(FEW):
            f.store(f.load(now[j]), pointers, j)
        f.call("void", blocks, f"ptr {pointers}, i64 {several}, ptr {call.scalars}")
        with f.when(f.compare("ne", rest, 0)):
            for j in range(FEW):
                f.store(f.add(f.load(now[j]), end[j]), ends, j)
            f.call("void", blocks, f"ptr {ends}, i64 1, ptr {call.scalars}")
        for j in range(FEW):
            f.store(f.add(f.load(now[j]), step[j]), now[j])
    for j in range(FEW):
        f.store(f.load(now[j]), pointers, j)


def _is_in_step(f, call, inner, twice):
    """Whether :func:`_rows_in_step` may compute rows of so many elements."""
    shift = f.load(call.descriptor, 1)
    rest = f.subtract(inner, f.value(f"shl i64 {f.value(f'lshr i64 {inner}, {shift}')}, {shift}"))
    fits = f.compare("uge", inner, f.value(f"shl i64 1, {shift}"))
    fits = f.value(f"and i1 {fits}, {f.compare('ule', call.operands, FEW)}")
    ends = f.value(f"or i1 {f.compare('eq', rest, 0)}, {f.compare('ne', twice, 0)}")
    return f.value(f"and i1 {fits}, {ends}")


def rows() -> str:
    """Rows lo..hi; addresses move by equal steps along the last outer dimension, then like an
    odometer."""
    f = Function("void", "rl_rows", PARAMETERS)
    call = _Call(f)
    dims, shape, strides = call.dimensions()
    outer = f.subtract(dims, 1)
    inner, last = f.load(shape, outer), f.subtract(outer, 1)
    extent = f.load(shape, last)
    coordinates, left = f.slot(MAX_DIMS), f.slot()
    room = f.choose(f.compare("ult", call.operands, FEW), FEW, call.operands)
    pointers, steps = (f.value(f"alloca i64, i64 {room}, align 8") for _ in range(2))
    for j in range(FEW):
        f.store(0, pointers, j)
        f.store(0, steps, j)
    _locate(f, outer, shape, "%lo", coordinates)
    with f.loop(call.operands) as j:
        own = f.at(strides, f.multiply(j, dims))
        offset = _offset(f, outer, own, coordinates)
        f.store(f.add(f.load(call.addresses, j), offset), pointers, j)
        f.store(f.load(own, last), steps, j)

    def move(d, steps):
        with f.loop(call.operands) as j:
            stride = f.load(strides, f.add(f.multiply(j, dims), d))
            f.store(f.add(f.load(pointers, j), f.multiply(stride, steps)), pointers, j)

    twice = call.apart(pointers)
    in_step = _is_in_step(f, call, inner, twice)
    f.store(f.subtract("%hi", "%lo"), left)
    again, end = f.name("again"), f.name("end")
    f.label(again)
    f.exit_if(f.compare("sle", f.load(left), 0), end)
    following = f.subtract(extent, f.load(coordinates, last))
    some = f.choose(f.compare("slt", following, f.load(left)), following, f.load(left))
    f.store(f.subtract(f.load(left), some), left)
    fast = f.value(f"select i1 {in_step}, i64 {some}, i64 0")
    _rows_in_step(f, call, pointers, steps, inner, fast)
    with f.loop(some, fast):
        call.run(pointers, inner, twice)
        move(last, 1)
    f.store(f.subtract(extent, 1), coordinates, last)
    move(last, -1)
    _advance(f, outer, shape, coordinates, move)
    f.do(f"br label %{again}")
    f.lines.append(f"{end}:")
    f.do("ret void")
    return f.text()


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


def _element_copies(f, emit):
    """`emit(kind)` for the element size in ``%size``."""
    for size in (4, 8, 2, 1):
        with f.when(f.compare("eq", "%size", size)):
            emit(f"i{8 * size}")


def copy_block() -> str:
    """Elements start..start+count of a strided operand to (or from) a buffer.

    Long runs are copied at once, short ones element by element with the odometer in between.
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
    row, first = f.divide("%start", inner)
    _locate(f, outer, "%shape", row, coordinates)
    address, column, done = f.slot(), f.slot(), f.slot()
    f.store(f.add("%base", _offset(f, outer, "%strides", coordinates)), address)
    f.store(first, column)
    f.store(0, done)

    def move(d, steps):
        f.store(f.add(f.load(address), f.multiply(f.load("%strides", d), steps)), address)

    def one_run(copy):
        """Copy up to the end of a row or of the block, go to the next row."""
        at, finished = f.load(column), f.load(done)
        in_row, left = f.subtract(inner, at), f.subtract("%count", finished)
        count = f.choose(f.compare("ult", in_row, left), in_row, left)
        element = f.add(f.load(address), f.multiply(at, stride))
        cell = f.add("%buffer", f.multiply(finished, "%size"))
        target, source = (f.choose("%out", *p) for p in ((element, cell), (cell, element)))
        to, come = (f.choose("%out", *p) for p in ((stride, "%size"), ("%size", stride)))
        copy(target, to, source, come, count)
        f.store(f.add(finished, count), done)
        f.store(0, column)
        _advance(f, outer, "%shape", coordinates, move)

    def runs(copy):
        head, end = f.name("next"), f.name("end")
        f.label(head)
        one_run(copy)
        f.exit_if(f.compare("uge", f.load(done), "%count"), end)
        f.do(f"br label %{head}")
        f.lines.append(f"{end}:")
        f.do("ret void")
        f.lines.append(f"{f.name('dead')}:")

    def by_elements(kind):
        def copy(target, to, source, come, count):
            with f.loop(count) as i:
                here = f.pointer(f.add(source, f.multiply(i, come)))
                there = f.pointer(f.add(target, f.multiply(i, to)))
                f.store(f.load(here, 0, kind), there, 0, kind)

        runs(copy)

    def spread(kind):
        """One element for a whole run, in vectors that may end behind the run."""
        lanes = 8 * SLACK // int(kind[1:])
        vector = f"<{lanes} x {kind}>"

        def copy(target, to, source, come, count):
            element = f.load(f.pointer(source), 0, kind)
            one = f.value(f"insertelement {vector} poison, {kind} {element}, i64 0")
            every = f.value(
                f"shufflevector {vector} {one}, {vector} poison, <{lanes} x i32> zeroinitializer"
            )
            with f.loop(f.multiply(count, "%size"), 0, SLACK) as at:
                f.do(f"store {vector} {every}, ptr {f.pointer(f.add(target, at))}, align 1")

        runs(copy)

    into = f.value("xor i1 %out, true")
    with f.when(f.value(f"and i1 {into}, {f.compare('eq', stride, 0)}")):
        _element_copies(f, spread)
    with f.when(f.compare("ult", inner, SHORT_RUN)):
        _element_copies(f, by_elements)
    runs(
        lambda target, to, source, come, count: f.call(
            "void",
            "@rl_copy_run",
            f"i64 {target}, i64 {to}, i64 {source}, i64 {come}, i64 %size, i64 {count}",
        )
    )
    f.do("ret void")
    return f.text()


def packed() -> str:
    """Elements lo..hi through stack buffers."""
    f = Function("void", "rl_packed", PARAMETERS)
    call = _Call(f)
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


def _turned(f, kind, side):
    """A square of `side` rows, dense down the columns of an operand, to rows of a buffer: the loads
    of columns are interleaved until they are rows."""
    vector = f"<{side} x {kind}>"
    interleaved = [
        ", ".join(f"i32 {half * side // 2 + i // 2 + i % 2 * side}" for i in range(side))
        for half in (0, 1)
    ]

    def turn(source, across, target, width):
        columns = [
            f.load(f.pointer(f.add(source, f.multiply(i, across))), 0, vector) for i in range(side)
        ]
        for _ in range(side.bit_length() - 1):
            pairs = zip(columns[: side // 2], columns[side // 2 :], strict=True)
            columns = [
                f.value(f"shufflevector {vector} {a}, {vector} {b}, <{side} x i32> <{lanes}>")
                for a, b in pairs
                for lanes in interleaved
            ]
        for i, row in enumerate(columns):
            at = f.pointer(f.add(target, f.multiply(i, width)))
            f.store(row, at, 0, vector)

    return turn


def copy_tile() -> str:
    """A rectangle of an operand to (or from) a buffer of whole rows, along its denser direction."""
    f = Function(
        "void",
        "rl_copy_tile",
        "i64 %base, i64 %down, i64 %across, i64 %size, i64 %rows, i64 %columns, i64 %buffer, "
        "i1 %out",
        "noinline",
    )
    width, done = f.multiply("%columns", "%size"), f.slot()
    f.store(0, done)
    with f.when(f.compare("eq", "%across", "%size")):
        with f.loop("%rows") as r:
            element = f.add("%base", f.multiply(r, "%down"))
            cell = f.add("%buffer", f.multiply(r, width))
            target, source = (f.choose("%out", *p) for p in ((element, cell), (cell, element)))
            arguments = f"ptr {f.pointer(target)}, ptr {f.pointer(source)}, i64 {width}"
            f.call("ptr", "@memcpy", arguments)
        f.do("ret void")
        f.lines.append(f"{f.name('dead')}:")

    def by_elements(kind):
        size, squares = int(kind[1:]) // 8, f.slot()
        f.store(0, squares)
        if size > 1:  # squares in vectors, where columns are dense, and elements below and beside
            side = 4 if size == 8 else 8
            turn, dense = _turned(f, kind, side), f.compare("eq", "%down", "%size")
            into = f.value("xor i1 %out, true")
            with f.when(f.value(f"and i1 {into}, {dense}")):
                down, across = (f.value(f"and i64 {n}, -{side}") for n in ("%rows", "%columns"))
                with f.loop(across, 0, side) as c, f.loop(down, 0, side) as r:
                    source = f.add("%base", f.multiply(c, "%across"))
                    source = f.add(source, f.multiply(r, "%size"))
                    at = f.add(f.multiply(r, width), f.multiply(c, "%size"))
                    turn(source, "%across", f.add("%buffer", at), width)
                f.store(across, squares)
                f.store(down, done)
        with f.loop("%columns") as c:
            first = f.choose(f.compare("ult", c, f.load(squares)), f.load(done), 0)
            one_column(kind, c, first)
        f.do("ret void")
        f.lines.append(f"{f.name('dead')}:")

    def one_column(kind, c, first):
        with f.loop("%rows", first) as r:
            in_column = f.add("%base", f.multiply(c, "%across"))
            element = f.pointer(f.add(in_column, f.multiply(r, "%down")))
            at = f.add(f.multiply(r, width), f.multiply(c, "%size"))
            cell = f.pointer(f.add("%buffer", at))
            target, source = (
                f.value(f"select i1 %out, ptr {a}, ptr {b}")
                for a, b in ((element, cell), (cell, element))
            )
            f.store(f.load(source, 0, kind), target, 0, kind)

    _element_copies(f, by_elements)
    f.do("ret void")
    return f.text()


def tiles() -> str:
    """Tiles lo..hi of the last two dimensions."""
    f = Function("void", "rl_tiles", PARAMETERS)
    call = _Call(f)
    dims, shape, strides = call.dimensions()
    outer, last = f.subtract(dims, 2), f.subtract(dims, 1)
    tiles_down, tiles_across = f.load(call.extra), f.load(call.extra, 1)
    height, breadth = f.load(shape, outer), f.load(shape, last)
    sizes = f.at(call.descriptor, DESCRIPTOR_SIZES)
    coordinates = f.slot(MAX_DIMS)
    pointers = f.value(f"alloca i64, i64 {call.operands}, align 8")
    room = f.multiply(8 * BLOCK, call.operands)
    buffers = f.address(f.value(f"alloca i8, i64 {room}, align 64"))
    with f.loop(call.operands) as j:
        f.store(f.add(buffers, f.multiply(j, 8 * BLOCK)), pointers, j)

    def extent(index, size, total):
        first = f.multiply(index, size)
        left = f.subtract(total, first)
        return first, f.choose(f.compare("ult", left, size), left, size)

    with f.loop("%hi", "%lo") as tile:
        rest, across = f.divide(tile, tiles_across)
        rest, down = f.divide(rest, tiles_down)
        _locate(f, outer, shape, rest, coordinates)
        row, rows_here = extent(down, TILE_ROWS, height)
        column, columns_here = extent(across, TILE_COLUMNS, breadth)

        def copy(j, out, at=(row, column), size=(rows_here, columns_here)):
            own = f.at(strides, f.multiply(j, dims))
            by_row, by_column = f.load(own, outer), f.load(own, last)
            offset = f.add(f.multiply(at[0], by_row), f.multiply(at[1], by_column))
            offset = f.add(offset, _offset(f, outer, own, coordinates))
            f.call(
                "void",
                "@rl_copy_tile",
                f"i64 {f.add(f.load(call.addresses, j), offset)}, i64 {by_row}, i64 {by_column}, "
                f"i64 {f.load(sizes, j)}, i64 {size[0]}, i64 {size[1]}, "
                f"i64 {f.load(pointers, j)}, i1 {out}",
            )

        with f.loop(call.operands, call.outputs) as j:
            copy(j, "false")
        call.run(pointers, f.multiply(rows_here, columns_here))
        with f.loop(call.outputs) as j:
            copy(j, "true")
    f.do("ret void")
    return f.text()


def module() -> str:
    """Text of all drivers."""
    parts = [
        run(),
        apart(),
        tail(),
        flat(),
        rows(),
        copy_run(),
        copy_block(),
        packed(),
        copy_tile(),
    ]
    return "\n".join([DECLARATIONS, *parts, tiles()])
