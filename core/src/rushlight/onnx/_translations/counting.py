"""Bins of a histogram, and the parts of floating numbers."""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._registry import aten
from rushlight.onnx._translations.elementwise import isnan


@aten("histc")
def histc(g, self, bins=100, min=0, max=0):
    """Ones that are added at the bins' positions, whole numbers so that none is lost."""
    if g.opset < 16:
        raise NotImplementedError("histc needs opset_version=16 for the reduction of its counts")
    x = g.reshape(self, [-1])
    x.shape = (self.meta.numel(),)
    low, high = _bounds(g, x, min, max)
    inside = g.op(
        "And",
        g.op("GreaterOrEqual", x, low, dtype=rushlight.bool),
        g.op("LessOrEqual", x, high, dtype=rushlight.bool),
    )
    share = g.op("Mul", g.op("Sub", x, low), g.like(bins, x))
    share = g.op("Div", share, g.op("Sub", high, low))
    # what is outside may be no whole number at all
    place = g.cast(g.op("Where", inside, share, g.like(0, x), dtype=x.dtype), rushlight.int64)
    place = g.op("Min", place, g.integers([bins - 1]))
    none = g.op("Expand", g.integers([0]), g.integers([bins]))
    ones = g.cast(inside, rushlight.int64)
    return g.cast(g.op("ScatterElements", none, place, ones, axis=0, reduction="add"), g.dtype)


@aten("bincount")
def bincount(g, self, weights=None, minlength=0):
    """Ones, or weights, that are added at the elements' positions."""
    x = g.cast(self, rushlight.int64)
    # with a last bin that there is in any case, so that no elements are no special case
    ends = g.op("Concat", x, g.integers([minlength - 1]), axis=0)
    size = g.op("Add", g.reduce("ReduceMax", ends, None, True), g.integers([1]))
    dtype = rushlight.int64 if weights is None else g.dtype
    ones = g.op("Expand", g.integers([1]), g.shape_of(x)) if weights is None else weights
    ones = g.cast(ones, dtype)
    if g.opset >= 16:
        none = g.op("Expand", g.constant([0], dtype), size)
        return g.op("ScatterElements", none, x, ones, axis=0, reduction="add")
    zero, one = (g.constant(n, rushlight.int64) for n in (0, 1))
    bins = g.op("Range", zero, g.squeeze(size, 0), one)
    found = g.op("Equal", g.unsqueeze(bins, 1), g.unsqueeze(x, 0), dtype=rushlight.bool)
    return g.reduce(
        "ReduceSum", g.op("Mul", g.cast(found, dtype), g.unsqueeze(ones, 0)), [1], False
    )


@aten("repeat_interleave.self_Tensor")
def repeat_interleave(g, self, repeats, dim=None, output_size=None):
    """Elements at positions, each of which is the number of repeats that end before it."""
    x, dim = (g.reshape(self, [-1]), 0) if dim is None else (self, dim % self.rank)
    repeats = g.cast(repeats, rushlight.int64)
    ends = g.op("CumSum", repeats, g.constant(0, rushlight.int64))
    zero, one = (g.constant(n, rushlight.int64) for n in (0, 1))
    total = g.reduce("ReduceSum", repeats, None, False)
    steps = g.op("Range", zero, total, one)
    before = g.op("Less", g.unsqueeze(steps, 1), g.unsqueeze(ends, 0), dtype=rushlight.bool)
    after = g.cast(g.op("Not", before), rushlight.int64)
    return g.op("Gather", x, g.reduce("ReduceSum", after, [1], False), axis=dim)


@aten("_unique2")
def unique(g, self, sorted=True, return_inverse=False, return_counts=False):
    found, _, inverse, counts = g.op("Unique", self, outputs=4, sorted=1)
    return found, _as_whole(g.op("Reshape", inverse, g.shape_of(self))), _as_whole(counts)


@aten("unique_dim")
def unique_dim(g, self, dim, sorted=True, return_inverse=False, return_counts=False):
    found, _, inverse, counts = g.op("Unique", self, outputs=4, sorted=1, axis=dim % self.rank)
    return found, _as_whole(inverse), _as_whole(counts)


def _as_whole(value):
    value.dtype = rushlight.int64  # whatever the elements are
    return value


@aten("histogram.bin_ct")
def histogram(g, self, bins=100, range=None, weight=None, density=False):
    """Counts of equal bins, and their edges where the range is one of the program's."""
    if weight is not None or density:
        raise NotImplementedError("histogram() counts elements alone: no weight, no density")
    low, high = (0, 0) if range is None else range
    if low == high:
        raise NotImplementedError("histogram() needs a range, for the edges that it gives")
    edges = rushlight.linspace(low, high, bins + 1, dtype=self.dtype)
    return histc(g, self, bins, low, high), g.constant(edges.numpy())


def _bounds(g, x, low, high):
    """The range asked for, or that of the elements, one wider on each side where it is empty."""
    if low != high:
        return g.like(low, x), g.like(high, x)
    if x.shape == (0,):
        return g.like(low - 1, x), g.like(high + 1, x)
    low, high = (g.reduce(kind, x, None, False) for kind in ("ReduceMin", "ReduceMax"))
    wider = g.cast(g.op("Equal", low, high, dtype=rushlight.bool), x.dtype)
    return g.op("Sub", low, wider), g.op("Add", high, wider)


@aten("frexp.Tensor")
def frexp(g, self):
    """The exponent by a logarithm in float64, one more or less where that was rounded."""
    x = g.cast(self, rushlight.float64)
    zero, one = g.like(0.0, x), g.like(1.0, x)
    infinite = g.op("Or", g.op("IsInf", x, dtype=rushlight.bool), isnan(g, x))
    plain = g.op("Or", infinite, g.op("Equal", x, zero, dtype=rushlight.bool))
    size = g.op("Where", plain, one, g.op("Abs", x), dtype=x.dtype)
    power = g.op("Floor", g.op("Div", g.op("Log", size), g.like(math.log(2), x)))
    power = g.op("Add", power, one)
    mantissa = _scaled(g, size, power)
    large = g.cast(g.op("GreaterOrEqual", mantissa, one, dtype=rushlight.bool), x.dtype)
    small = g.cast(g.op("Less", mantissa, g.like(0.5, x), dtype=rushlight.bool), x.dtype)
    power = g.op("Sub", g.op("Add", power, large), small)
    mantissa = g.op("Mul", g.op("Sign", x), _scaled(g, size, power))
    mantissa = g.op("Where", plain, x, mantissa, dtype=x.dtype)
    power = g.op("Where", plain, zero, power, dtype=x.dtype)
    return g.cast(mantissa, self.dtype), g.cast(power, rushlight.int32)


def _scaled(g, x, power):
    """``x / 2 ** power`` in two steps, each of which a float64 holds."""
    half = g.op("Floor", g.op("Mul", power, g.like(0.5, power)))
    for part in (half, g.op("Sub", power, half)):
        x = g.op("Div", x, g.op("Pow", g.like(2.0, x), part))
    return x
