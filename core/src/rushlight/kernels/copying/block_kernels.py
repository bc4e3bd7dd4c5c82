"""Compiled fills and copies of dense memory, behind :mod:`rushlight.kernels.copying.blocks`.

Items are blocks of bytes. Those that are side by side go through one loop: processors foresee what
the same instruction will touch, and learn it anew for every copy of it that the optimiser makes.
Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.copying.streaming import LINE, stream_copy, stream_fill
from rushlight.machine.language.functions import (
    Parameter,
    array,
    bitcast,
    element,
    f32,
    f64,
    function,
    i32,
    i64,
    range_kernel,
    u8,
    u32,
)

BLOCK = 1 << 15  # bytes of an item
OUT, FIRST = 1, 2  # then the input or the number, then bytes

streams = Parameter("streams")  # 1: stores go past the caches


@function
def move(source, target, count):
    """So many bytes."""
    x, out = array(u8, source), array(u8, target)
    for i in range(count):
        out[i] = x[i]


@function
def move_past(source, target, count):
    """The same past the caches, but for what is no whole line."""
    head = min((0 - target) & (LINE - 1), count)
    move(source, target, head)
    lines = (count - head) // LINE
    done = head + lines * LINE
    stream_copy(source + head, target + head, lines)
    move(source + done, target + done, count - done)


@range_kernel
def copy_blocks(args, lo, hi, tid):
    """Bytes as they are. Constant: how many."""
    g = array(i64, args)
    first = lo * BLOCK
    count = min(g[3], hi * BLOCK) - first
    if streams == 1:
        move_past(g[FIRST] + first, g[OUT] + first, count)
    else:
        move(g[FIRST] + first, g[OUT] + first, count)


@range_kernel
def join_blocks(args, lo, hi, tid):
    """Arrays side by side: items are blocks of the result's rows. The head is how many arrays there
    are; constants: bytes of a row of the result and of each array, and from row to row of each."""
    g = array(i64, args)
    count = g[0]
    wide = g[2 + count]
    pieces = (wide + BLOCK - 1) // BLOCK
    for item in range(lo, hi):
        row, first = item // pieces, (item % pieces) * BLOCK
        last, start = min(wide, first + BLOCK), i64(0)
        for j in range(count):
            width = g[3 + count + j]
            begin, end = max(first, start), min(last, start + width)
            if begin < end:
                source = g[FIRST + j] + row * g[3 + 2 * count + j] + (begin - start)
                target = g[OUT] + row * wide + begin
                if streams == 1:
                    move_past(source, target, end - begin)
                else:
                    move(source, target, end - begin)
            start += width


@function
def number(args):
    """The number of the call: a double for floats, else an integer."""
    if element is f32 or element is f64:
        return element(array(f64, args)[FIRST])
    return element(array(i64, args)[FIRST])


@function
def word_of(value):
    """Eight bytes of the number again and again."""
    if element is f32:
        word = i64(bitcast(u32, value))
        return word | (word << 32)
    if element is i32:
        word = i64(u32(value))
        return word | (word << 32)
    if element is u8:
        return i64(value) * 0x0101010101010101
    return bitcast(i64, value)


@range_kernel
def fill_blocks(args, lo, hi, tid):
    """One number everywhere. Constants: elements, bytes of one."""
    g = array(i64, args)
    value, size = number(args), g[4]
    step = BLOCK // size
    first, last = lo * step, min(g[3], hi * step)
    out = array(element, g[OUT])
    if streams == 1:
        target = g[OUT] + first * size
        head = min(((0 - target) & (LINE - 1)) // size, last - first)
        for i in range(first, first + head):
            out[i] = value
        lines = (last - first - head) * size // LINE
        stream_fill(word_of(value), target + head * size, lines)
        first += head + lines * (LINE // size)
    for i in range(first, last):
        out[i] = value
