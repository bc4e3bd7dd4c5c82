"""Range functions that drive a kernel's blocks over any layout, as LLVM IR text.

Compiled once for all kernels. Each is ``void f(i64* args, i64 lo, i64 hi, i64 tid)``, the form the
worker pool calls:

flat     one dimension, every operand contiguous or scalar; lo..hi are elements
rows     contiguous or scalar along the last dimension, arbitrary outside; lo..hi are rows
repeats  dense runs inside of which operands may repeat; lo..hi are runs; see `repeats.py`
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

    blocks function (see `emitter.py`), log2 of its lanes, operands, outputs, scalars, whether
    stores are aligned only, element size of each operand, step per element of each operand (0 for
    a scalar one)
"""

from __future__ import annotations

from rushlight.machine.llvm_text import Function

BLOCK = 1024  # elements of a stack buffer, of 8 bytes each
TILE_ROWS, TILE_COLUMNS = 16, 64
SHORT_RUN = 16
LONG_RUN = 256  # bytes up to which dense runs are copied here
SLACK = 64  # bytes by which the last vector of a run of one element may pass the end of a buffer
LEAST_SLACK = 16  # the same of a run that is as short as this
MAX_DIMS = 8
ALIGNED_ONLY, DESCRIPTOR_SIZES = 5, 6
COPY, DIRECT, ONCE = range(3)
UNKNOWN = 2
PARAMETERS = "ptr %args, i64 %lo, i64 %hi, i64 %tid"
DECLARATIONS = """declare ptr @memcpy(ptr, ptr, i64)
declare ptr @memset(ptr, i32, i64)"""


class Call:
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


def row(pointers, n, scalars):
    """The arguments of a blocks function for one row."""
    return f"ptr {pointers}, i64 {n}, ptr {scalars}, i64 1, ptr {pointers}"


def run() -> str:
    """Whole blocks, then the rest through stack buffers."""
    f = Function(
        "void",
        "rl_run",
        "ptr %descriptor, ptr %pointers, i64 %n, ptr %scalars, i64 %apart",
        "alwaysinline",
    )
    blocks, shift = f.load("%descriptor", 0, "ptr"), f.load("%descriptor", 1)
    whole = f.value(f"shl i64 {f.value(f'lshr i64 %n, {shift}')}, {shift}")
    left = f.subtract("%n", whole)
    with f.when(f.compare("ne", whole, 0)):
        f.call("void", blocks, row("%pointers", whole, "%scalars"))
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
        f.call("void", blocks, row(passed, lanes, "%scalars"))
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
    f.call("void", blocks, row(passed, f.value(f"shl i64 1, {shift}"), "%scalars"))
    with f.loop(outputs) as j:
        step = f.load(steps, j)
        target = f.pointer(f.add(f.load("%pointers", j), f.multiply("%whole", step)))
        buffer = f.at(buffers, f.multiply(j, buffer_bytes), "i8")
        size = f.multiply("%left", step)
        f.call("ptr", "@memcpy", f"ptr {target}, ptr {buffer}, i64 {size}")
    f.do("ret void")
    return f.text()


def tails() -> str:
    """The last `left` elements of rows that are written in place, whose whole blocks are done: on
    copies, of as many rows at once as a buffer holds. No operand is one element for a row."""
    f = Function(
        "void",
        "rl_tails",
        "ptr %descriptor, ptr %pointers, ptr %steps, i64 %rows, i64 %whole, i64 %left, "
        "ptr %scalars",
        "noinline",
    )
    blocks, shift = f.load("%descriptor", 0, "ptr"), f.load("%descriptor", 1)
    operands, outputs = f.load("%descriptor", 2), f.load("%descriptor", 3)
    sizes, lanes = f.at("%descriptor", DESCRIPTOR_SIZES), f.value(f"shl i64 1, {shift}")
    passed = f.value(f"alloca i64, i64 {operands}, align 8")
    buffers = f.value(f"alloca i8, i64 {f.multiply(operands, 8 * BLOCK)}, align 64")
    together = f.divide(BLOCK, "%left")[0]
    with f.loop("%rows", 0, together) as first:
        rest = f.subtract("%rows", first)
        count = f.choose(f.compare("slt", rest, together), rest, together)
        total = f.multiply(count, "%left")
        n = f.choose(f.compare("slt", total, lanes), lanes, total)

        def copies(j, inward, count=count, first=first):
            size, step = f.load(sizes, j), f.load("%steps", j)
            width, buffer = f.multiply("%left", size), f.load(passed, j)
            start = f.add(f.load("%pointers", j), f.multiply("%whole", size))
            start = f.add(start, f.multiply(first, step))
            with f.loop(count) as r:
                inside = f.pointer(f.add(buffer, f.multiply(r, width)))
                outside = f.pointer(f.add(start, f.multiply(r, step)))
                target, source = (inside, outside) if inward else (outside, inside)
                f.call("ptr", "@memcpy", f"ptr {target}, ptr {source}, i64 {width}")

        with f.loop(operands) as j:
            buffer = f.at(buffers, f.multiply(j, 8 * BLOCK), "i8")
            f.store(f.address(buffer), passed, j)
            with f.when(f.compare("ne", n, total)):
                f.call("ptr", "@memset", f"ptr {buffer}, i32 0, i64 {f.multiply(lanes, 8)}")
        with f.loop(operands, outputs) as j:
            copies(j, True)
        f.call("void", blocks, row(passed, n, "%scalars"))
        with f.loop(outputs) as j:
            copies(j, False)
    f.do("ret void")
    return f.text()


