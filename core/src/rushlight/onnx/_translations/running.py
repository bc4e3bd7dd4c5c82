"""What is computed from element to element along a dimension: running extremes, products and sums
of exponentials, and the most frequent element, each a Scan.

A Scan takes a dimension of any size, also one that differs from call to call. Its body compares and
multiplies in int32 or float32 where the dtype is narrower, since runtimes lack some of those.
"""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._builder import Value
from rushlight.onnx._registry import aten
from rushlight.onnx._translations.elementwise import isnan
from rushlight.onnx._translations.sorting import ordered
from rushlight.onnx._types import NARROW, number_of


def widened(g, x):
    """A value in a dtype that all operators of runtimes take."""
    if x.dtype in NARROW:
        return g.cast(x, rushlight.int32)
    half = x.dtype in (rushlight.float16, rushlight.bfloat16)
    return g.cast(x, rushlight.float32) if half else x


def scanned(g, step, states, sequences):
    """A Scan: `step` makes the next states of the states and of parts of the sequences.

    `states` are values, `sequences` pairs of a value and the dimension that is passed over, and the
    result is a list of all states of the way, stacked in the first sequence's dimension.
    """
    axes = [axis for _, axis in sequences]
    inputs = [*states, *(value for value, _ in sequences)]
    given = [Value(g.name("scanned"), value.dtype) for value in inputs]
    outer, g.nodes = g.nodes, []
    try:
        following = step(given[: len(states)], given[len(states) :])
        made = [g.op("Identity", value, dtype=value.dtype) for value in following * 2]
        body = g.onnx.helper.make_graph(
            g.nodes, g.name("scanned_body"), _described(g, given), _described(g, made)
        )
    finally:
        g.nodes = outer
    found = g.op(
        "Scan", *inputs, outputs=len(made), body=body, num_scan_inputs=len(sequences),
        scan_input_axes=axes, scan_output_axes=[axes[0]] * len(states),
    )  # fmt: skip
    return [
        Value(v.name, state.dtype, sequences[0][0].shape)
        for v, state in zip(found[len(states) :], states, strict=True)
    ]


def _described(g, values):
    describe = g.onnx.helper.make_tensor_value_info
    return [describe(value.name, number_of(value.dtype), None) for value in values]


def _start(g, x, axis, number, dtype):
    """A first state: a number at all positions of the other dimensions."""
    sizes = [g.size(x, dim) for dim in range(x.rank) if dim != axis]
    return g.op("Expand", g.constant(number, dtype), g.sizes(sizes))


def _positions(g, x, axis):
    """0, 1, ... along a dimension, int64."""
    count = g.constant(g.size(x, axis), rushlight.int64)
    return g.op("Range", g.constant(0, rushlight.int64), count, g.constant(1, rushlight.int64))


def _running_extreme(kind):
    def translate(g, self, dim):
        if not self.rank:
            return self, g.constant(0, rushlight.int64)
        if 0 in self.shape:  # which runtimes refuse to pass over
            return self, g.op("Expand", g.constant(0, rushlight.int64), g.integers(self.shape))
        axis, x = dim % self.rank, widened(g, self)

        def step(states, parts):
            (best, where), (part, position) = states, parts
            # the first element wins over any start; nan wins and, as nothing is above it, stays
            wins = g.op(kind, part, best, dtype=rushlight.bool)
            first = g.op("Equal", position, g.like(0, position), dtype=rushlight.bool)
            wins = g.op("Or", wins, first)
            if x.dtype.is_floating_point:
                wins = g.op("Or", wins, isnan(g, part))
            return [
                g.op("Where", wins, *pair, dtype=pair[1].dtype)
                for pair in ((part, best), (position, where))
            ]

        states = [_start(g, x, axis, 0, x.dtype), _start(g, x, axis, 0, rushlight.int64)]
        values, places = scanned(g, step, states, [(x, axis), (_positions(g, x, axis), 0)])
        return g.cast(values, self.dtype), places

    return translate


aten("cummax")(_running_extreme("GreaterOrEqual"))
aten("cummin")(_running_extreme("LessOrEqual"))


def _accumulated(g, x, dim, start, joined):
    """All states of the way of a function of two elements."""
    if not x.rank or 0 in x.shape:
        return x
    axis, wide = dim % x.rank, widened(g, x)
    state = _start(g, wide, axis, start, wide.dtype)
    (found,) = scanned(g, lambda s, p: [joined(s[0], p[0])], [state], [(wide, axis)])
    return g.cast(found, x.dtype)


@aten("cumprod")
def cumprod(g, self, dim):
    (x,) = g.to(g.dtype, self)
    return _accumulated(g, x, dim, 1, lambda a, b: g.op("Mul", a, b))


@aten("logcumsumexp")
def logcumsumexp(g, self, dim):
    def joined(a, b):
        most = g.op("Max", a, b)
        apart = g.op("Neg", g.op("Abs", g.op("Sub", a, b)))
        total = g.op("Add", most, g.op("Log", g.op("Add", g.op("Exp", apart), g.like(1, a))))
        infinite = g.op("IsInf", most, dtype=rushlight.bool)  # two of them have no difference
        return g.op("Where", infinite, most, total, dtype=a.dtype)

    return _accumulated(g, self, dim, -math.inf, joined)


@aten("mode")
def mode(g, self, dim=-1, keepdim=False):
    """The end of the first of the longest runs of equal elements in order."""
    if not self.rank:
        return self, g.constant(0, rushlight.int64)
    axis = dim % self.rank
    values, places = ordered(g, widened(g, self), g.size(self, axis), axis, False)
    values.shape = places.shape = self.shape

    def step(states, parts):
        (length, before), (part,) = states, parts
        same = g.op("Equal", part, before, dtype=rushlight.bool)
        longer = g.op("Add", length, g.like(1, length))
        return [g.op("Where", same, longer, g.like(1, length), dtype=length.dtype), part]

    states = [_start(g, self, axis, 0, rushlight.int64), _start(g, self, axis, 0, values.dtype)]
    lengths, _ = scanned(g, step, states, [(values, axis)])
    best = g.op("ArgMax", lengths, axis=axis, keepdims=1, dtype=rushlight.int64)
    found = [g.op("GatherElements", v, best, axis=axis) for v in (values, places)]
    found = found if keepdim else [g.squeeze(v, axis) for v in found]
    return g.cast(found[0], self.dtype), found[1]
