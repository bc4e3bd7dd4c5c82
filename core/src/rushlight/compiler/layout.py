"""From shapes and strides to a driver, its argument words, and the layout of new outputs."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from rushlight.compiler.cost import CHEAP_LIMIT
from rushlight.compiler.cpu.drivers import (
    BLOCK,
    COPY,
    DIRECT,
    MAX_DIMS,
    ONCE,
    TILE_COLUMNS,
    TILE_ROWS,
)
from rushlight.machine import memory, np

SHORT_ROW = 32  # elements below which rows go through buffers
LEAST_ROW = 16  # the same of cheap programs with an element for a row: narrower blocks do those
LONG_ROW = 256
LONG_REST = 1024  # elements from which the rest of a row that is written in place does not count
LEAST_RUN = 128  # elements of a run inside of which operands may repeat
LEAST_TILE = 8  # extent below which tiles do not pay
CHUNKS = 64


class Layout(NamedTuple):
    """How one call is driven. Words are those of the argument table after the scalars."""

    driver: str  # "flat", "rows", "packed", "repeats" or "tiles"
    scalars: frozenset  # inputs that one element serves
    words: tuple
    n: int
    grain: int  # items of one chunk
    narrow: bool = False  # blocks of LEAST_ROW elements at most

    @property
    def is_shared(self) -> bool:
        """Whether the call has several chunks, so that the worker pool runs it."""
        return self.n > self.grain


def contiguous_strides(shape, itemsize):
    """Strides of a C-ordered array."""
    strides, step = [0] * len(shape), itemsize
    for d in range(len(shape) - 1, -1, -1):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


# ---------------------------------------------------------------------------- layout of new outputs
def output_order(shape, arrays):
    """Dimensions from the slowest to the fastest in a new output, or None for C order.

    PyTorch's rule: operands of one dense layout pass it on; otherwise dimensions are sorted by the
    strides of the operands, earlier operands first, broadcast dimensions without a vote.
    """
    dims = len(shape)
    if dims < 2 or all(x.shape == shape and x.flags.c_contiguous for x in arrays):
        return None
    padded = [
        tuple(
            abs(s) if n > 1 or extent == 1 else 0
            for n, s, extent in zip(
                (1,) * (dims - x.ndim) + x.shape,
                (0,) * (dims - x.ndim) + x.strides,
                shape,
                strict=True,
            )
        )
        for x in arrays
    ]
    order = list(range(dims - 1, -1, -1))  # fastest first
    for i in range(1, dims):
        at = i
        for before in range(i - 1, -1, -1):
            vote = _vote(order[before], order[at], shape, padded)
            if vote < 0:
                break
            if vote > 0:
                order[before], order[at] = order[at], order[before]
                at = before
    slowest_first = order[::-1]
    return None if slowest_first == list(range(dims)) else tuple(slowest_first)


def _vote(first, second, shape, strides):
    """1 if dimension `first` is slower than `second`, -1 if faster, 0 if no operand tells."""
    for own in strides:
        a, b = own[first], own[second]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[first] > shape[second]:
            return 1
    return 0


def ordered_strides(shape, order, itemsize):
    """Strides of a dense array whose dimensions are in `order`, slowest first."""
    inner = contiguous_strides([shape[d] for d in order], itemsize)
    strides = [0] * len(shape)
    for d, step in zip(order, inner, strict=True):
        strides[d] = step
    return tuple(strides)


# Bytes from which the native calls leave it to Python to make the result: NumPy asks for huge
# pages then.
HUGE_FROM = 1 << 22


@functools.lru_cache(1024)
def _inverse(order):
    """Where each dimension is in an order of them."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def empty(shape, dtype, order=None):
    """A new array whose dimensions are in `order`, slowest first."""
    if order is not None:
        return empty(tuple([shape[d] for d in order]), dtype).transpose(_inverse(order))
    return memory.empty(shape, dtype)


# ------------------------------------------------------------------------------------------ drivers
def collapse(shape, strides):
    """Drop extents of one, sort so that the densest dimension of the first operand (an output) is
    last, merge what is adjacent."""
    dims = [d for d, n in enumerate(shape) if n != 1]
    dims.sort(key=lambda d: [-abs(s[d]) for s in strides])
    merged_shape, merged = [], [[] for _ in strides]
    for d in dims:
        if merged_shape and all(
            m[-1] == s[d] * shape[d] for m, s in zip(merged, strides, strict=True)
        ):
            merged_shape[-1] *= shape[d]
            for m, s in zip(merged, strides, strict=True):
                m[-1] = s[d]
        else:
            merged_shape.append(shape[d])
            for m, s in zip(merged, strides, strict=True):
                m.append(s[d])
    return merged_shape, merged


def broadcast_strides(array, shape):
    """Strides of an array seen with a larger shape."""
    extra = len(shape) - array.ndim
    own = zip(array.shape, array.strides, shape[extra:], strict=True)
    return (0,) * extra + tuple(0 if n == 1 and extent != 1 else s for n, s, extent in own)


