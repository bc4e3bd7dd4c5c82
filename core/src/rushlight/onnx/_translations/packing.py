"""Sequences of different lengths: packed step by step, and padded."""

from __future__ import annotations

import rushlight
from rushlight.onnx._registry import aten


def _range(g, end):
    """0, 1, ... below a scalar of the graph."""
    zero, one = (g.constant(v, rushlight.int64) for v in (0, 1))
    return g.op("Range", zero, end, one, dtype=rushlight.int64, shape=(None,))


def _first(g, values):
    """The first of a list of numbers, as a scalar."""
    return g.op("Gather", values, g.constant(0, rushlight.int64), axis=0, shape=())


def _running(g, steps, lengths):
    """Which sequence still runs at each step (T, N)."""
    steps, lengths = g.unsqueeze(steps, 1), g.unsqueeze(lengths, 0)
    return g.op("Less", steps, lengths, dtype=rushlight.bool)


def _positions(g, running):
    """Where the rows of packed data stand among all steps of all sequences."""
    flat = g.reshape(running, [-1])
    found = g.op("NonZero", flat, dtype=rushlight.int64, shape=(1, None))
    return g.squeeze(found, 0)


def _count(g, running, dim):
    return g.reduce("ReduceSum", g.cast(running, rushlight.int64), [dim], False)


def rows(g, padded, running):
    """The rows of (T, N, ...) that sequences have: packed data."""
    sizes = g.op("Concat", g.integers([-1]), g.slice(g.shape_of(padded), 0, 2, padded.rank), axis=0)
    flat = g.op("Reshape", padded, sizes)
    found = g.op("Gather", flat, _positions(g, running), axis=0)
    found.shape = (None, *padded.shape[2:])
    return found


@aten("_pack_padded_sequence")
def pack_padded_sequence(g, input, lengths, batch_first):
    if batch_first:
        input = g.transpose(input, [1, 0, *range(2, input.rank)])
    lengths = g.cast(lengths, rushlight.int64)
    running = _running(g, _range(g, _first(g, g.shape_of(input))), lengths)
    longest = g.reduce("ReduceMax", lengths, None, False)
    sizes = g.slice(_count(g, running, 1), 0, 0, longest)
    sizes.shape = (None,)
    return rows(g, input, running), sizes


def padded(g, data, batch_sizes, padding_value=0, total_length=-1):
    """Sequences (T, N, ...) of packed data, their lengths, and which run at each step."""
    if total_length > 0:
        missing = g.op("Sub", g.integers([total_length]), g.shape_of(batch_sizes))
        none = g.op("Expand", g.integers([0]), missing)
        batch_sizes = g.op("Concat", batch_sizes, none, axis=0)
    order = g.unsqueeze(_range(g, _first(g, batch_sizes)), 0)
    running = g.op("Less", order, g.unsqueeze(batch_sizes, 1), dtype=rushlight.bool)
    shape = g.shape_of(running)
    width = g.slice(g.shape_of(data), 0, 1, data.rank)
    count = g.reduce("ReduceProd", shape, [0], True)
    blank = g.op("Expand", g.like(padding_value, data), g.op("Concat", count, width, axis=0))
    found = g.op("ScatterND", blank, g.unsqueeze(_positions(g, running), 1), data)
    found = g.op("Reshape", found, g.op("Concat", shape, width, axis=0))
    found.shape = (None, None, *data.shape[1:])
    return found, _count(g, running, 0), running


@aten("_pad_packed_sequence")
def pad_packed_sequence(g, data, batch_sizes, batch_first, padding_value, total_length):
    found, lengths, _ = padded(g, data, batch_sizes, padding_value, total_length)
    if batch_first:
        found = g.transpose(found, [1, 0, *range(2, found.rank)])
    return found, lengths
