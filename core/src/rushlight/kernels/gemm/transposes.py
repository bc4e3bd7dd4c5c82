"""Matrices of float32 or float64 turned in registers of 256 bits, a block at a time.

Registers twice as wide would turn no more values a cycle where their instructions are split, and
a block of theirs leaves more of a small matrix to masks.
"""

from __future__ import annotations

from rushlight.kernels.gemm.microkernel import prefetch
from rushlight.machine.language.element_vectors import VL, Vectors
from rushlight.machine.language.functions import Emitted, function, i64, shared_function
from rushlight.machine.llvm import ir

I32, I64 = ir.IntType(32), ir.IntType(64)
# Lines of cache of every row that are asked for ahead of those read: processors foresee few rows.
AHEAD = 2
SINGLE, DOUBLE = Vectors(ir.FloatType(), "f32", 4, 8), Vectors(ir.DoubleType(), "f64", 8, 4)


def interleave(builder, rows):
    """Rows of n x n values, or of 2 n x n, transposed in registers, `lane` being the values in 128
    bits: `lane` x `lane` of them by shuffles within 128 bits, then those as a whole."""
    lane = 16 // (4 if rows[0].type.element == ir.FloatType() else 8)
    if rows[0].type.count == lane and len(rows) > lane:
        both = list(range(2 * lane))
        rows = [_shuffled(builder, rows[i], rows[i + lane], both) for i in range(lane)]
    groups = [_within_lanes(builder, rows[i : i + lane], lane) for i in range(0, len(rows), lane)]
    columns = [_perfect(builder, list(group), lane) for group in zip(*groups, strict=True)]
    return [column for same in zip(*columns, strict=True) for column in same]


def _shuffled(builder, a, b, order):
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, len(order)), order))


def _within_lanes(builder, rows, lane):
    """Two or four rows, each lane of which is transposed by itself."""
    width = rows[0].type.count

    def joined(a, b, places):
        """Of each lane these positions of a, or of b if they are not below `lane`."""
        places = [place if place < lane else place - lane + width for place in places]
        order = [place + base for base in range(0, width, lane) for place in places]
        return _shuffled(builder, a, b, order)

    if lane == 2:
        return [joined(*rows, (0, 2)), joined(*rows, (1, 3))]
    pairs = [joined(*rows[i : i + 2], order) for order in PAIRS for i in (0, 2)]
    return [joined(*pairs[i : i + 2], order) for i in (0, 2) for order in FOURS]


PAIRS, FOURS = ((0, 4, 1, 5), (2, 6, 3, 7)), ((0, 1, 4, 5), (2, 3, 6, 7))


