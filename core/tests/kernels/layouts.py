"""Arrays at unusual strides, for the kernel tests."""

from __future__ import annotations

import numpy as np


def scattered(array):
    """The same values at other strides, with NaN (or the largest integer) between them."""
    gap = np.nan if array.dtype.kind not in "iub" else np.iinfo(array.dtype).max
    big = np.full((*array.shape[:-1], 2 * array.shape[-1] + 1), gap, array.dtype)
    view = big[..., 1::2]
    view[...] = array
    return view


def reversed_axes(array):
    """The same values with all dims in the opposite order in memory."""
    return np.array(array.T, order="C").T
