"""Rows in order by their keys' bytes, lowest byte first (LSD radix sort), which is stable.

Keys are unsigned numbers that have the elements' order. Those of 32 bits share a word with the
element's position below them, and only the bytes of the key are sorted by; those of 64 bits are
beside the positions. A byte that all keys share is passed over, so that small integers take two
passes. Import at first need: it imports the compiler."""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    bitcast,
    f32,
    f64,
    function,
    i32,
    i64,
    range_kernel,
    static,
)
from rushlight.machine.worker_pool import memset, scratch

element = Parameter("element")  # f32, i32, f64 or i64
width = Parameter("width")  # bytes of an element
descending = Parameter("descending")
LARGEST, LARGEST_64 = 0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF
LOW = 0xFFFFFFFF


@function
def key_of(x, i):
    """The key of element i. NaN counts as the largest, both zeros are equal."""
    if element is f32:
        bits = bitcast(i32, x[i] + f32(0.0))
        short = bits ^ ((bits >> 31) & i32(LARGEST))
        key = i64(i32(LARGEST) if x[i] != x[i] else short) & LOW ^ (LARGEST + 1)
    elif element is f64:
        bits = bitcast(i64, x[i] + f64(0.0))
        wide = bits ^ ((bits >> 63) & i64(LARGEST_64))
        key = (i64(LARGEST_64) if x[i] != x[i] else wide) ^ (-LARGEST_64 - 1)
    elif width == 4:
        key = i64(x[i]) & LOW ^ (LARGEST + 1)
    else:
        key = x[i] ^ (-LARGEST_64 - 1)
    if descending == 1:
        key = key ^ (LOW if width == 4 else -1)
    return key


@function
def byte_of(word, byte):
    """One of the bytes that keys are sorted by."""
    return (word >> (8 * byte + (32 if width == 4 else 0))) & 255


@function
def make_keys(x, n, keys, places, counts):
    """Keys (with positions below, or beside), and how often each byte has each value."""
    memset(counts, i32(0), 8 * 256 * width)
    word, place, count = array(i64, keys), array(i64, places), array(i64, counts)
    for i in range(n):
        key = key_of(x, i)
        if width == 4:
            key = (key << 32) | i
        else:
            place[i] = i
        word[i] = key
        for byte in static(width):
            count[256 * byte + byte_of(key, byte)] += 1


@function
def sort_by_byte(byte, count, n, keys, places, other_keys, other_places):
    """One pass; ``count`` becomes the positions behind those that are taken."""
    before = i64(0)
    for value in range(256):
        number = count[value]
        count[value] = before
        before += number
    word, target = array(i64, keys), array(i64, other_keys)
    place, target_place = array(i64, places), array(i64, other_places)
    for i in range(n):
        key = word[i]
        value = byte_of(key, byte)
        to = count[value]
        count[value] = to + 1
        target[to] = key
        if width == 8:
            target_place[to] = place[i]


@function
def order_row(x, values, out, n, memory, counts):
    """Values and positions of one row; ``memory``: a word for every element, three of 64 bits."""
    # words with positions end in ``out``; so do the positions beside keys of 64 bits
    keys, other_keys = memory, memory + 8 * n
    places, other_places = memory + 16 * n, out
    if width == 4:
        other_keys = out
    make_keys(x, n, keys, places, counts)
    for byte in range(width):
        count = array(i64, counts + 8 * 256 * byte)
        if count[byte_of(array(i64, keys)[0], byte)] < n:
            sort_by_byte(byte, count, n, keys, places, other_keys, other_places)
            keys, other_keys = other_keys, keys
            places, other_places = other_places, places
    found, place = array(i64, keys if width == 4 else places), array(i64, out)
    for i in range(n):
        at = found[i]
        if width == 4:
            at = at & LOW
        place[i] = at
        values[i] = x[at]


@range_kernel
def order_rows(args, lo, hi, tid):
    """A number, VALUES, PLACES, X; elements of a row. Items are rows."""
    g = array(i64, args)
    n, words = g[4], 1 if width == 4 else 3
    counts = scratch(tid, 8 * (words * n + 256 * width))
    for row in range(lo, hi):
        x, values = array(element, g[3] + width * row * n), array(element, g[1] + width * row * n)
        order_row(x, values, g[2] + 8 * row * n, n, counts + 8 * 256 * width, counts)


@range_kernel
def order_long_rows(args, lo, hi, tid):
    """A number, VALUES, PLACES, MEMORY, X; elements of a row. Items are rows, whose memory is their
    own: a thread keeps what it has for scratch."""
    g = array(i64, args)
    n, words = g[5], 1 if width == 4 else 3
    counts = scratch(tid, 8 * 256 * width)
    for row in range(lo, hi):
        x, values = array(element, g[4] + width * row * n), array(element, g[1] + width * row * n)
        order_row(x, values, g[2] + 8 * row * n, n, g[3] + 8 * words * row * n, counts)


# ---- one element of each row ---------------------------------------------------------------------


@function
def digit_of(key, byte):
    """One of a key's bytes."""
    return (key >> (8 * byte)) & 255


@function
def narrow(byte, keys, n, rank, counts):
    """Keep the keys that share this byte with the one of rank ``rank``: (how many, its rank)."""
    word, count = array(i64, keys), array(i64, counts)
    memset(counts, i32(0), 8 * 256)
    for i in range(n):
        count[digit_of(word[i], byte)] += 1
    digit, before = i64(0), i64(0)
    while before + count[digit] <= rank:
        before += count[digit]
        digit += 1
    kept = i64(0)
    for i in range(n):
        key = word[i]
        word[kept] = key
        kept += 1 if digit_of(key, byte) == digit else 0
    return kept, rank - before


@function
def choose(x, n, rank, keys, counts):
    """The position of the element of rank ``rank`` in a stable order."""
    word = array(i64, keys)
    first, differing = key_of(x, i64(0)), i64(0)
    for i in range(n):
        key = key_of(x, i)
        word[i] = key
        differing = differing | (key ^ first)
    left = n
    for step in range(width):
        byte = width - 1 - step
        if left > 1 and digit_of(differing, byte) != 0:
            left, rank = narrow(byte, keys, left, rank, counts)
    key, place = word[0], i64(0)
    while key_of(x, place) != key or rank > 0:
        rank -= 1 if key_of(x, place) == key else 0
        place += 1
    return place


@range_kernel
def choose_rows(args, lo, hi, tid):
    """A number, VALUES, PLACES, X, rank; elements of a row. Items are rows."""
    g = array(i64, args)
    rank, n = g[4], g[5]
    counts = scratch(tid, 8 * (256 + n))
    values, places = array(element, g[1]), array(i64, g[2])
    for row in range(lo, hi):
        x = array(element, g[3] + width * row * n)
        place = choose(x, n, rank, counts + 8 * 256, counts)
        places[row] = place
        values[row] = x[place]


@range_kernel
def choose_long_rows(args, lo, hi, tid):
    """A number, VALUES, PLACES, MEMORY, X, rank; elements of a row. Items are rows."""
    g = array(i64, args)
    rank, n = g[5], g[6]
    counts = scratch(tid, 8 * 256)
    values, places = array(element, g[1]), array(i64, g[2])
    for row in range(lo, hi):
        x = array(element, g[4] + width * row * n)
        place = choose(x, n, rank, g[3] + 8 * row * n, counts)
        places[row] = place
        values[row] = x[place]
