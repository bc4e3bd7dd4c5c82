"""Windows of images as columns, and columns added up to images, each by one call.

A function gives a call for one layout (see :mod:`rushlight.kernels.launch.prepared`), or None where
it is left to others: strided and empty arrays, elements of other sizes, half-width floats added up.
"""

from __future__ import annotations

import math

from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import prepared

__all__ = ["added", "gathered"]

_NAMES = {4: "i32", 8: "i64"}  # elements that are moved, by their bytes


def _words(size, counts, kernel, dilation, padding, stride):
    return [*size, *counts, *kernel, stride[0], *padding, *dilation]


def gathered(input, counts, kernel, dilation, padding, stride):
    """``f(input)``: (N, C, H, W) as (N, C * KH * KW, OH * OW); ``counts`` is (OH, OW)."""
    name = _NAMES.get(input.itemsize)
    n, c, *size = input.shape
    planes, taps, pixels = n * c, math.prod(kernel), math.prod(counts)
    if REFERENCE or name is None or not input.flags.c_contiguous or planes * pixels == 0:
        return None
    from rushlight.kernels.convolution import column_kernels as native
    from rushlight.machine.language import functions as language

    code = native.gather_columns.address(
        element=getattr(language, name), size=input.itemsize, step=stride[1]
    )
    outputs = [((n, c * taps, pixels), input.dtype)]
    words = _words(size, counts, kernel, dilation, padding, stride)
    return prepared(code, planes * taps, chunk(planes * taps, pixels), [input], outputs, words)


def added(input, counts, size, kernel, dilation, padding, stride):
    """``f(input)``: what (N, C * KH * KW, OH * OW) adds up to in images (N, C, *size)."""
    n, rows, _ = input.shape
    taps = math.prod(kernel)
    planes = n * (rows // taps)
    if REFERENCE or input.dtype not in COMPILED_DTYPES or not input.flags.c_contiguous:
        return None
    if not input.size or not math.prod(size):
        return None
    from rushlight.kernels.convolution import column_kernels as native

    code = native.add_columns.address(real=language_type(input.dtype), step=stride[1])
    outputs = [((n, rows // taps, *size), input.dtype)]
    words = _words(size, counts, kernel, dilation, padding, stride)
    items = planes * size[0]
    return prepared(code, items, chunk(items, size[1] * taps), [input], outputs, words)
