"""Convolution of patches that lie side by side: float32, two spatial dims, stride as the kernel.

Every input belongs to one window at most, so the windows are a permutation of the image: one copy
gives the rows of one product for the whole batch, however small the maps of results are. That is
how a vision transformer reads its image. Import at first need: it imports the compiler.
"""

from __future__ import annotations

import math

from rushlight.backends import threads
from rushlight.backends.memory import empty
from rushlight.kernels import patch_kernels as native
from rushlight.kernels.execution import FLOAT32, chunk
from rushlight.kernels.matrix import product_into

__all__ = ["Forward", "fits"]

ACROSS = 7  # taps in a row, copied in vectors, from which this is the quicker way
CHANNELS = 16  # from which tiles of pixels have sums long enough


def fits(c, kernel, stride, padding, dilation):
    """Whether windows are patches, and a product of all of them is the faster way."""
    patches = kernel == stride and not any(padding) and max(dilation) == 1
    # from 4 channels on planes take no part; with fewer than 8, tiles have short sums
    shorter = kernel[1] >= 4 and 4 < c < 8
    return patches and c < CHANNELS and (kernel[1] >= ACROSS or shorter)


class Forward:
    """Plan of a forward convolution."""

    def __init__(self, n, c, image, o, kernel, size):
        pixels, depth = math.prod(size), c * math.prod(kernel)
        blocks = -(-o // native.BLOCK)
        words = [0, 0, c, *image, *size, kernel[0], o, blocks]
        rows = n * size[0]
        code = native.cut.address(across=kernel[1])
        self.cut = threads.plan(code, rows, chunk(rows, size[1] * depth), words)
        items = n * blocks
        grain = chunk(items, pixels * min(o, native.BLOCK))
        self.turn = threads.plan(native.turn.address(), items, grain, words)
        self.rows, self.depth, self.outputs = n * pixels, depth, o
        self.turns = min(pixels, o) > 1

    def run(self, x, w, y, bias):
        """Write the convolution of x and w, plus bias (or None), into y; all dense."""
        patches = empty((self.rows, self.depth), FLOAT32)
        threads.run(self.cut, x, patches)
        weight = w.reshape(self.outputs, self.depth).T
        if not self.turns:
            product_into(patches, weight, y.reshape(self.rows, self.outputs), bias)
            return
        out = empty((self.rows, self.outputs), FLOAT32)
        product_into(patches, weight, out, bias)
        threads.run(self.turn, out, y)
