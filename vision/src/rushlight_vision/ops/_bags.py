"""Regions of images as bags of pixels.

Every operator on regions is a weighted sum, a mean or a maximum over some pixels for each bin of a
region. Pixels become rows of a table, channels last, and `embedding_bag`, compiled and with all
gradients, reduces the bags. Which pixels belong to a bin, and their weights, is computed for all
regions at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import rushlight as rl
from rushlight.nn import functional as F


def pixel_table(images: rl.Tensor, parts: int = 1) -> rl.Tensor:
    """Pixels (N * H * W * parts, C / parts) of images (N, C, H, W).

    Channels are in `parts` consecutive groups; all groups of a pixel are next to each other.
    """
    n, c, h, w = images.shape
    split = images.reshape(n, parts, c // parts, h, w)
    return split.permute(0, 3, 4, 1, 2).reshape(n * h * w * parts, c // parts)


def interleaved_table(images: rl.Tensor, parts: int) -> rl.Tensor:
    """As :func:`pixel_table`, where channel ``c`` belongs to group ``c % parts``."""
    n, c, h, w = images.shape
    split = images.reshape(n, c // parts, parts, h, w)
    return split.permute(0, 3, 4, 2, 1).reshape(n * h * w * parts, c // parts)


def grid_of_bins(reduced: rl.Tensor, size: tuple[int, int]) -> rl.Tensor:
    """Reduced bags (K * height * width, C) as (K, C, height, width)."""
    height, width = size
    channels = reduced.shape[1]
    split = reduced.reshape(-1, height, width, channels)
    return split.permute(0, 3, 1, 2).contiguous()


def expanded(counts: rl.Tensor, first: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
    """For ``counts[i]`` members of each owner ``i``: the owner and the number of every member.

    `first` is the position of each owner's first member.

    >>> expanded(rl.tensor([2, 0, 1]), rl.tensor([0, 2, 2]))
    (tensor([0, 0, 2]), tensor([0, 1, 0]))
    """
    owners = rl.repeat_interleave(rl.arange(counts.shape[0], device=counts.device), counts)
    return owners, rl.arange(owners.shape[0], device=counts.device) - first[owners]


Span = tuple[rl.Tensor, rl.Tensor]


@dataclass
class Windows:
    """Rectangles of pixels, one for each bin: int64 tensors (B,).

    `base` is the table's row of the first pixel of the image, `step` the rows of a pixel.
    """

    base: rl.Tensor
    top: rl.Tensor
    left: rl.Tensor
    rows: rl.Tensor
    columns: rl.Tensor
    image_width: int
    step: int = 1

    @classmethod
    def of_bins(
        cls, base: rl.Tensor, y: Span, x: Span, image_width: int,
        step: int = 1, shift: rl.Tensor | None = None,
    ) -> Windows:  # fmt: skip
        """Windows of the bins of regions.

        `y` and `x` hold first pixels and numbers of pixels, each (K, bins); `base` is (K,), and
        `shift` (bins of y, bins of x) is added to it for each bin.
        """
        shape = (base.shape[0], y[0].shape[1], x[0].shape[1])
        first = base[:, None, None] if shift is None else base[:, None, None] + shift
        of_y = [each[:, :, None] for each in y]
        of_x = [each[:, None, :] for each in x]
        base, top, left, rows, columns = (
            part.expand(shape).reshape(-1) for part in (first, of_y[0], of_x[0], of_y[1], of_x[1])
        )
        return cls(base, top, left, rows, columns, image_width, step)

    @cached_property
    def offsets(self) -> rl.Tensor:
        """Where the bag of each bin begins, and where the last one ends: (B + 1,)."""
        return F.pad((self.rows * self.columns).cumsum(0), (1, 0))

    @cached_property
    def members(self) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Bin, row and column inside of the bin of every pixel, one bag after the other.

        Pixels of a bag are in row-major order.
        """
        bins, number = expanded(self.rows * self.columns, self.offsets[:-1])
        columns = self.columns[bins]
        row = number.div(columns, rounding_mode="trunc")
        return bins, row, number - row * columns

    def pixels(self) -> rl.Tensor:
        """Rows of the table of all members."""
        bins, row, column = self.members
        first = self.base + (self.top * self.image_width + self.left) * self.step
        return first[bins] + row * (self.image_width * self.step) + column * self.step


def reduced_windows(table: rl.Tensor, windows: Windows, mode: str) -> rl.Tensor:
    """The mean or maximum (B, C) of the pixels of each window; 0 where there are none."""
    return F.embedding_bag(
        windows.pixels(), table, windows.offsets, mode=mode, include_last_offset=True
    )


def checked_images(name: str, rois: rl.Tensor, images: rl.Tensor) -> rl.Tensor:
    """The number of the image of each region, int64; raises where there is no such image."""
    if rois.dtype != images.dtype:
        raise RuntimeError(
            f"{name}: boxes must have the dtype of the input, {images.dtype}; got {rois.dtype}"
        )
    if images.ndim != 4:
        raise RuntimeError(f"{name}: input must have shape (N, C, H, W), got {tuple(images.shape)}")
    numbers = rois[:, 0].long()
    if numbers.numel() and not bool(((numbers >= 0) & (numbers < images.shape[0])).all()):
        raise IndexError(
            f"{name}: boxes[:, 0] must number the {images.shape[0]} images of the input from 0; "
            f"got {int(numbers.min())} to {int(numbers.max())}"
        )
    return numbers


def rounded_away(x: rl.Tensor) -> rl.Tensor:
    """The nearest whole number as int64, halves away from zero (the coordinates of regions)."""
    whole = x.trunc()
    return (whole + x.sign() * ((x - whole).abs() >= 0.5)).long()