def _perfect(builder, rows, lane):
    """As many rows as each has lanes, transposed: log2 of that many perfect shuffles of rows i and
    i + n/2."""
    count = len(rows)
    low = [place // 2 + (count if place % 2 else 0) for place in range(count)]
    low, high = (
        [place * lane + i for place in places for i in range(lane)]
        for places in (low, [place + count // 2 for place in low])
    )
    for _ in range(count.bit_length() - 1):
        rows = [
            _shuffled(builder, rows[i // 2], rows[i // 2 + count // 2], high if i % 2 else low)
            for i in range(count)
        ]
    return rows


def _emit_lines(builder, values, kind):
    """target[j, i] = source[i, j] for a block of 64 bytes of rows and columns: whole lines of cache
    are written one after the other, without which each would come and go twice where strides are
    powers of two. They are read so too where there are registers for it."""
    source, source_stride, target, target_stride = values
    count, halves = kind.count, range(2)
    rows = [builder.add(source, builder.mul(source_stride, I64(i))) for i in range(2 * count)]

    def read(half):
        if half == 0:
            for row in rows:
                prefetch(builder, builder.add(row, I64(64 * AHEAD)))
        return [kind.load(builder, builder.add(row, I64(32 * half))) for row in rows]

    def write(half, loaded):
        parts = [interleave(builder, loaded[i : i + count]) for i in (0, count)]
        for j, both in enumerate(zip(*parts, strict=True), half * count):
            place = builder.add(target, builder.mul(target_stride, I64(j)))
            for part, column in enumerate(both):
                kind.store(builder, column, builder.add(place, I64(32 * part)))

    if VL == 16:
        for half, loaded in enumerate([read(half) for half in halves]):
            write(half, loaded)
    else:
        for half in halves:
            write(half, read(half))


def _emit_block(builder, values, kind, high, wide):
    """The same for a block of so many rows and columns, not fewer of the one than of the other."""
    source, source_stride, target, target_stride = values
    part = Vectors(kind.element, kind.name, kind.size, wide)
    rows = [
        part.load(builder, builder.add(source, builder.mul(source_stride, I64(i))))
        for i in range(high)
    ]
    part = Vectors(kind.element, kind.name, kind.size, high)
    for j, column in enumerate(interleave(builder, rows)):
        part.store(builder, column, builder.add(target, builder.mul(target_stride, I64(j))))


def _emit_edge(builder, values, kind):
    """The same for one block at an edge: ``rows`` x ``cols`` of the source are read and ``cols`` x
    ``fill`` of the target written, with zeros beyond ``rows``."""
    source, source_stride, target, target_stride, count, cols, fill = values
    rows, inside = [], kind.below(builder, cols)
    for i in range(kind.count):
        some = builder.icmp_signed("<", I64(i), count)
        mask = builder.select(some, inside, ir.Constant(kind.mask, None))
        address = builder.add(source, builder.mul(source_stride, I64(i)))
        rows.append(kind.load(builder, address, mask))
    rows = interleave(builder, rows)
    places = [builder.add(target, builder.mul(target_stride, I64(j))) for j in range(kind.count)]
    if VL == 16:
        inside = kind.below(builder, fill)
        for j, (row, place) in enumerate(zip(rows, places, strict=True)):
            some = builder.icmp_signed("<", I64(j), cols)
            mask = builder.select(some, inside, ir.Constant(kind.mask, None))
            kind.store(builder, row, place, mask)
    else:
        _store_edge(builder, kind, rows, places, cols, fill)


def _store_edge(builder, kind, rows, places, cols, fill):
    """The first ``fill`` values of the first ``cols`` rows, without masked stores, each of which
    takes as long as the block on processors where masks are not registers of their own."""

    def each(action):
        for j in range(kind.count):
            with builder.if_then(builder.icmp_signed("<", I64(j), cols)):
                action(j)

    whole = builder.icmp_signed(">=", fill, I64(kind.count))
    with builder.if_else(whole) as (then, otherwise):
        with then:
            each(lambda j: kind.store(builder, rows[j], places[j]))
        with otherwise:
            each(lambda j: _store_first(builder, kind, rows[j], places[j], fill))


def _store_first(builder, kind, row, place, fill):
    """The first ``fill`` lanes, fewer than all, by halves, quarters and so on."""
    with builder.goto_entry_block():
        left, where = builder.alloca(kind.kind), builder.alloca(I64)
    builder.store(row, left)
    builder.store(place, where)
    width = kind.count // 2
    while width:
        some = builder.icmp_signed("!=", builder.and_(fill, I64(width)), I64(0))
        with builder.if_then(some):
            value, address = builder.load(left), builder.load(where)
            low = ir.Constant(ir.VectorType(I32, width), list(range(width)))
            part = builder.shuffle_vector(value, value, low)
            pointer = builder.inttoptr(address, part.type.as_pointer())
            builder.store(part, pointer, align=kind.size)
            order = [(lane + width) % kind.count for lane in range(kind.count)]
            order = ir.Constant(ir.VectorType(I32, kind.count), order)
            builder.store(builder.shuffle_vector(value, value, order), left)
            builder.store(builder.add(address, I64(kind.size * width)), where)
        width //= 2


def _piece(name, kind, count, emit, *how):
    name += "" if kind is SINGLE else "_f64"
    return Emitted(name, None, (i64,) * count, lambda b, v: emit(b, v, kind, *how))


def _pieces(kind):
    """Of blocks of 64 bytes of rows and columns, 32 x 32, 32 x 16, 16 x 16, and of edges."""
    n = kind.count
    return (
        _piece("transpose_lines", kind, 4, _emit_lines),
        _piece("transpose_block", kind, 4, _emit_block, n, n),
        _piece("transpose_narrow", kind, 4, _emit_block, n, n // 2),
        _piece("transpose_small", kind, 4, _emit_block, n // 2, n // 2),
        _piece("transpose_edge", kind, 7, _emit_edge),
    )


_lines, _block, _narrow, _small, _edge = _pieces(SINGLE)
_lines_f64, _block_f64, _narrow_f64, _small_f64, _edge_f64 = _pieces(DOUBLE)


@function
def start_of_block(index, count, fill, lanes):
    """Where the block at an index begins: one at the end begins early enough to be whole, if there
    are as many rows or columns and nothing but them is written."""
    return count - lanes if count < index + lanes and lanes <= count and fill <= count else index


@function
def _one_block(size, high, wide, s, source_stride, t, target_stride):
    """One of so many rows and columns, which are constants as the size of an element is."""
    lanes = 32 // size
    if size == 4:
        if high < lanes:
            _small(s, source_stride, t, target_stride)
        elif wide < lanes:
            _narrow(s, source_stride, t, target_stride)
        else:
            _block(s, source_stride, t, target_stride)
    elif high < lanes:
        _small_f64(s, source_stride, t, target_stride)
    elif wide < lanes:
        _narrow_f64(s, source_stride, t, target_stride)
    else:
        _block_f64(s, source_stride, t, target_stride)


@function
def _whole_blocks(size, high, wide, source, source_stride, target, target_stride, rows, cols):
    """A matrix by blocks of so many rows and columns, of which it has as many at least."""
    for i in range(0, rows, high):
        first = min(i, rows - high)
        for j in range(0, cols, wide):
            start = min(j, cols - wide)
            _one_block(size, high, wide, source + first * source_stride + size * start,
                       source_stride, target + start * target_stride + size * first,
                       target_stride)  # fmt: skip


@function
def _any_blocks(size, lanes, source, source_stride, target, target_stride, rows, cols, fill):
    """A matrix of any size by blocks of so many rows and columns."""
    limit = max(rows, fill)
    for i in range(0, limit, lanes):
        first = start_of_block(i, rows, fill, lanes)
        for j in range(0, cols, lanes):
            start = start_of_block(j, cols, 0, lanes)
            s = source + first * source_stride + size * start
            t = target + start * target_stride + size * first
            if first + lanes <= rows and start + lanes <= cols:
                _one_block(size, lanes, lanes, s, source_stride, t, target_stride)
            elif size == 4:
                _edge(s, source_stride, t, target_stride, rows - first, min(cols - start, lanes),
                      limit - first)  # fmt: skip
            else:
                _edge_f64(s, source_stride, t, target_stride, rows - first,
                          min(cols - start, lanes), limit - first)  # fmt: skip


@function
def _by_blocks(size, source, source_stride, target, target_stride, rows, cols, fill):
    """A matrix, or what large blocks leave of one, by blocks that are as large as fits."""
    lanes, half = 32 // size, 16 // size
    few = min(rows, cols)
    if few < half or few >= lanes or fill > rows:
        _any_blocks(size, lanes, source, source_stride, target, target_stride, rows, cols, fill)
    elif rows < lanes:
        _whole_blocks(size, half, half, source, source_stride, target, target_stride, rows, cols)
    else:
        _whole_blocks(size, lanes, half, source, source_stride, target, target_stride, rows, cols)


@shared_function
def small_blocks(source, source_stride, target, target_stride, rows, cols, fill):
    """:func:`transpose` where large blocks are not, or what they leave."""
    _by_blocks(i64(4), source, source_stride, target, target_stride, rows, cols, fill)


@shared_function
def small_blocks_of_doubles(source, source_stride, target, target_stride, rows, cols, fill):
    """The same for float64."""
    _by_blocks(i64(8), source, source_stride, target, target_stride, rows, cols, fill)


@function
def _few(rows, cols, lines):
    """Whether there is no large block, or but one and a rest."""
    return min(rows, cols) < lines or lines < max(rows, cols) < 2 * lines


@function
def _few_sets(source_stride, target_stride):
    """Whether sixteen rows of the source fall into too few sets of a cache to stay there until both
    halves of their lines are read, but those of the target do not."""
    two = source_stride % 2048 == 0 and target_stride % 1024 != 0
    return two or source_stride % 4096 == 0 and target_stride % 2048 != 0


@function
def _lines_stay(target_stride, cols):
    """Whether lines half of which are written are in the cache still when the other half is: with
    16 registers small blocks are quicker then."""
    return VL < 16 and cols <= 256 and target_stride % 512 != 0


@function
def _whole(count, lines):
    """How many rows or columns large blocks take: all, the last of them beginning early enough, if
    more than half of one would be left."""
    left = count % lines
    return count if left > lines // 2 else count - left


@function
def _start_of_rest(count, whole, lines):
    """Where the rest begins, with as much in front of it as makes a small block, or half of one."""
    left, quarter = count - whole, lines // 4
    return count - (2 * quarter if left > quarter else quarter)


@shared_function
def transpose(source, source_stride, target, target_stride, rows, cols, fill):
    """target[j, i] = source[i, j] for i < rows, j < cols; target[j, rows:fill] = 0."""
    small = _few(rows, cols, 16) or _few_sets(source_stride, target_stride)
    if small or _lines_stay(target_stride, cols) or fill > rows:
        small_blocks(source, source_stride, target, target_stride, rows, cols, fill)
        return
    high, wide = _whole(rows, 16), _whole(cols, 16)
    for i in range(0, high, 16):
        first = min(i, rows - 16)
        for j in range(0, wide, 16):
            start = min(j, cols - 16)
            _lines(source + first * source_stride + 4 * start, source_stride,
                   target + start * target_stride + 4 * first, target_stride)  # fmt: skip
    if wide < cols:
        start = _start_of_rest(cols, wide, 16)
        small_blocks(source + 4 * start, source_stride, target + start * target_stride,
                     target_stride, high, cols - start, 0)  # fmt: skip
    if high < rows:
        first = _start_of_rest(rows, high, 16)
        small_blocks(source + first * source_stride, source_stride, target + 4 * first,
                     target_stride, rows - first, cols, 0)  # fmt: skip


@shared_function
def transpose_doubles(source, source_stride, target, target_stride, rows, cols, fill):
    """The same for float64."""
    if _few(rows, cols, 8) or fill > rows:
        small_blocks_of_doubles(source, source_stride, target, target_stride, rows, cols, fill)
        return
    high, wide = _whole(rows, 8), _whole(cols, 8)
    for i in range(0, high, 8):
        first = min(i, rows - 8)
        for j in range(0, wide, 8):
            start = min(j, cols - 8)
            _lines_f64(source + first * source_stride + 8 * start, source_stride,
                       target + start * target_stride + 8 * first, target_stride)  # fmt: skip
    if wide < cols:
        start = _start_of_rest(cols, wide, 8)
        small_blocks_of_doubles(source + 8 * start, source_stride, target + start * target_stride,
                                target_stride, high, cols - start, 0)  # fmt: skip
    if high < rows:
        first = _start_of_rest(rows, high, 8)
        small_blocks_of_doubles(source + first * source_stride, source_stride, target + 8 * first,
                                target_stride, rows - first, cols, 0)  # fmt: skip
