"""Draws of MT19937 (Matsumoto and Nishimura, 1998) in blocks, compiled, straight from the state.

The state is that of NumPy's bit generator: 624 words, then the position. A block of words is made
and tempered in vectors, several times as fast as one draw after the other.
Import at first need: it imports the compiler.
"""

from __future__ import annotations

import functools

from rushlight.backends import threads
from rushlight.backends.kernel_language import (
    Parameter,
    array,
    f32,
    f64,
    function,
    i32,
    i64,
    range_kernel,
    stack,
    u32,
)

__all__ = ["fill"]

# Argument words.
STATE, OUT, COUNT = range(3)
WORDS, MIDDLE = 624, 397

kind = Parameter("kind")
RAW, SINGLE, DOUBLE = range(3)  # uint64 words of 32 bits, float32 of 24 bits, float64 of 53


@function
def mixed(high, low):
    """What the words at i and i + 1 contribute to the next word i."""
    y = (high & u32(0x80000000)) | (low & u32(0x7FFFFFFF))
    return (y >> 1) ^ (u32(0x9908B0DF) if (low & u32(1)) != u32(0) else u32(0))


@function
def twist(key):
    """The next 624 words, in place."""
    for i in range(WORDS - MIDDLE):
        key[i] = key[i + MIDDLE] ^ mixed(key[i], key[i + 1])
    for i in range(WORDS - MIDDLE, WORDS - 1):
        key[i] = key[i + MIDDLE - WORDS] ^ mixed(key[i], key[i + 1])
    key[WORDS - 1] = key[MIDDLE - 1] ^ mixed(key[WORDS - 1], key[0])


@function
def temper(y):
    """A word of the state as it is given out."""
    y = y ^ (y >> 11)
    y = y ^ ((y << 7) & u32(0x9D2C5680))
    y = y ^ ((y << 15) & u32(0xEFC60000))
    return y ^ (y >> 18)


@range_kernel
def draw(args, lo, hi, tid):
    """The one item: COUNT draws; a double takes two."""
    g = array(i64, args)
    key, place = array(u32, g[STATE]), array(i32, g[STATE] + 4 * WORDS)
    words, singles, doubles = array(i64, g[OUT]), array(f32, g[OUT]), array(f64, g[OUT])
    total = g[COUNT]
    position = i64(place[0])
    kept = array(u32, stack(WORDS // 2 + 8))
    have = i64(0)  # words kept for doubles: a pair may span two blocks
    done = i64(0)
    while done < total:
        if position >= WORDS:
            twist(key)
            position = i64(0)
        if kind == DOUBLE:
            n = min(WORDS - position, 2 * (total - done) - have)
            first = have
            for i in range(n):
                kept[first + i] = temper(key[position + i])
            pairs = (have + n) // 2
            for i in range(pairs):
                whole = ((i64(kept[2 * i]) & 0x1FFFFF) << 32) | i64(kept[2 * i + 1])
                doubles[done + i] = f64(whole) * 1.1102230246251565e-16
            have = (have + n) % 2
            kept[0] = kept[2 * pairs]
            done += pairs
        else:
            n = min(WORDS - position, total - done)
            for i in range(n):
                word = temper(key[position + i])
                if kind == RAW:
                    words[done + i] = i64(word)
                else:
                    singles[done + i] = f32(i32(word & u32(0xFFFFFF))) * f32(5.9604644775390625e-8)
            done += n
        position += n
    place[0] = i32(position)


@functools.cache
def _plan(way):
    return threads.plan(draw.address(kind=way), 1, 1, [0] * 3)


def fill(bits, out, way):
    """Fill a dense array with draws of a NumPy ``MT19937``."""
    with bits.lock:
        threads.run(_plan(way), bits.ctypes.state_address, out, out.size)
