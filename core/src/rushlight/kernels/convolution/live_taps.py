"""Convolution tap by tap, where most of what windows meet is padding: float32, two spatial dims.

With a dilation as large as the image, or a padded kernel on maps of one pixel, taps meet few pixels
or none at all. Here the pixels that a tap does meet are a matrix (channels, pixels): one
product for each tap, added to where the tap's outputs are. Nothing is multiplied by padding.

Import at first need: it imports the compiler.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from rushlight.kernels.convolution import live_tap_kernels as native
from rushlight.kernels.copying.assignment import by_rows, write
from rushlight.kernels.gemm import matrix_units
from rushlight.kernels.gemm.products import product_into
from rushlight.kernels.launch.execution import FLOAT32, chunk
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

__all__ = ["Forward", "InputGradient", "WeightGradient", "fits", "live_taps"]

# Parts of all multiplications that meet pixels, at most: Winograd's way saves more than half of
# them too, but is slower where matrix units have long sums. Small maps make products too small for
# the passes around them, but where there is one tap alone.
SHARE, UNITS_SHARE = 0.58, 0.8
FEWEST, MANY, UNITS_MANY = 64 * 64, 128 * 128, 512 * 512  # products of channels
PIXELS, FEW_PIXELS, UNITS_PIXELS = 14 * 14, 16 * 16, 24 * 24  # of a map of results


class Tap(NamedTuple):
    """A tap of the kernel and the pixels that it meets."""

    place: tuple[int, int]  # in the kernel
    source: tuple[int, int]  # its first pixel of the input
    target: tuple[int, int]  # and that one's output
    size: tuple[int, int]  # rows and columns of outputs


def live_taps(image, size, kernel, stride, padding, dilation):
    """Every tap that meets pixels."""
    sides = (
        _live_positions(*side)
        for side in zip(image, size, kernel, stride, padding, dilation, strict=True)
    )
    return [Tap(*zip(*pair, strict=True)) for pair in itertools.product(*sides)]


def _live_positions(image, size, kernel, stride, padding, dilation):
    """(tap, first input, first output, outputs) along one side."""
    for tap in range(kernel):
        offset = tap * dilation - padding
        first = max(0, -(offset // stride))
        end = min(size, -((offset - image) // stride))
        if end > first:
            yield tap, offset + stride * first, first, end - first


def fits(c, image, o, size, windows):
    """Whether so little of all multiplications meets pixels that this is the faster way;
    ``windows``: kernel, stride, padding and dilation."""
    kernel = windows[0]
    if c * o < FEWEST or kernel == (1, 1):
        return False
    taps = live_taps(image, size, *windows)
    pixels = math.prod(size)
    if len(taps) < 2 or pixels < (PIXELS if c * o >= MANY else FEW_PIXELS):
        return len(taps) == 1
    units = c * o >= UNITS_MANY and pixels >= UNITS_PIXELS and matrix_units.available()
    met = sum(math.prod(tap.size) for tap in taps)
    return met <= (UNITS_SHARE if units else SHARE) * math.prod(kernel) * pixels


class _Rectangles:
    """What the taps meet on one side, the input or the output."""

    def __init__(self, n, channels, image, places, step):
        self.channels = channels
        taken = native.take.address(step=step[1])
        added = [native.add.address(step=step[1], fresh=fresh) for fresh in (0, 1)]
        grain = chunk(n * channels, math.prod(image))
        self.pixels, self.takes, self.adds = [], [], []
        for first, size in places:
            words = [0, 0, 0, n, channels, *image, *first, *size, step[0]]
            self.pixels.append(n * math.prod(size))
            self.takes.append(threads.plan(taken, n * channels, grain, words))
            code = added[not self.adds]
            self.adds.append(threads.plan(code, n * channels, grain, words))

    def empty(self, tap):
        """Room for the pixels of a tap."""
        return empty((self.channels, self.pixels[tap]), FLOAT32)

    def taken(self, tap, images):
        """The pixels of a tap."""
        pixels = self.empty(tap)
        threads.run(self.takes[tap], images, pixels)
        return pixels

    def add(self, tap, pixels, images, bias):
        """Add them to the images, which the first tap starts with the bias (or None)."""
        threads.run(self.adds[tap], images, pixels, bias)


class _Taps:
    def __init__(self, n, c, image, o, size, windows):
        taps = live_taps(image, size, *windows)
        self.kernel, stride, *_ = windows
        rows, columns = zip(*(tap.place for tap in taps), strict=True)
        self.rows, self.columns = (slice(min(s), max(s) + 1) for s in (rows, columns))
        self.places = [
            (r - min(rows), c - min(columns)) for r, c in zip(rows, columns, strict=True)
        ]
        self.input = _Rectangles(n, c, image, [(t.source, t.size) for t in taps], stride)
        self.output = _Rectangles(n, o, size, [(t.target, t.size) for t in taps], (1, 1))

    def _matrices(self, w):
        """The weights of each tap as a dense matrix (o, c)."""
        dense = by_rows(w.transpose(2, 3, 0, 1)[self.rows, self.columns])
        return [dense[place] for place in self.places]


class Forward(_Taps):
    """Plan of a forward convolution."""

    def run(self, x, w, y, bias):
        """Write the convolution of x and w, plus bias (or None), into y; all dense."""
        for tap, matrix in enumerate(self._matrices(w)):
            found = self.output.empty(tap)
            product_into(matrix, self.input.taken(tap, x), found)
            self.output.add(tap, found, y, bias)


class InputGradient(_Taps):
    """Plan of the gradient of the input."""

    def run(self, dy, w, dx, bias):
        """Write the gradient, plus bias (or None), into dx; all dense."""
        for tap, matrix in enumerate(self._matrices(w)):
            found = self.input.empty(tap)
            product_into(matrix.T, self.output.taken(tap, dy), found)
            self.input.add(tap, found, dx, bias)


class WeightGradient(_Taps):
    """Plan of the gradient of the weight."""

    def run(self, x, dy, dw):
        """Write the gradient into dw, zeros for taps that meet no pixels; all dense."""
        found = np.zeros((*self.kernel, *dw.shape[:2]), FLOAT32)[self.rows, self.columns]
        for tap, index in enumerate(self.places):
            gradient, pixels = self.output.taken(tap, dy), self.input.taken(tap, x)
            product_into(gradient, pixels.T, found[index])
        live = dw[:, :, self.rows, self.columns]
        if live.size < dw.size:
            dw.fill(0)
        write(live, found.transpose(2, 3, 0, 1))
