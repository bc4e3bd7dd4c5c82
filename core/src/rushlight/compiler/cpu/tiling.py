"""The driver of transposed operands, by tiles, as LLVM IR text; see :mod:`.drivers`."""

from __future__ import annotations

from rushlight.compiler.cpu.drivers import (
    BLOCK,
    DESCRIPTOR_SIZES,
    MAX_DIMS,
    PARAMETERS,
    TILE_COLUMNS,
    TILE_ROWS,
    Call,
    locate,
    offset_of,
)
from rushlight.compiler.cpu.packing import element_copies
from rushlight.machine.llvm_text import Function


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

    element_copies(f, by_elements)
    f.do("ret void")
    return f.text()


def tiles() -> str:
    """Tiles lo..hi of the last two dimensions."""
    f = Function("void", "rl_tiles", PARAMETERS)
    call = Call(f)
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
        locate(f, outer, shape, rest, coordinates)
        row, rows_here = extent(down, TILE_ROWS, height)
        column, columns_here = extent(across, TILE_COLUMNS, breadth)

        def copy(j, out, at=(row, column), size=(rows_here, columns_here)):
            own = f.at(strides, f.multiply(j, dims))
            by_row, by_column = f.load(own, outer), f.load(own, last)
            offset = f.add(f.multiply(at[0], by_row), f.multiply(at[1], by_column))
            offset = f.add(offset, offset_of(f, outer, own, coordinates))
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
