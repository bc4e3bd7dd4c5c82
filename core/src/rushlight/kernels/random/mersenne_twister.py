"""Draws of MT19937 (Matsumoto and Nishimura, 1998) in blocks, compiled, straight from the state.

The state is that of NumPy's bit generator: 624 words, then the position. A block of words is made
and tempered in vectors, several times as fast as one draw after the other.
Import at first need: it imports the compiler.
"""

from __future__ import annotations

import functools

from rushlight.machine import threads
from rushlight.machine.language.functions import (
    Parameter,
    array,
    bitcast,
    f32,
    f64,
    floor,
    function,
    fused_multiply_add,
    i32,
    i64,
    range_kernel,
    stack,
    u32,
)

__all__ = ["fill"]

# Argument words; then the two numbers of whole numbers and of chances.
STATE, OUT, FIRST, SECOND, COUNT = range(5)
WORDS, MIDDLE = 624, 397

kind = Parameter("kind")
# uint64 words of 32 bits, float32 of 24 bits, float64 of 53; int64 SECOND + word % FIRST; float32
# SECOND with the chance FIRST, else 0; float32 FIRST * 24 bits + SECOND, rounded once
RAW, SINGLE, DOUBLE, WHOLE, CHANCE, BETWEEN = range(6)


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


@function
def remainder(word, span):
    """The remainder of one 32-bit number by another, both as doubles: quotients are exact."""
    return i64(word - floor(word / span) * span)


@function
def draw_into(g, address, total):
    """So many draws from the state of `g` to an address; a double takes two."""
    key, place = array(u32, g[STATE]), array(i32, g[STATE] + 4 * WORDS)
    words, singles, doubles = array(i64, address), array(f32, address), array(f64, address)
    span, low = f64(g[FIRST]), g[SECOND]
    chance, chosen = bitcast(f64, g[FIRST]), f32(bitcast(f64, g[SECOND]))
    position = i64(place[0])
    kept = array(u32, stack(WORDS // 2 + 8))
    have = i64(0)  # words kept for doubles: a pair may span two blocks
    done = i64(0)
    while done < total:
        if position >= WORDS:
            twist(key)
            position = i64(0)
        if kind == DOUBLE or kind == CHANCE:
            n = min(WORDS - position, 2 * (total - done) - have)
            first = have
            for i in range(n):
                kept[first + i] = temper(key[position + i])
            pairs = (have + n) // 2
            for i in range(pairs):
                whole = ((i64(kept[2 * i]) & 0x1FFFFF) << 32) | i64(kept[2 * i + 1])
                number = f64(whole) * 1.1102230246251565e-16
                if kind == DOUBLE:
                    doubles[done + i] = number
                else:
                    singles[done + i] = chosen if number < chance else f32(0)
            have = (have + n) % 2
            kept[0] = kept[2 * pairs]
            done += pairs
        else:
            n = min(WORDS - position, total - done)
            for i in range(n):
                word = temper(key[position + i])
                if kind == RAW:
                    words[done + i] = i64(word)
                elif kind == WHOLE:
                    words[done + i] = low + remainder(f64(i64(word)), span)
                else:
                    value = f32(i32(word & u32(0xFFFFFF))) * f32(5.9604644775390625e-8)
                    if kind == BETWEEN:
                        value = fused_multiply_add(value, f32(chance), chosen)
                    singles[done + i] = value
            done += n
        position += n
    place[0] = i32(position)


@range_kernel
def draw(args, lo, hi, tid):
    """The one item: COUNT draws."""
    g = array(i64, args)
    draw_into(g, g[OUT], g[COUNT])


@functools.cache
def _plan(way):
    return threads.plan(draw.address(kind=way), 1, 1, [0] * 5)


def fill(bits, out, way):
    """Fill a dense array with draws of a NumPy ``MT19937``."""
    with bits.lock:
        threads.run(_plan(way), bits.ctypes.state_address, out, 0, 0, out.size)