def flat() -> str:
    """Elements lo..hi; from 0 the table's own addresses serve."""
    f = Function("void", "rl_flat", PARAMETERS)
    call = Call(f)
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


def locate(f, dims, shape, index, coordinates):
    """Split a row-major index over the first `dims` dimensions into coordinates."""
    rest = f.slot()
    f.store(index, rest)
    with f.loop(dims) as k:
        d = f.subtract(f.subtract(dims, k), 1)
        quotient, remainder = f.divide(f.load(rest), f.load(shape, d))
        f.store(remainder, coordinates, d)
        f.store(quotient, rest)


def offset_of(f, dims, strides, coordinates):
    """Byte offset of coordinates."""
    total = f.slot()
    f.store(0, total)
    with f.loop(dims) as d:
        step = f.multiply(f.load(coordinates, d), f.load(strides, d))
        f.store(f.add(f.load(total), step), total)
    return f.load(total)


def advance(f, dims, shape, coordinates, move):
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


def _is_in_step(f, whole, inner, twice):
    """Whether the blocks function may do several rows of so many elements by itself: they have a
    whole block, and the last one may compute some elements twice or need not."""
    fits = f.compare("ne", whole, 0)
    ends = f.value(f"or i1 {f.compare('eq', whole, inner)}, {f.compare('ne', twice, 0)}")
    return f.value(f"and i1 {fits}, {ends}")


def _is_in_two_steps(f, call, whole, twice):
    """Whether the whole blocks of many rows are done at once, and their last elements by
    :func:`tails`: they are written in place, and no operand is one element for a row."""
    steps = f.at(f.at(call.descriptor, DESCRIPTOR_SIZES), call.operands)
    found = f.slot()
    both = f.value(f"and i1 {f.compare('ne', whole, 0)}, {f.compare('eq', twice, 0)}")
    f.store(f.value(f"zext i1 {both} to i64"), found)
    with f.loop(call.operands) as j:
        with f.when(f.compare("eq", f.load(steps, j), 0)):
            f.store(0, found)
    return f.compare("ne", f.load(found), 0)


def rows() -> str:
    """Rows lo..hi; addresses move by equal steps along the last outer dimension, then like an
    odometer."""
    f = Function("void", "rl_rows", PARAMETERS)
    call = Call(f)
    dims, shape, strides = call.dimensions()
    outer = f.subtract(dims, 1)
    inner, last = f.load(shape, outer), f.subtract(outer, 1)
    extent = f.load(shape, last)
    coordinates, left = f.slot(MAX_DIMS), f.slot()
    pointers, steps = (f.value(f"alloca i64, i64 {call.operands}, align 8") for _ in range(2))
    locate(f, outer, shape, "%lo", coordinates)
    with f.loop(call.operands) as j:
        own = f.at(strides, f.multiply(j, dims))
        offset = offset_of(f, outer, own, coordinates)
        f.store(f.add(f.load(call.addresses, j), offset), pointers, j)
        f.store(f.load(own, last), steps, j)

    def move(d, steps):
        with f.loop(call.operands) as j:
            stride = f.load(strides, f.add(f.multiply(j, dims), d))
            f.store(f.add(f.load(pointers, j), f.multiply(stride, steps)), pointers, j)

    twice = call.apart(pointers)
    shift = f.load(call.descriptor, 1)
    whole = f.value(f"shl i64 {f.value(f'lshr i64 {inner}, {shift}')}, {shift}")
    in_step = _is_in_step(f, whole, inner, twice)
    in_two = f.value(f"xor i1 {in_step}, true")
    in_two = f.value(f"and i1 {in_two}, {_is_in_two_steps(f, call, whole, twice)}")
    f.store(f.subtract("%hi", "%lo"), left)
    again, end = f.name("again"), f.name("end")
    f.label(again)
    f.exit_if(f.compare("sle", f.load(left), 0), end)
    following = f.subtract(extent, f.load(coordinates, last))
    some = f.choose(f.compare("slt", following, f.load(left)), following, f.load(left))
    f.store(f.subtract(f.load(left), some), left)
    with f.when(in_step):
        blocks = f.load(call.descriptor, 0, "ptr")
        arguments = f"ptr {pointers}, i64 {inner}, ptr {call.scalars}, i64 {some}, ptr {steps}"
        f.call("void", blocks, arguments)
        move(last, some)
    with f.when(in_two):
        blocks = f.load(call.descriptor, 0, "ptr")
        arguments = f"ptr {pointers}, i64 {whole}, ptr {call.scalars}, i64 {some}, ptr {steps}"
        f.call("void", blocks, arguments)
        arguments = f"ptr {call.descriptor}, ptr {pointers}, ptr {steps}, i64 {some}"
        rest = f.subtract(inner, whole)
        f.call("void", "@rl_tails", f"{arguments}, i64 {whole}, i64 {rest}, ptr {call.scalars}")
        move(last, some)
    together = f.value(f"or i1 {in_step}, {in_two}")
    with f.loop(f.choose(together, 0, some)):
        call.run(pointers, inner, twice)
        move(last, 1)
    f.store(f.subtract(extent, 1), coordinates, last)
    move(last, -1)
    advance(f, outer, shape, coordinates, move)
    f.do(f"br label %{again}")
    f.lines.append(f"{end}:")
    f.do("ret void")
    return f.text()
