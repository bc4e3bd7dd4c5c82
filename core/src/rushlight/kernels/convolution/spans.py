"""Strided float32 convolution of long rows on matrix units, span by span of outputs.

:mod:`gathered` gathers strided windows quickly while those of an image stay in the caches; a row of
some thousand outputs, as encoders of waveforms have them, is cut into spans that do. A span and its
outputs are copied: little beside the products of many channels.
"""

from __future__ import annotations

from rushlight.kernels.convolution import gathered
from rushlight.machine import np
from rushlight.machine.memory import empty

__all__ = ["Forward", "length_of_spans"]

FEWEST = 250_000  # weights: below, all fit the second cache and the direct way is as quick


def length_of_spans(n, c, image, o, size, kernel, stride, padding, planes):
    """Outputs of a span where this way is quicker than the others, else 0. One dim is the second of
    two."""
    if size[0] > 1 or image[0] > 1 or padding[0] > 0 or size[1] <= gathered.STRIDED_PIXELS:
        return 0
    if o * c * kernel[0] * kernel[1] < FEWEST:
        return 0
    count = -(-size[1] // gathered.STRIDED_PIXELS)
    length = -(-size[1] // count)
    reach = 1, (length - 1) * stride[1] + kernel[1]
    sizes = (n, c, reach, o, (1, length), kernel, stride, (0, 0))
    return length if gathered.suits_forward(*sizes, False, False, planes) else 0


class Forward:
    """A forward convolution of spans of `length` outputs; ``build(image, size)``: the plan of one
    without padding."""

    def __init__(self, n, o, size, kernel, stride, padding, dilation, length, build):
        self.padding, self.spans, plans = padding, [], {}
        for first in range(0, size[1], length):
            count = min(length, size[1] - first)
            reach = (count - 1) * stride[1] + dilation[1] * (kernel[1] - 1) + 1
            if count not in plans:
                plans[count] = build((1, reach), (1, count))
            begin = first * stride[1]
            windows, outputs = slice(begin, begin + reach), slice(first, first + count)
            self.spans.append((plans[count], windows, outputs, (n, o, 1, count)))

    def run(self, x, w, y, bias):
        """Write the convolution of x and w, plus bias (or None), into y; all dense."""
        wide = gathered.padded(x, self.padding)
        for plan, windows, outputs, shape in self.spans:
            part, found = np.ascontiguousarray(wide[..., windows]), empty(shape, gathered.FLOAT32)
            plan.run(part, w, found, bias)
            y[..., outputs] = found
