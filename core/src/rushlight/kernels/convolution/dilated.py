"""Dilated convolution of stride 1 by convolutions without dilation: float32, two spatial dims.

Where the padding is a multiple of the dilation d, outputs (r + i d, s + j d) read no inputs but
(r + i' d, s + j' d): an image is d x d sub-images, and their convolutions are ordinary ones, for
which there are the plans of :mod:`convolution`, Winograd's above all. One pass parts the images,
one joins the results.
"""

from __future__ import annotations

from rushlight.kernels.launch.execution import FLOAT32, chunk
from rushlight.machine import threads
from rushlight.machine.memory import empty

__all__ = ["Forward", "WeightGradient", "parts"]

PIXELS = 512  # of all maps of results: with fewer, two passes more are not worth it
# Parts of the multiplications of plain sums that Winograd's way may be left with: what sub-images
# add to full tiles is waste. With few channels it gains less.
SHARE, FEW_SHARE = 0.8, 0.4
MANY = 128 * 128  # products of channels


def parts(stride, padding, dilation):
    """Whether sub-images have nothing to do with each other."""
    d = dilation[0]
    return (
        d > 1
        and tuple(dilation) == (d, d)
        and tuple(stride) == (1, 1)
        and not (padding[0] % d or padding[1] % d)
    )


class _Moves:
    """Passes between images (n, c, *image) and their sub-images."""

    def __init__(self, n, c, image, dilation):
        from rushlight.kernels.convolution import dilated_kernels as native

        parts = tuple(-(-size // dilation) for size in image)
        self.shape = (n * dilation * dilation, c, *parts)
        words = [0, 0, c, *image, *parts]
        grain = chunk(n * c, image[0] * image[1])
        self.parting, self.joining = (
            threads.plan(kernel.address(step=dilation), n * c, grain, words)
            for kernel in (native.part, native.join)
        )

    def empty(self):
        return empty(self.shape, FLOAT32)

    def part(self, x):
        parts = self.empty()
        threads.run(self.parting, x, parts)
        return parts

    def join(self, parts, y):
        threads.run(self.joining, y, parts)


class Forward:
    """Plan of a forward convolution or an input gradient; ``build(n, image, padding)``: the plan
    of sub-images."""

    @staticmethod
    def fits(pixels, c, o, share):
        """Whether it is the faster way, with this share of the multiplications."""
        return pixels >= PIXELS and share <= (SHARE if c * o >= MANY else FEW_SHARE)

    def __init__(self, n, c, image, o, size, padding, dilation, build):
        self.input, self.output = _Moves(n, c, image, dilation), _Moves(n, o, size, dilation)
        shape = self.input.shape
        self.inner = build(shape[0], shape[2:], tuple(p // dilation for p in padding))

    def run(self, x, w, y, bias):
        """Write the convolution of x and w, plus bias (or None), into y; all dense."""
        parts = self.output.empty()
        self.inner.run(self.input.part(x), w, parts, bias)
        self.output.join(parts, y)


class WeightGradient:
    """Plan of a weight gradient; ``build``: as in :class:`Forward`."""

    @staticmethod
    def fits(pixels, c, o, share):
        """As of :class:`Forward`, but for the share: plain sums are slow at large dilations."""
        return pixels >= PIXELS

    def __init__(self, n, c, image, o, size, padding, dilation, build):
        self.input, self.output = _Moves(n, c, image, dilation), _Moves(n, o, size, dilation)
        shape = self.input.shape
        self.inner = build(shape[0], shape[2:], tuple(p // dilation for p in padding))

    def run(self, x, dy, dw):
        """Write the gradient into dw; all dense."""
        self.inner.run(self.input.part(x), self.output.part(dy), dw)
