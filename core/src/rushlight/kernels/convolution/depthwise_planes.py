"""Small planes of a depthwise convolution of stride 1 as runs of their elements.

Where the result has the size of the plane, a tap reads at a constant distance from its output, so a
plane of 7 x 7 is four vectors instead of seven rows of them; constant masks leave out what is
beside the image. Code is emitted for one size of planes and one window.
"""

from __future__ import annotations

import functools

from rushlight.kernels.convolution.window_rows import OUT, SOURCE, WEIGHT, Block
from rushlight.kernels.gemm.microkernel import I64, VL
from rushlight.machine.llvm import ir
from rushlight.machine.machine_code import load_module

__all__ = ["fits", "plane_address"]

LIMIT = 64  # elements of a plane
MOST_TAPS = 25  # whose weights are loaded before anything else


def fits(image, size, taps, stride):
    """Whether planes are taken as a whole."""
    small = image[0] * image[1] <= LIMIT and taps[0] * taps[1] <= MOST_TAPS
    return small and tuple(image) == tuple(size) and tuple(stride) == (1, 1)


def _reach(vl, plane, window, padding, dilation):
    """For every tap and vector: the distance to what is read, and which of ``vl`` lanes read."""
    (height, width), count = plane, plane[0] * plane[1]
    for y in range(window[0]):
        for x in range(window[1]):
            down, across = y * dilation[0] - padding[0], x * dilation[1] - padding[1]
            for first in range(0, count, vl):
                lanes = [
                    i < count
                    and 0 <= i // width + down < height
                    and 0 <= i % width + across < width
                    for i in range(first, first + vl)
                ]
                yield y * window[1] + x, first, first + down * width + across, lanes


class _Plane:
    """Emits ``void(int64 *p)`` for a plane; words as in :mod:`.window_rows`."""

    def __init__(self, module, name, size, plane, window, padding, dilation):
        self.rows = Block(module, name, size)
        self.b, self.words, self.v = self.rows.b, self.rows.words, self.rows.vectors
        self.count, self.taps = plane[0] * plane[1], window[0] * window[1]
        self.reach = list(_reach(self.v.count, plane, window, padding, dilation))

    def lanes(self, lanes):
        return None if all(lanes) else ir.Constant(self.v.mask, [int(lane) for lane in lanes])

    def at(self, word, element):
        return self.b.add(self.words[word], I64(self.v.size * element))

    def inside(self, first):
        return self.lanes([i < self.count for i in range(first, first + self.v.count)])

    def found(self):
        """(tap, first element, vector that the tap meets), where it meets anything."""
        for tap, first, source, lanes in self.reach:
            if any(lanes):
                mask = self.lanes(lanes)
                yield tap, first, self.v.load(self.b, self.at(SOURCE, source), mask)

    def forward(self):
        b = self.b
        weights = [self.rows.scalar(self.at(WEIGHT, tap)) for tap in range(self.taps)]
        bias = self.rows.bias()
        totals = dict.fromkeys(range(0, self.count, self.v.count), bias)
        for tap, first, values in self.found():
            totals[first] = self.v.fma(b, weights[tap], values, totals[first])
        for first, total in totals.items():
            self.v.store(b, total, self.at(OUT, first), self.inside(first))
        b.ret_void()

    def weight(self):
        b = self.b
        sums = [self.v.load(b, self.at(WEIGHT, self.v.count * tap)) for tap in range(self.taps)]
        grads = {
            first: self.v.load(b, self.at(OUT, first), self.inside(first))
            for first in range(0, self.count, self.v.count)
        }
        for tap, first, values in self.found():
            sums[tap] = self.v.fma(b, grads[first], values, sums[tap])
        for tap, total in enumerate(sums):
            self.v.store(b, total, self.at(WEIGHT, self.v.count * tap))
        b.ret_void()


@functools.cache
def plane_address(kind, size, plane, window, padding, dilation):
    """Address of the code for "forward" or "weight"."""
    numbers = (size, *plane, *window, *padding, *dilation)
    text = "_".join(str(n).replace("-", "m") for n in numbers)
    symbol = f"rl_depthwise_plane_{kind}_{text}_{VL}"

    def build():
        module = ir.Module(name=symbol)
        getattr(_Plane(module, symbol, size, plane, window, padding, dilation), kind)()
        return module

    return load_module(symbol, build)
