"""Bilinear samples at regular points of regions, as weights of pixels along each axis.

The weights of a bin are products of weights along y and along x, because its samples are a grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import rushlight as rl
from rushlight.nn import functional as F
from rushlight_vision.ops._bags import Windows

# Rows of a table, their weights, and where bags begin unless rows stand in bags.
Bags = tuple[rl.Tensor, rl.Tensor, rl.Tensor | None]


@dataclass
class Axis:
    """Regions along one dimension of the image.

    `start` and `extent` (K,) in pixels; `bins` of a region, pixels of the image.
    """

    start: rl.Tensor
    extent: rl.Tensor
    bins: int
    length: int

    def samples(self, sampling_ratio: int) -> rl.Tensor:
        """Samples of a bin along this dimension (K,): a given number, or one for each pixel."""
        if sampling_ratio > 0:
            return rl.full_like(self.start, sampling_ratio, dtype=rl.int64)
        return rl.ceil(self.extent / self.bins).long()

    def taps(self, samples: rl.Tensor, most: int) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """The lower pixel of each sample, its weight and that of the next one: (K, bins, most).

        Samples more than a pixel outside weigh nothing, others outside are moved to the border.
        Those beyond the number of `samples` of a region weigh nothing.
        """
        size = (self.extent / self.bins)[:, None, None]
        count = samples[:, None, None]
        numbers = rl.arange(most, device=self.start.device)
        bins = rl.arange(self.bins, device=self.start.device, dtype=self.start.dtype)
        begin = self.start[:, None, None] + bins[:, None] * size
        halfway = numbers.to(self.start.dtype) + 0.5
        points = begin + halfway * size / count.clamp(min=1).to(self.start.dtype)
        inside = (points >= -1) & (points <= self.length) & (numbers < count)
        points = points.clamp(0, self.length - 1)
        lower = points.floor()
        share = points - lower
        return lower.long(), rl.where(inside, 1 - share, 0.0), rl.where(inside, share, 0.0)

    def pairs(self, samples: int) -> tuple[rl.Tensor, rl.Tensor]:
        """Pixels and weights (K, bins, 2 * samples): two neighbours of every sample."""
        counts = rl.full_like(self.start, samples, dtype=rl.int64)
        lower, near, far = self.taps(counts, samples)
        upper = lower.add(1).clamp(max=self.length - 1)
        return rl.cat((lower, upper), -1), rl.cat((near, far), -1)

    def windows(self, samples: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Samples at most a pixel apart share neighbours, whose weights are added up.

        First pixel (K, bins), pixels (K, bins) and weights (K, bins, most pixels). A bin of `n`
        samples needs `n + 1` pixels: where rounding makes it one more, that one weighs a rounding
        error.
        """
        most = max(1, int(samples.max()) if samples.numel() else 1)
        lower, near, far = self.taps(samples, most)
        first = lower[..., 0]
        pixels = rl.minimum((samples + 1)[:, None], self.length - first)
        place = (lower - first[..., None]).clamp(0, most)
        weights = rl.zeros((*first.shape, most + 2), dtype=near.dtype, device=near.device)
        weights.scatter_add_(-1, place, near)
        weights.scatter_add_(-1, place + 1, far)
        return first, rl.where(samples[:, None] > 0, pixels, 0), weights


def even_bags(y: Axis, x: Axis, samples: int, base: rl.Tensor, step: int, shift: rl.Tensor) -> Bags:
    """Rows of the table and weights (B, taps) where all bins have equally many samples."""
    rows, down = y.pairs(samples)
    columns, across = x.pairs(samples)
    first = base[:, None, None] + rows * (x.length * step)
    places = first[:, :, None, :, None] + (columns * step)[:, None, :, None, :]
    places = places + shift[:, :, None, None]
    weights = down[:, :, None, :, None] * across[:, None, :, None, :]
    bags = base.shape[0] * y.bins * x.bins
    taps = 4 * samples * samples
    return places.reshape(bags, taps), weights.reshape(bags, taps), None


def adaptive_bags(y: Axis, x: Axis, base: rl.Tensor, step: int, shift: rl.Tensor) -> Bags:
    """Rows of the table and weights, flat, and where bags begin, for one sample each pixel."""
    top, rows, down = y.windows(y.samples(0))
    left, columns, across = x.windows(x.samples(0))
    # A region without extent along one dimension has no samples at all.
    rows = rl.where(columns[:, :1] > 0, rows, 0)
    windows = Windows.of_bins(base, (top, rows), (left, columns), x.length, step, shift)
    bins, row, column = windows.members
    shape = (base.shape[0], y.bins, x.bins)
    first_row = _firsts(down)[:, :, None].expand(shape).reshape(-1)
    first_column = _firsts(across)[:, None, :].expand(shape).reshape(-1)
    weights = across.reshape(-1)[first_column[bins] + column]
    weights = weights * down.reshape(-1)[first_row[bins] + row]
    return windows.pixels(), weights, windows.offsets


def _firsts(weights: rl.Tensor) -> rl.Tensor:
    """Flat positions (K, bins) of the first of the weights (K, bins, most pixels) of each bin."""
    regions, bins, most = weights.shape
    return rl.arange(regions * bins, device=weights.device).mul(most).reshape(regions, bins)


def sampled(
    table: rl.Tensor, y: Axis, x: Axis, sampling_ratio: int,
    base: rl.Tensor, step: int = 1, shift: rl.Tensor | None = None,
) -> rl.Tensor:  # fmt: skip
    """The sums (B, C) of the samples of every bin.

    `base` (K,) is the row of the table of the first pixel of a region's image, `step` the rows of
    a pixel, `shift` (bins of y, bins of x) what to add to it for each bin.
    """
    if shift is None:
        shift = base.new_zeros((y.bins, x.bins))
    if sampling_ratio > 0:
        bags = even_bags(y, x, sampling_ratio, base, step, shift)
    else:
        bags = adaptive_bags(y, x, base, step, shift)
    places, weights, offsets = bags
    return F.embedding_bag(
        places, table, offsets, mode="sum", per_sample_weights=weights,
        include_last_offset=offsets is not None,
    )  # fmt: skip
