"""Compiled loops behind :mod:`rushlight.kernels.resampling.grid_sampling`. Import at first need.

Positions come in blocks: tables hold, for one tap after the other, the index in a plane or volume
(int32, -1 outside) and the weight of every position of a block; all channels use them. Words follow
:mod:`rushlight.kernels.launch.prepared`.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    NativeFunction,
    Parameter,
    absolute,
    array,
    f32,
    floor,
    function,
    i32,
    i64,
    independent,
    range_kernel,
    real,
    static,
)
from rushlight.machine.worker_pool import scratch

BLOCK = 128  # positions
TAPS = 16  # of the widest mode
TABLES = 8192 + 4 * 8 * BLOCK * TAPS  # bytes: positions, then weights and their derivatives

taps = Parameter("taps")  # along a dimension: 1 nearest, 2 bilinear, 4 bicubic
dims = Parameter("dims")  # of what is sampled: 2 or, but for bicubic, 3
corners = Parameter("corners")  # taps of a position: taps ** dims
padding = Parameter("padding")
align = Parameter("align")
ZEROS, BORDER, REFLECTION = range(3)
A = -0.75


def _exact(definition):
    """A function expanded where it is called, without fused products and sums: at a half, a nearest
    element must not depend on how a compiler rounds."""
    return NativeFunction(definition, "inline", ())


@_exact
def source_of(value, size):
    """The position in elements of a value from -1 to 1."""
    if align == 1:
        return (value + real(1)) * (real(0.5) * real(size - 1))
    return ((value + real(1)) * real(size) - real(1)) * real(0.5)


@_exact
def folded(x, size):
    """A position folded back at the borders as often as needed, and the derivative."""
    low = real(0) if align == 1 else real(-0.5)
    span = real(size - 1) if align == 1 else real(size)
    high = low + span
    distance = absolute(x - low)
    flips = floor(distance / span)
    rest = distance - flips * span
    even = flips - real(2) * floor(flips * real(0.5)) == real(0)
    side = real(1) if x > low else (real(-1) if x < low else real(0))
    place = rest + low if even else high - rest
    slope = side if even else -side
    return place if span > real(0) else x * real(0), slope if span > real(0) else real(0)


@_exact
def limited(x, slope, size):
    """A position limited to the image; no gradient flows where the limit acts."""
    last = real(size - 1)
    place = real(0) if x <= real(0) else (last if x >= last else x)
    free = real(0) if x <= real(0) else (real(0) if x >= last else slope)
    return place, free


@_exact
def padded(x, size):
    """A position as the padding has it, and its derivative."""
    if padding == ZEROS:
        return x, real(1)
    if padding == REFLECTION:
        place, slope = folded(x, size)
        return limited(place, slope, size)
    return limited(x, real(1), size)


@_exact
def rounded(x):
    """The nearest whole number, halves to the even one."""
    low = floor(x)
    rest = x - low
    odd = low - real(2) * floor(low * real(0.5)) == real(1)
    half = low + real(1) if odd else low
    return half if rest == real(0.5) else (low + real(1) if rest > real(0.5) else low)


@_exact
def placed(place, size):
    """A whole number as an index, -1 where it is outside."""
    known = place if place >= real(0) else real(-1)
    return i32(known if place <= real(size - 1) else real(-1))


@function
def near(x):
    """The weight of a neighbour less than one element away. (Keys, 1981.)"""
    return ((real(A) + real(2)) * x - (real(A) + real(3))) * x * x + real(1)


@function
def far(x):
    """The weight of one that is one to two elements away."""
    return ((real(A) * x - real(5 * A)) * x + real(8 * A)) * x - real(4 * A)


@function
def near_slope(x):
    """The derivative of :func:`near`."""
    return (real(3) * (real(A) + real(2)) * x - real(2) * (real(A) + real(3))) * x


@function
def far_slope(x):
    """The derivative of :func:`far`."""
    return (real(3 * A) * x - real(10 * A)) * x + real(8 * A)


@function
def tap(k, x, low, size):
    """The position (-1 outside), the weight and its derivative of one tap along a dimension."""
    if taps == 1:
        return placed(rounded(x), size), real(1), real(0)
    share = x - low
    if taps == 2:
        weight = share if k == 1 else real(1) - share
        return placed(low + real(k), size), weight, real(1 if k == 1 else -1)
    place, _ = padded(low + real(k - 1), size)
    if k == 0:
        return placed(place, size), far(share + real(1)), far_slope(share + real(1))
    if k == 1:
        return placed(place, size), near(share), near_slope(share)
    if k == 2:
        return placed(place, size), near(real(1) - share), -near_slope(real(1) - share)
    return placed(place, size), far(real(2) - share), -far_slope(real(2) - share)


@function
def fill_tables(room, grid, count, height, width, sloped):
    """Tables of a block of positions; with `sloped` also the derivatives of the weights by x and
    by y of the grid."""
    size = 4 if real is f32 else 8
    points, places, weights = array(real, grid), array(i32, room), array(real, room + 8192)
    across = array(real, room + 8192 + size * BLOCK * TAPS)
    down = array(real, room + 8192 + size * BLOCK * TAPS * 2)
    x_scale = real(0.5) * real(width - 1 if align == 1 else width)
    y_scale = real(0.5) * real(height - 1 if align == 1 else height)
    for j in independent(count):
        x, y = source_of(points[2 * j], width), source_of(points[2 * j + 1], height)
        x_slope, y_slope = x_scale, y_scale
        if taps != 4:
            x, x_slope = padded(x, width)
            y, y_slope = padded(y, height)
            x_slope = x_slope * x_scale
            y_slope = y_slope * y_scale
        left, top = floor(x), floor(y)
        for i in static(taps):
            row, y_weight, y_change = tap(i, y, top, height)
            for k in static(taps):
                column, x_weight, x_change = tap(k, x, left, width)
                at = (i * taps + k) * BLOCK + j
                place = i64(row) * width + i64(column)
                fits = row >= 0 and column >= 0
                places[at] = i32(place if fits else i64(-1))
                weights[at] = y_weight * x_weight
                if sloped == 1:
                    across[at] = y_weight * x_change * x_slope
                    down[at] = y_change * x_weight * y_slope


# Constants of all kernels, after the arrays: channels, rows and columns of the input, positions of
# an image, parts that an image is divided into, channels of a part, slices of the input.
CHANNELS, H, W, POSITIONS, PARTS, PER, DEPTH = range(7)
# Rows of the tables of a volume's eight corners, which images leave free.
BY_Z, THROUGH = TAPS * 3 + 2, TAPS * 3 + 3


@function
def fill_volume_tables(room, grid, count, depth, height, width, sloped):
    """:func:`fill_tables` of a volume; with `sloped` also the derivatives by z."""
    size = 4 if real is f32 else 8
    points, places, weights = array(real, grid), array(i32, room), array(real, room + 8192)
    across = array(real, room + 8192 + size * BLOCK * TAPS)
    down = array(real, room + 8192 + size * BLOCK * TAPS * 2)
    through = array(real, room + 8192 + size * BLOCK * THROUGH)
    x_scale = real(0.5) * real(width - 1 if align == 1 else width)
    y_scale = real(0.5) * real(height - 1 if align == 1 else height)
    z_scale = real(0.5) * real(depth - 1 if align == 1 else depth)
    for j in independent(count):
        x, x_slope = padded(source_of(points[3 * j], width), width)
        y, y_slope = padded(source_of(points[3 * j + 1], height), height)
        z, z_slope = padded(source_of(points[3 * j + 2], depth), depth)
        left, top, front = floor(x), floor(y), floor(z)
        for h in static(taps):
            slice_, z_weight, z_change = tap(h, z, front, depth)
            for i in static(taps):
                row, y_weight, y_change = tap(i, y, top, height)
                for k in static(taps):
                    column, x_weight, x_change = tap(k, x, left, width)
                    at = ((h * taps + i) * taps + k) * BLOCK + j
                    place = (i64(slice_) * height + i64(row)) * width + i64(column)
                    fits = slice_ >= 0 and row >= 0 and column >= 0
                    places[at] = i32(place if fits else i64(-1))
                    weights[at] = z_weight * y_weight * x_weight
                    if sloped == 1:
                        across[at] = z_weight * y_weight * x_change * x_slope * x_scale
                        down[at] = z_weight * y_change * x_weight * y_slope * y_scale
                        through[at] = z_change * y_weight * x_weight * z_slope * z_scale


@function
def fill(room, grid, count, words, sloped):
    """The tables of a block of positions."""
    if dims == 3:
        fill_volume_tables(room, grid, count, words[DEPTH], words[H], words[W], sloped)
    else:
        fill_tables(room, grid, count, words[H], words[W], sloped)


@range_kernel(wide=True)
def sample(args, lo, hi, tid):
    """OUT, X, GRID. Items are blocks of positions of an image."""
    g, words, size = array(i64, args), array(i64, args + 8 * 4), 4 if real is f32 else 8
    channels, positions = words[CHANNELS], words[POSITIONS]
    elements = words[DEPTH] * words[H] * words[W]  # of a channel
    room = scratch(tid, TABLES)
    places, weights = array(i32, room), array(real, room + 8192)
    for item in range(lo, hi):
        image, first = item // words[PARTS], item % words[PARTS] * BLOCK
        count = min(BLOCK, positions - first)
        grid = g[3] + size * dims * (image * positions + first)
        fill(room, grid, count, words, 0)
        for c in range(channels):
            plane = image * channels + c
            x = array(real, g[2] + size * plane * elements)
            out = array(real, g[1] + size * (plane * positions + first))
            for j in independent(count):
                total = real(0)
                for k in static(corners):
                    place = i64(places[k * BLOCK + j])
                    value = x[max(place, i64(0))]
                    inside = value if place >= 0 else real(0)
                    total += inside * weights[k * BLOCK + j]
                out[j] = total


@range_kernel(wide=True)
def spread_back(args, lo, hi, tid):
    """OUT, GRAD, GRID: the gradient of the input. Items are channels of an image, some together."""
    g, words, size = array(i64, args), array(i64, args + 8 * 4), 4 if real is f32 else 8
    channels, positions = words[CHANNELS], words[POSITIONS]
    elements = words[DEPTH] * words[H] * words[W]  # of a channel
    room = scratch(tid, TABLES)
    places, weights = array(i32, room), array(real, room + 8192)
    for item in range(lo, hi):
        image, begin = item // words[PARTS], item % words[PARTS] * words[PER]
        end = min(channels, begin + words[PER])
        whole = array(real, g[1] + size * (image * channels + begin) * elements)
        for i in range((end - begin) * elements):
            whole[i] = 0
        for first in range(0, positions, BLOCK):
            count = min(BLOCK, positions - first)
            grid = g[3] + size * dims * (image * positions + first)
            fill(room, grid, count, words, 0)
            for c in range(begin, end):
                plane = image * channels + c
                out = array(real, g[1] + size * plane * elements)
                grad = array(real, g[2] + size * (plane * positions + first))
                for j in range(count):
                    share = grad[j]
                    for k in static(corners):
                        place = i64(places[k * BLOCK + j])
                        if place >= 0:
                            out[place] += share * weights[k * BLOCK + j]


@range_kernel(wide=True)
def position_gradient(args, lo, hi, tid):
    """OUT, GRAD, X, GRID: the gradient of the grid. Items are blocks of positions of an image."""
    g, words, size = array(i64, args), array(i64, args + 8 * 5), 4 if real is f32 else 8
    channels, positions = words[CHANNELS], words[POSITIONS]
    elements = words[DEPTH] * words[H] * words[W]  # of a channel
    room = scratch(tid, TABLES)
    places = array(i32, room)
    across = array(real, room + 8192 + size * BLOCK * TAPS)
    down = array(real, room + 8192 + size * BLOCK * TAPS * 2)
    by_x = array(real, room + 8192 + size * BLOCK * TAPS * 3)
    by_y = array(real, room + 8192 + size * BLOCK * (TAPS * 3 + 1))
    by_z = array(real, room + 8192 + size * BLOCK * BY_Z)
    through = array(real, room + 8192 + size * BLOCK * THROUGH)
    for item in range(lo, hi):
        image, first = item // words[PARTS], item % words[PARTS] * BLOCK
        count = min(BLOCK, positions - first)
        at = size * dims * (image * positions + first)
        fill(room, g[4] + at, count, words, 1)
        for j in independent(count):
            by_x[j] = 0
            by_y[j] = 0
            if dims == 3:
                by_z[j] = 0
        for c in range(channels):
            plane = image * channels + c
            grad = array(real, g[2] + size * (plane * positions + first))
            x = array(real, g[3] + size * plane * elements)
            for j in independent(count):
                x_sum, y_sum, z_sum = real(0), real(0), real(0)
                for k in static(corners):
                    place = i64(places[k * BLOCK + j])
                    value = x[max(place, i64(0))]
                    inside = value if place >= 0 else real(0)
                    x_sum += inside * across[k * BLOCK + j]
                    y_sum += inside * down[k * BLOCK + j]
                    if dims == 3:
                        z_sum += inside * through[k * BLOCK + j]
                by_x[j] += grad[j] * x_sum
                by_y[j] += grad[j] * y_sum
                if dims == 3:
                    by_z[j] += grad[j] * z_sum
        out = array(real, g[1] + at)
        for j in range(count):
            out[dims * j] = by_x[j]
            out[dims * j + 1] = by_y[j]
            if dims == 3:
                out[dims * j + 2] = by_z[j]
