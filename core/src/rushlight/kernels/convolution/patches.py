"""Convolution of patches that are side by side: float32, two spatial dims, stride as the kernel.

Every input belongs to one window at most, so the windows are a permutation of the image: one copy
gives the rows of one product for the whole batch, however small the maps of results are, in all
passes. That is how a vision transformer reads its image. Import at first need: it imports the
compiler.
"""

from __future__ import annotations

import math

from rushlight.kernels.convolution import patch_kernels as native
from rushlight.kernels.gemm import matrix_units
from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import PANEL
from rushlight.kernels.gemm.products import product_into
from rushlight.kernels.launch.execution import FLOAT32, chunk
from rushlight.machine import threads
from rushlight.machine.memory import empty

__all__ = ["Forward", "InputGradient", "RowsForward", "WeightGradient", "fits"]

ACROSS = 7  # taps in a row, copied in vectors, from which this is the quicker way
WIDE, ITEMS = 7, 16  # results in a row that fill tiles, and parts of the work, about
CHANNELS = 16  # from which tiles of pixels have sums long enough


def fits(c, kernel, stride, padding, dilation):
    """Whether windows are patches, and a product of all of them is the faster way."""
    patches = kernel == stride and not any(padding) and max(dilation) == 1
    # from 4 channels on planes take no part; with fewer than 8, tiles have short sums
    shorter = kernel[1] >= 4 and 4 < c < 8
    return patches and c < CHANNELS and (kernel[1] >= ACROSS or shorter)


class _Patches:
    """Sizes, and passes between images and rows of patches, and between results and products."""

    def __init__(self, n, c, image, o, kernel, size):
        pixels, depth = math.prod(size), c * math.prod(kernel)
        self.rows, self.depth, self.outputs = n * pixels, depth, o
        self.turns = min(pixels, o) > 1
        words = [0, 0, 0, 0, c, *image, *size, kernel[0], o, 0]
        rows, across = n * size[0], kernel[1]
        self.cutting = threads.plan(
            native.cut.address(across=across), rows, chunk(rows, size[1] * depth), words
        )
        rows = n * -(-image[0] // kernel[0])
        self.pasting = threads.plan(
            native.paste.address(across=across), rows, chunk(rows, size[1] * depth), words
        )
        self.turning, self.returning = (
            self._turning(n, *sizes, words) for sizes in ((pixels, o), (o, pixels))
        )

    @staticmethod
    def _turning(n, rows, columns, words):
        blocks = -(-columns // native.BLOCK)
        words = [*words[: native.HO], rows, 1, 0, columns, blocks]
        grain = chunk(n * blocks, rows * min(columns, native.BLOCK))
        return threads.plan(native.turn.address(), n * blocks, grain, words)

    def cut(self, x):
        """The patches of images, (rows, depth)."""
        patches = empty((self.rows, self.depth), FLOAT32)
        threads.run(self.cutting, x, patches)
        return patches

    def by_pixels(self, dy):
        """(n, o, pixels) as (rows, o)."""
        if not self.turns:
            return dy.reshape(self.rows, self.outputs)
        rows = empty((self.rows, self.outputs), FLOAT32)
        threads.run(self.returning, dy, rows)
        return rows


class Forward(_Patches):
    """Plan of a forward convolution."""

    def run(self, x, w, y, bias):
        """Write the convolution of x and w, plus bias (or None), into y; all dense."""
        patches, weight = self.cut(x), w.reshape(self.outputs, self.depth).T
        if not self.turns:
            product_into(patches, weight, y.reshape(self.rows, self.outputs), bias)
            return
        out = empty((self.rows, self.outputs), FLOAT32)
        product_into(patches, weight, out, bias)
        threads.run(self.turning, out, y)


class RowsForward:
    """Plan of a forward convolution where a row of results fills tiles: images are not copied."""

    @staticmethod
    def fits(n, o, size):
        """Whether it is the faster way: tiles of few rows go through long runs of taps, which
        patches that are copied have, and matrix units want all rows at once."""
        fills = size[1] >= WIDE and PANEL <= o <= n * math.prod(size)
        return fills and mk.MAX_ROWS >= WIDE and not matrix_units.available()

    def __init__(self, n, c, image, o, kernel, size):
        parts = min(size[0], -(-ITEMS // n))
        words = [0, 0, 0, 0, c, *image, *size, kernel[0], o, parts, mk.ROWS.need(size[1])]
        self.depth, panels = c * math.prod(kernel), -(-o // PANEL)
        code = native.pack_weight.address(across=kernel[1])
        self.packing = threads.plan(code, panels, chunk(panels, PANEL * self.depth), words)
        code = native.forward_rows.address(across=kernel[1])
        self.plan = threads.plan(code, n * parts, 1, words)
        self.packed_words = panels * PANEL * self.depth

    def run(self, x, w, y, bias):
        """Write the convolution of x and w, plus bias (or None), into y; all dense."""
        self.run_packed(x, self.packed(w), w, y, bias)

    def packed(self, w):
        """The weights as the kernel reads them."""
        packed = empty((self.packed_words,), FLOAT32)
        threads.run(self.packing, w, packed)
        return packed

    def run_packed(self, x, packed, w, y, bias):
        """:meth:`run` with weights that have been packed before."""
        threads.run(self.plan, x, y, packed, bias)


class InputGradient(_Patches):
    """Plan of an input gradient."""

    def run(self, dy, w, dx, bias):
        """Write the gradient into dx; all dense, and the bias None."""
        patches = empty((self.rows, self.depth), FLOAT32)
        product_into(self.by_pixels(dy), w.reshape(self.outputs, self.depth), patches)
        threads.run(self.pasting, dx, patches)


class WeightGradient(_Patches):
    """Plan of a weight gradient."""

    def run(self, x, dy, dw):
        """Write the gradient into dw; all dense."""
        out = dw.reshape(self.outputs, self.depth)
        product_into(self.by_pixels(dy).T, self.cut(x), out)
