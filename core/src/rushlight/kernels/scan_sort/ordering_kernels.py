"""Compiled loops behind :mod:`rushlight.kernels.scan_sort.ordering`. Import at first need."""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    bitcast,
    f32,
    i32,
    i64,
    range_kernel,
)

descending = Parameter("descending")
element = Parameter("element")  # f32, i32, f64 or i64
width = Parameter("width")  # bytes of an element
LARGEST = 0x7FFFFFFF


@range_kernel
def pack(args, lo, hi, tid):
    """Rows of float32 as int64 that have their order: the number above, its place below. NaN counts
    as the largest, both zeros are equal. Constant: elements of a row."""
    g = array(i64, args)
    n = g[3]
    for row in range(lo, hi):
        x, out = array(f32, g[2] + 4 * row * n), array(i64, g[1] + 8 * row * n)
        for i in range(n):
            bits = bitcast(i32, x[i] + f32(0.0))
            key = bits ^ ((bits >> 31) & i32(LARGEST))
            key = i32(LARGEST) if x[i] != x[i] else key
            if descending == 1:
                key = key ^ i32(-1)
            out[i] = (i64(key) << 32) | i


@range_kernel
def unpack(args, lo, hi, tid):
    """Values and positions of sorted rows. Constant: elements of a row."""
    g = array(i64, args)
    n = g[5]
    for row in range(lo, hi):
        values, places = array(f32, g[1] + 4 * row * n), array(i64, g[2] + 8 * row * n)
        keys, x = array(i64, g[3] + 8 * row * n), array(f32, g[4] + 4 * row * n)
        for i in range(n):
            place = keys[i] & 0xFFFFFFFF
            places[i] = place
            values[i] = x[place]


@range_kernel
def most_frequent(args, lo, hi, tid):
    """A number, VALUE, PLACE, values in order, their positions; elements of a row. Items are rows:
    the last of the longest run of equal elements, of several the first."""
    g = array(i64, args)
    n = g[5]
    for row in range(lo, hi):
        values, places = array(element, g[3] + width * row * n), array(i64, g[4] + 8 * row * n)
        best, longest, start = i64(0), i64(0), i64(0)
        for i in range(1, n):
            start = start if values[i] == values[i - 1] else i
            longer = i - start > longest
            longest = i - start if longer else longest
            best = i if longer else best
        array(element, g[1])[row] = values[best]
        array(i64, g[2])[row] = places[best]
