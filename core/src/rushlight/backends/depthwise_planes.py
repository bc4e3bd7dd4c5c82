"""Small planes of a depthwise float32 convolution of stride 1 as runs of their elements.

Where the result has the size of the plane, a tap reads at a constant distance from its output, so a
plane of 7 x 7 is four vectors instead of seven rows of them; constant masks leave out what lies
beside the image. Code is emitted for one size of planes and one window.
"""

from __future__ import annotations

import functools

from llvmlite import ir

from rushlight.backends import microkernel as mk
from rushlight.backends.depthwise_rows import IN_REGISTERS, OUT, SOURCE, WEIGHT, Block
from rushlight.backends.machine_code import load_module
from rushlight.backends.microkernel import I64, MASK, VL

__all__ = ["fits", "plane_address"]

LIMIT = 64  # elements of a plane


def fits(image, size, taps, stride):
    """Whether planes are taken as a whole."""
    small = image[0] * image[1] <= LIMIT and taps[0] * taps[1] <= IN_REGISTERS
    return small and tuple(image) == tuple(size) and tuple(stride) == (1, 1)


def _reach(plane, window, padding, dilation):
    """For every tap and vector: the distance to what is read, and which lanes read."""
    (height, width), count = plane, plane[0] * plane[1]
    for y in range(window[0]):
        for x in range(window[1]):
            down, across = y * dilation[0] - padding[0], x * dilation[1] - padding[1]
            for first in range(0, count, VL):
                lanes = [
                    i < count
                    and 0 <= i // width + down < height
                    and 0 <= i % width + across < width
                    for i in range(first, first + VL)
                ]
                yield y * window[1] + x, first, first + down * width + across, lanes


class _Plane:
    """Emits ``void(int64 *p)`` for a plane; words as in :mod:`depthwise_rows`."""

    def __init__(self, module, name, plane, window, padding, dilation):
        self.rows = Block(module, name)
        self.b, self.words = self.rows.b, self.rows.words
        self.count, self.taps = plane[0] * plane[1], window[0] * window[1]
        self.reach = list(_reach(plane, window, padding, dilation))

    def lanes(self, lanes):
        return None if all(lanes) else ir.Constant(MASK, [int(lane) for lane in lanes])

    def at(self, word, element):
        return self.b.add(self.words[word], I64(4 * element))

    def inside(self, first):
        return self.lanes([i < self.count for i in range(first, first + VL)])

    def found(self):
        """(tap, first element, vector that the tap meets), where it meets anything."""
        for tap, first, source, lanes in self.reach:
            if any(lanes):
                mask = self.lanes(lanes)
                yield tap, first, mk.load_vector(self.b, self.at(SOURCE, source), mask)

    def forward(self):
        b = self.b
        weights = [self.rows.scalar(self.at(WEIGHT, tap)) for tap in range(self.taps)]
        bias = self.rows.bias()
        totals = dict.fromkeys(range(0, self.count, VL), bias)
        for tap, first, values in self.found():
            totals[first] = mk.fma(b, weights[tap], values, totals[first])
        for first, total in totals.items():
            mk.store_vector(b, total, self.at(OUT, first), self.inside(first))
        b.ret_void()

    def weight(self):
        b = self.b
        sums = [mk.load_vector(b, self.at(WEIGHT, VL * tap)) for tap in range(self.taps)]
        grads = {
            first: mk.load_vector(b, self.at(OUT, first), self.inside(first))
            for first in range(0, self.count, VL)
        }
        for tap, first, values in self.found():
            sums[tap] = mk.fma(b, grads[first], values, sums[tap])
        for tap, total in enumerate(sums):
            mk.store_vector(b, total, self.at(WEIGHT, VL * tap))
        b.ret_void()


@functools.cache
def plane_address(kind, plane, window, padding, dilation):
    """Address of the code for "forward" or "weight"."""
    numbers = (*plane, *window, *padding, *dilation)
    text = "_".join(str(n).replace("-", "m") for n in numbers)
    symbol = f"rl_depthwise_plane_{kind}_{text}_{VL}"

    def build():
        module = ir.Module(name=symbol)
        getattr(_Plane(module, symbol, plane, window, padding, dilation), kind)()
        return module

    return load_module(symbol, build)
