"""Matrices of float32 or float64 turned in registers, a block of vectors at a time."""

from __future__ import annotations

from llvmlite import ir

from rushlight.backends.element_vectors import DOUBLE, SINGLE, VL
from rushlight.backends.kernel_language import Emitted, function, i64, shared_function

I32, I64 = ir.IntType(32), ir.IntType(64)
LANE = 4  # float32 values of 128 bits


def interleave(builder, rows):
    """Rows of n x n values transposed in registers: log2(n) perfect shuffles of rows i and i + n/2,
    but for eight of them."""
    count = len(rows)
    if count == 8:
        return _interleaved_in_lanes(builder, rows)
    low = [i // 2 + (count if i % 2 else 0) for i in range(count)]
    high = [i + count // 2 for i in low]
    for _ in range(count.bit_length() - 1):
        rows = [
            _shuffled(builder, rows[i // 2], rows[i // 2 + count // 2], high if i % 2 else low)
            for i in range(count)
        ]
    return rows


def _shuffled(builder, a, b, order):
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, len(order)), order))


def _interleaved_in_lanes(builder, rows):
    """Eight rows by 24 instructions of AVX2, which shuffles by one within LANE elements: perfect
    shuffles take 48."""

    def joined(a, b, lane):
        return _shuffled(builder, a, b, [place + base for base in (0, LANE) for place in lane])

    ones = [
        joined(a, b, lane)
        for a, b in zip(rows[::2], rows[1::2], strict=True)
        for lane in ((0, 8, 1, 9), (2, 10, 3, 11))
    ]
    twos = [
        joined(ones[half + side], ones[half + side + 2], lane)
        for half in (0, 4)
        for side in (0, 1)
        for lane in ((0, 1, 8, 9), (2, 3, 10, 11))
    ]
    orders = [[*range(i, i + LANE), *range(i + 8, i + 8 + LANE)] for i in (0, LANE)]
    return [_shuffled(builder, twos[j], twos[j + 4], order) for order in orders for j in range(4)]


def _emit_transpose(builder, values, edge, kind=SINGLE):
    """target[j, i] = source[i, j] for one block of as many rows and columns as a vector has lanes.

    At an edge ``rows`` x ``cols`` of the source are read and ``cols`` x ``fill`` of the target
    written, with zeros beyond ``rows``.
    """
    source, source_stride, target, target_stride = values[:4]
    rows = []
    for i in range(kind.count):
        mask = None
        if edge:
            inside = builder.icmp_signed("<", I64(i), values[4])
            mask = kind.below(builder, builder.select(inside, values[5], I64(0)))
        address = builder.add(source, builder.mul(source_stride, I64(i)))
        rows.append(kind.load(builder, address, mask))
    rows = interleave(builder, rows)
    places = [builder.add(target, builder.mul(target_stride, I64(j))) for j in range(kind.count)]
    if not edge:
        for row, place in zip(rows, places, strict=True):
            kind.store(builder, row, place)
    elif VL == 16:
        for j, (row, place) in enumerate(zip(rows, places, strict=True)):
            inside = builder.icmp_signed("<", I64(j), values[5])
            mask = kind.below(builder, builder.select(inside, values[6], I64(0)))
            kind.store(builder, row, place, mask)
    else:
        _store_edge(builder, kind, rows, places, values[5], values[6])


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


def _transposed(edge, kind):
    """The piece for blocks inside of a matrix, or at its edge."""
    name = ("transpose_edge" if edge else "transpose_block") + ("" if kind is SINGLE else "_f64")
    count = 7 if edge else 4
    return Emitted(name, None, (i64,) * count, lambda b, v: _emit_transpose(b, v, edge, kind))


_transpose_block, _transpose_edge = _transposed(False, SINGLE), _transposed(True, SINGLE)
_block_of_doubles, _edge_of_doubles = _transposed(False, DOUBLE), _transposed(True, DOUBLE)


@function
def start_of_block(index, count, fill, lanes):
    """Where the block at an index begins: one at the end begins early enough to be whole, if there
    are as many rows or columns and nothing but them is written."""
    return count - lanes if count < index + lanes and lanes <= count and fill <= count else index


@shared_function
def transpose(source, source_stride, target, target_stride, rows, cols, fill):
    """target[j, i] = source[i, j] for i < rows, j < cols; target[j, rows:fill] = 0."""
    limit = max(rows, fill)
    for i in range(0, limit, VL):
        first = start_of_block(i, rows, fill, VL)
        for j in range(0, cols, VL):
            start = start_of_block(j, cols, 0, VL)
            s = source + first * source_stride + 4 * start
            t = target + start * target_stride + 4 * first
            if first + VL <= rows and start + VL <= cols:
                _transpose_block(s, source_stride, t, target_stride)
            else:
                _transpose_edge(s, source_stride, t, target_stride, rows - first,
                                min(cols - start, VL), limit - first)  # fmt: skip


@shared_function
def transpose_doubles(source, source_stride, target, target_stride, rows, cols, fill):
    """The same for float64."""
    limit, lanes = max(rows, fill), i64(VL // 2)
    for i in range(0, limit, lanes):
        first = start_of_block(i, rows, fill, lanes)
        for j in range(0, cols, lanes):
            start = start_of_block(j, cols, 0, lanes)
            s = source + first * source_stride + 8 * start
            t = target + start * target_stride + 8 * first
            if first + lanes <= rows and start + lanes <= cols:
                _block_of_doubles(s, source_stride, t, target_stride)
            else:
                _edge_of_doubles(s, source_stride, t, target_stride, rows - first,
                                 min(cols - start, lanes), limit - first)  # fmt: skip
