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


def length_of_spans(sizes, windows, planes):
    """Outputs of a span where this way is quicker than the others, else 0.

    `sizes`: images, channels, their size, channels and size of the result, one dim being the second
    of two; `windows`: kernel, stride, padding and dilation; `planes` as of :mod:`gathered`.
    """
    (n, c, image, o, size), (kernel, stride, padding, dilation) = sizes, windows
    if size[0] > 1 or image[0] > 1 or padding[0] > 0 or size[1] <= gathered.STRIDED_PIXELS:
        return 0
    if max(stride) == 1 or dilation != (1, 1) or o * c * kernel[0] * kernel[1] < FEWEST:
        return 0
    count = -(-size[1] // gathered.STRIDED_PIXELS)
    length = -(-size[1] // count)
    reach = 1, (length - 1) * stride[1] + kernel[1]
    part = (n, c, reach, o, (1, length), kernel, stride, (0, 0))
    return length if gathered.suits_forward(*part, False, False, planes) else 0


class Forward:
    """A forward convolution by spans of `length` outputs; sizes and windows as of
    :func:`length_of_spans`; ``build(image)``: the plan of one without padding."""

    def __init__(self, sizes, windows, length, build):
        (n, _, _, o, size), (kernel, stride, self.padding, _) = sizes, windows
        self.spans, plans = [], {}
        for first in range(0, size[1], length):
            count = min(length, size[1] - first)
            reach = (count - 1) * stride[1] + kernel[1]
            if count not in plans:
                plans[count] = build((1, reach))
            begin = first * stride[1]
            inputs, outputs = slice(begin, begin + reach), slice(first, first + count)
            self.spans.append((plans[count], inputs, outputs, (n, o, 1, count)))

    def run(self, x, w, y, bias):
        """Write the convolution of x and w, plus bias (or None), into y; all dense."""
        wide = gathered.padded(x, self.padding)
        for plan, inputs, outputs, shape in self.spans:
            part, found = np.ascontiguousarray(wide[..., inputs]), empty(shape, gathered.FLOAT32)
            plan.run(part, w, found, bias)
            y[..., outputs] = found
