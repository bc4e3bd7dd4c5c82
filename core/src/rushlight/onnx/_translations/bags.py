"""Sums, means and maxima of rows of a table, in bags of any length."""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._registry import aten

_WITH_SUMS, _WITH_MAXIMA = 16, 18  # the opsets whose ScatterElements reduces
_REDUCTIONS = ("add", "add", "max")  # by mode: sum, mean, maximum


@aten("embedding_bag", "embedding_bag.padding_idx")
def embedding_bag(
    g, weight, indices, offsets, mode=0, per_sample_weights=None, include_last_offset=False,
    padding_idx=None,
):  # fmt: skip
    padding = None if padding_idx is None else padding_idx % weight.shape[0]
    return _bags(
        g, weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding
    )


@aten("_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(
    g, weight, indices, offsets, mode=0, per_sample_weights=None, include_last_offset=False,
    padding_idx=-1,
):  # fmt: skip
    padding = None if padding_idx < 0 else padding_idx
    return _bags(
        g, weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding
    )


def _bags(g, weight, indices, offsets, mode, scales, include_last, padding):
    if g.taken - {0}:
        raise NotImplementedError("of its results, ONNX models give the first alone")
    indices, offsets = (g.cast(v, rushlight.int64) for v in (indices, offsets))
    rows = g.op("Gather", weight, indices, axis=0)
    if scales is not None:
        rows = g.op("Mul", rows, g.unsqueeze(scales, 1))
    counted = None
    if padding is not None:
        kept = g.op("Equal", indices, g.like(padding, indices), dtype=rushlight.bool)
        counted = g.op("Not", kept)
    if g.opset >= (_WITH_MAXIMA if mode == 2 else _WITH_SUMS):
        found = _scattered(g, weight, rows, offsets, counted, mode)
    else:
        found = _compared(g, weight, rows, offsets, counted, mode)
    if include_last:  # what stands behind the last bag
        found = g.slice(found, 0, 0, -1)
    return (found, None, None, None)


def _neutral(g, rows, counted, mode):
    """The number that changes no bag, and rows that are it where they do not count."""
    nothing = g.like(-math.inf if mode == 2 else 0, rows)
    if counted is not None:
        rows = g.op("Where", g.unsqueeze(counted, 1), rows, nothing, dtype=rows.dtype)
    return nothing, rows


def _sizes(g, *values):
    """The first sizes of values as one list."""
    ends = (g.slice(g.shape_of(v), 0, 0, 1) for v in values)
    return g.op("Concat", *ends, axis=0)


def _scattered(g, weight, rows, offsets, counted, mode):
    """Rows brought together at the bag of each, which counts the bags that begin before it."""
    nothing, rows = _neutral(g, rows, counted, mode)
    places = _bag_of(g, rows, offsets)
    width = g.integers([weight.shape[1]])
    empty = g.op("Expand", nothing, g.op("Concat", _sizes(g, offsets), width, axis=0))
    wide = g.op("Expand", g.unsqueeze(places, 1), g.shape_of(rows))
    found = g.op("ScatterElements", empty, wide, rows, axis=0, reduction=_REDUCTIONS[mode])
    if mode == 0:
        return found
    ones = g.op("Expand", g.like(1, rows), _sizes(g, rows))
    if counted is not None:
        ones = g.cast(counted, rows.dtype)
    none = g.op("Expand", g.like(0, rows), _sizes(g, offsets))
    counts = g.op("ScatterElements", none, places, ones, axis=0, reduction="add")
    return _of_empty(g, found, g.unsqueeze(counts, 1), mode)


def _bag_of(g, rows, offsets):
    one = g.constant(1, rushlight.int64)
    length = g.op("Add", _sizes(g, rows), one)  # a bag may begin behind the last row
    none = g.op("Expand", g.constant(0, rushlight.int64), length)
    ones = g.op("Expand", one, g.shape_of(offsets))
    begins = g.op("ScatterElements", none, offsets, ones, axis=0, reduction="add")
    begun = g.op("CumSum", begins, g.constant(0, rushlight.int64))
    return g.op("Sub", g.slice(begun, 0, 0, -1), one)


def _compared(g, weight, rows, offsets, counted, mode):
    """Reductions over all rows for each bag, where ScatterElements does not reduce yet."""
    nothing, rows = _neutral(g, rows, counted, mode)
    zero, one = (g.constant(n, rushlight.int64) for n in (0, 1))
    count = g.squeeze(_sizes(g, rows), 0)
    positions = g.op("Range", zero, count, one)
    ends = g.op("Concat", g.slice(offsets, 0, 1, 2**62), g.unsqueeze(count, 0), axis=0)
    begun = g.op("Less", positions, g.unsqueeze(offsets, 1), dtype=rushlight.bool)
    ended = g.op("Less", positions, g.unsqueeze(ends, 1), dtype=rushlight.bool)
    inside = g.op("And", g.op("Not", begun), ended)
    kept = g.op("Where", g.unsqueeze(inside, 2), g.unsqueeze(rows, 0), nothing, dtype=rows.dtype)
    if mode != 2:
        found = g.reduce("ReduceSum", kept, [1], False)
    else:  # a bag that is empty has an element, too
        first = g.op("Expand", nothing, g.op("Concat", _sizes(g, offsets),
                     g.integers([1, weight.shape[1]]), axis=0))  # fmt: skip
        found = g.op("ReduceMax", g.op("Concat", kept, first, axis=1), axes=[1], keepdims=0)
    if mode == 0:
        return found
    if counted is not None:
        inside = g.op("And", inside, counted)
    counts = g.reduce("ReduceSum", g.cast(inside, rows.dtype), [1], True)
    return _of_empty(g, found, counts, mode)


def _of_empty(g, found, counts, mode):
    """Means of sums, or maxima; 0 for bags in which nothing counts."""
    if mode == 1:
        return g.op("Div", found, g.op("Max", counts, g.like(1, counts)))
    empty = g.op("Equal", counts, g.like(0, counts), dtype=rushlight.bool)
    return g.op("Where", empty, g.like(0, found), found, dtype=found.dtype)