def chunk(n, inner, limit, multiple):
    """Items of a chunk: all of them below `limit` elements, else at most 64 chunks.

    A function of shape and program alone, so that results do not depend on the number of threads.
    """
    if n * inner <= limit:
        return max(n, 1)
    least = max(1, limit // 2 // inner)
    return -(-max(least, -(-n // CHUNKS)) // multiple) * multiple


def plan(shape, strides, sizes, outputs, limit, in_place=False):
    """The layout of a call: `strides` and `sizes` of the outputs, then of the inputs; `in_place`:
    whether an output may be an input."""
    if 0 in shape:
        return Layout("flat", frozenset(), (), 0, 1)
    extent, strides = collapse(shape, strides)
    if len(extent) > MAX_DIMS:
        raise NotImplementedError(
            f"an elementwise kernel takes up to {MAX_DIMS} dimensions that cannot be merged, "
            f"got {len(extent)}: make an operand contiguous"
        )
    total = math.prod(extent)
    if not extent:
        extent, strides = [1], [[s] for s in sizes]
    inner = [s[-1] for s in strides]
    regular = all(
        s == size or s == 0 and j >= outputs
        for j, (s, size) in enumerate(zip(inner, sizes, strict=True))
    )
    scalars = frozenset(j - outputs for j, s in enumerate(inner) if s == 0)
    if regular and len(extent) == 1:
        return Layout("flat", scalars, (), total, chunk(total, 1, limit, 1024))
    if not regular:
        turned = _tiles(extent, strides, sizes, limit)
        if turned:
            return turned
    block, modes, _ = _reach(extent, strides, sizes, outputs)
    long = LONG_ROW // 2 if scalars else LONG_ROW
    repeats = ONCE in modes and COPY not in modes and extent[-1] < long
    if not regular or repeats or not _are_rows(extent[-1], scalars, limit, in_place):
        if COPY in modes:
            found = _runs(extent, strides, sizes, outputs, limit)
            if found:
                return found
        words = (*_words(extent, strides), block, *modes)
        grain = chunk(total, 1, limit, BLOCK)
        return Layout("packed", frozenset(), words, total, grain)
    count = total // extent[-1]
    grain = chunk(count, extent[-1], limit, 1)
    narrow = extent[-1] < SHORT_ROW
    return Layout("rows", scalars, _words(extent, strides), count, grain, narrow)


def _are_rows(inner, scalars, limit, in_place):
    """Whether rows of so many elements are done where they are: not where they are short, nor where
    each has a rest which must not be computed twice and cannot be done together with others."""
    cheap = limit >= CHEAP_LIMIT and bool(scalars)
    if inner < (LEAST_ROW if cheap else SHORT_ROW):
        return False
    rest = inner % (LEAST_ROW if inner < SHORT_ROW else SHORT_ROW)
    return not (in_place and rest and scalars and inner < LONG_REST)


def _words(extent, strides):
    return (len(extent), *extent, *(s for own in strides for s in own))


def _reach(extent, strides, sizes, outputs):
    """For the packed driver: elements of a block, and how it reaches each operand.

    An operand whose slower dimensions are broadcast repeats: its buffer is filled once, if the
    block is a multiple of its period. Periods are products of trailing extents, so the largest
    serves all.
    """
    dense, step = [0] * len(extent), 1
    for d in range(len(extent) - 1, -1, -1):
        dense[d], step = step, step * extent[d]
    periods = []
    for own in strides:
        repeated = next((d for d, s in enumerate(own) if s), len(own))
        periods.append(math.prod(extent[repeated:]) if repeated else math.inf)
    period = max((p for p in periods if p <= BLOCK), default=1)
    lanes = math.lcm(period, 64)  # whole vectors where possible
    block = BLOCK // lanes * lanes or BLOCK // period * period
    modes = [
        DIRECT
        if all(s == size * n for s, n in zip(own, dense, strict=True))
        else ONCE
        if j >= outputs and p <= period
        else COPY
        for j, (own, size, p) in enumerate(zip(strides, sizes, periods, strict=True))
    ]
    return block, modes, periods


def _runs(extent, strides, sizes, outputs, limit):
    """The layout of runs over the trailing dimensions, inside of which no operand is copied but for
    one period of those that repeat; None where there are none that are long enough."""
    for lead in range(1, len(extent)):
        inner = extent[lead:]
        run = math.prod(inner)
        if run < LEAST_RUN:
            return None
        block, modes, periods = _reach(inner, [s[lead:] for s in strides], sizes, outputs)
        if COPY in modes:
            continue
        count = math.prod(extent[:lead])
        periods = [p if mode == ONCE else 1 for p, mode in zip(periods, modes, strict=True)]
        words = (*_words(extent, strides), run, block, lead, *modes, *periods)
        return Layout("repeats", frozenset(), words, count, chunk(count, run, limit, 1))
    return None


def _tiles(extent, strides, sizes, limit):
    """The tiled layout, where an operand runs along another dimension than the output does."""
    for own, size in zip(strides, sizes, strict=True):
        if own[-1] in (0, size) or size not in own:
            continue
        turn = own.index(size)
        if extent[turn] < LEAST_TILE or extent[-1] < LEAST_TILE:
            continue
        order = [d for d in range(len(extent) - 1) if d != turn] + [turn, len(extent) - 1]
        extent = [extent[d] for d in order]
        strides = [[s[d] for d in order] for s in strides]
        down, across = -(-extent[-2] // TILE_ROWS), -(-extent[-1] // TILE_COLUMNS)
        count = math.prod(extent[:-2]) * down * across
        grain = chunk(count, TILE_ROWS * TILE_COLUMNS, limit, 1)
        words = (*_words(extent, strides), down, across)
        return Layout("tiles", frozenset(), words, count, grain)
    return None


def bounds(shape, strides, itemsize):
    """Lowest and highest (exclusive) byte of a layout, relative to its first element."""
    low, high = 0, itemsize
    for n, s in zip(shape, strides, strict=True):
        if n == 0:
            return 0, 0
        low, high = low + min(0, (n - 1) * s), high + max(0, (n - 1) * s)
    return low, high


def overlaps(x, out):
    """Whether writing `out` would change elements of `x` other than those in the same position."""
    if x.__array_interface__["data"] == out.__array_interface__["data"]:
        if x.shape == out.shape and x.strides == out.strides and x.itemsize == out.itemsize:
            return False
    return bool(np.may_share_memory(x, out))
