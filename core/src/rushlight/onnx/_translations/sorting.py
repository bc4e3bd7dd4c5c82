"""Order: sorting, the largest, medians, positions in sequences that are in order."""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._registry import aten
from rushlight.onnx._translations.elementwise import isnan
from rushlight.onnx._types import NARROW


def ordered(g, x, count, dim, largest):
    """The `count` largest or smallest along a dimension, in order, with their positions."""
    if x.rank == 0:
        return x, g.constant(0, rushlight.int64)
    narrow = x.dtype
    if narrow in (rushlight.int8, rushlight.int16, rushlight.uint8, rushlight.bool):
        x = g.cast(x, rushlight.int32)
    values, places = g.op(
        "TopK", x, g.sizes([count]), outputs=2, axis=dim, largest=int(largest), sorted=1
    )
    places.dtype = rushlight.int64
    return g.cast(values, narrow), places


@aten("topk")
def topk(g, self, k, dim=-1, largest=True, sorted=True):
    return ordered(g, self, k, dim, largest)


@aten("sort", "sort.stable")
def sort(g, self, stable=None, dim=-1, descending=False):
    return ordered(g, self, g.size(self, dim) if self.rank else 1, dim, descending)


@aten("argsort", "argsort.stable")
def argsort(g, self, dim=-1, descending=False):
    return sort(g, self, None, dim, descending)[1]


@aten("msort")
def msort(g, self):
    return sort(g, self, None, 0)[0]


@aten("kthvalue")
def kthvalue(g, self, k, dim=-1, keepdim=False):
    if self.rank == 0:
        return self, g.constant(0, rushlight.int64)
    found = ordered(g, self, g.size(self, dim), dim, False)
    return tuple(_at(g, one, k - 1, dim, keepdim) for one in found)


def _at(g, x, place, dim, keepdim):
    dim %= len(g.out[0].shape) if keepdim else len(g.out[0].shape) + 1
    index = g.constant([place] if keepdim else place, rushlight.int64)
    return g.op("Gather", x, index, axis=dim)


@aten("median.dim")
def median_dim(g, self, dim=None, keepdim=False):
    if self.rank == 0:
        return self, g.constant(0, rushlight.int64)
    dim = dim[0] if isinstance(dim, list | tuple) else dim
    return kthvalue(g, self, (self.shape[dim] + 1) // 2, dim, keepdim)


@aten("median")
def median(g, self):
    flat = g.reshape(self, [-1])
    values, _ = ordered(g, flat, g.constant(self.meta.numel(), rushlight.int64), 0, False)
    return g.op("Gather", values, g.constant((self.meta.numel() - 1) // 2, rushlight.int64), axis=0)


@aten("_nanmedian", "nanmedian.dim")
def nanmedian_dim(g, self, dim=-1, keepdim=False):
    if self.rank == 0:
        return self, g.constant(0, rushlight.int64)
    if not self.dtype.is_floating_point:
        return median_dim(g, self, dim, keepdim)
    axis = dim % self.rank
    unknown = isnan(g, self)
    x = g.op("Where", unknown, g.like(math.inf, self), self, dtype=self.dtype)
    x.shape = self.shape
    _, order = ordered(g, x, g.size(self, axis), axis, False)
    known = g.cast(g.op("Not", unknown), rushlight.int64)
    last = g.op("Sub", g.op("ReduceSum", known, g.integers([axis]), keepdims=1), g.integers([1]))
    middle = g.op("Max", g.op("Div", last, g.integers([2])), g.integers([0]))
    place = g.op("GatherElements", order, middle, axis=axis)
    # a nan that stands before an infinity of the same order is not it
    missed = g.op("GatherElements", known, place, axis=axis)
    infinite = g.op("Equal", self, g.like(math.inf, self), dtype=rushlight.bool)
    first = g.op("ArgMax", g.cast(infinite, rushlight.int32), axis=axis, dtype=rushlight.int64)
    missed = g.op("Equal", missed, g.integers([0]), dtype=rushlight.bool)
    place = g.op("Where", missed, first, place, dtype=rushlight.int64)
    found = g.op("GatherElements", self, place, axis=axis), place
    return found if keepdim else tuple(g.squeeze(v, axis) for v in found)


@aten("_median_of_all")
def median_of_all(g, input, skip_nan=False):
    flat = g.reshape(input, [-1])
    if skip_nan and input.dtype.is_floating_point:
        flat.shape = (input.meta.numel(),)
        return nanmedian_dim(g, flat, 0)[0]
    return median(g, input)


@aten("_searchsorted")
def searchsorted(g, sorted_sequence, input, out_int32=False, right=False, side=None, sorter=None):
    """A binary search of all values at once, from the highest bit of the position down."""
    sequence, values = sorted_sequence, input
    count = sequence.shape[-1]
    if sequence.rank > 1 and not values.rank:
        raise NotImplementedError("a number beside sequences of several dimensions")
    if sorter is not None:
        sequence = g.op("GatherElements", sequence, sorter, axis=-1, shape=sorter.shape)
    after = right or side == "right"
    found = g.op("Expand", g.integers([0]), g.shape_of(values)) if values.rank else g.constant(0)
    for bit in reversed(range(count.bit_length())):
        step = g.constant(1 << bit, rushlight.int64)
        farther = g.op("Add", found, step)
        last = g.op("Min", g.op("Sub", farther, g.like(1, step)), g.like(count - 1, step))
        axis = {"axis": sequence.rank - 1}
        kind = "Gather" if sequence.rank == 1 else "GatherElements"
        below = _belongs_behind(g, values, g.op(kind, sequence, last, **axis), after)
        inside = g.op("LessOrEqual", farther, g.like(count, step), dtype=rushlight.bool)
        goes = g.op("And", below, inside)
        found = g.op("Where", goes, farther, found, dtype=rushlight.int64)
    return g.cast(found, rushlight.int32 if out_int32 else rushlight.int64)


def _belongs_behind(g, values, elements, after):
    """Whether values come behind elements of a sequence; nan, which is largest, always does."""
    kind = "LessOrEqual" if after else "Less"
    if elements.dtype in NARROW:
        elements, values = g.to(rushlight.int32, elements, values)
    below = g.op(kind, elements, values, dtype=rushlight.bool)
    if not values.dtype.is_floating_point:
        return below
    return g.op("Or", below, isnan(g, values))
