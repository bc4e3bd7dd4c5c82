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
