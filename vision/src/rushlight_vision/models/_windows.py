"""Windows of images and videos, for attention inside of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import rushlight as rl

_APART = -100.0  # what is added to scores of positions that are neighbours by the roll alone


def into_windows(x: rl.Tensor, window: Sequence[int]) -> rl.Tensor:
    """The positions (windows, area, C) of (N, *sides, C), whose sides are multiples of the
    window's."""
    n, *sides, channels = x.shape
    split = [part for side, w in zip(sides, window, strict=True) for part in (side // w, w)]
    outer = range(1, 2 * len(window), 2)
    order = (0, *outer, *(each + 1 for each in outer), 2 * len(window) + 1)
    return x.view(n, *split, channels).permute(order).reshape(-1, math.prod(window), channels)


def out_of_windows(x: rl.Tensor, size: Sequence[int], window: Sequence[int]) -> rl.Tensor:
    """What has the size (N, *sides, C), of positions (windows, area, C)."""
    n, *sides, channels = size
    dims = len(window)
    counts = [side // w for side, w in zip(sides, window, strict=True)]
    pairs = [each for dim in range(1, dims + 1) for each in (dim, dim + dims)]
    x = x.view(n, *counts, *window, channels).permute(0, *pairs, 2 * dims + 1)
    return x.reshape(n, *sides, channels)


def scores_apart(
    sides: Sequence[int], window: Sequence[int], shift: Sequence[int], x: rl.Tensor
) -> rl.Tensor:
    """The score (windows, area, area) that keeps positions apart which the roll made neighbours."""
    regions = x.new_zeros(tuple(sides))
    cuts = [((0, -w), (-w, -s), (-s, None)) for w, s in zip(window, shift, strict=True)]
    for number, ends in enumerate(itertools.product(*cuts)):
        regions[tuple(slice(*each) for each in ends)] = number
    numbers = into_windows(regions[None, ..., None], window)[..., 0]
    apart = numbers.unsqueeze(1) - numbers.unsqueeze(2)
    return apart.masked_fill(apart != 0, _APART).masked_fill(apart == 0, 0.0)
