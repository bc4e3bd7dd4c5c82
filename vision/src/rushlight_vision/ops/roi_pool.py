"""Maxima in the bins of regions (Girshick, Fast R-CNN, 2015)."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_vision.ops._autocast import in_float32_under_autocast
from rushlight_vision.ops._bags import (
    Windows,
    checked_images,
    grid_of_bins,
    pixel_table,
    reduced_windows,
    rounded_away,
)
from rushlight_vision.ops._utils import Boxes, described, pair, regions

Size = int | tuple[int, int] | list[int]


def bin_edges(
    start: rl.Tensor, extent: rl.Tensor, bins: int, last: int
) -> tuple[rl.Tensor, rl.Tensor]:
    """First pixels and numbers of pixels (K, bins) of bins that cover an extent, 0 ... `last`.

    Bins overlap by the pixel that an edge cuts. `start` is int64, `extent` floating.
    """
    size = (extent / bins)[:, None]
    numbers = rl.arange(bins, device=start.device).to(extent.dtype)
    begin = (start[:, None] + (numbers * size).floor().long()).clamp(0, last)
    end = (start[:, None] + ((numbers + 1) * size).ceil().long()).clamp(0, last)
    return begin, (end - begin).clamp(min=0)


@in_float32_under_autocast
def roi_pool(
    input: rl.Tensor, boxes: Boxes, output_size: Size, spatial_scale: float = 1.0
) -> rl.Tensor:
    """Regions of images, divided into bins, each bin the maximum of its pixels (0 without any).

    Parameters
    ----------
    input : Tensor (N, C, H, W)
        float32, float64, float16 or bfloat16.
    boxes : Tensor (K, 5) or list of Tensor (L, 4)
        Number of the image, then ``x1, y1, x2, y2``; or boxes for each image. Dtype of `input`.
    output_size : int or (int, int)
        Bins down and across.
    spatial_scale : float, default 1.0
        Pixels of `input` for one unit of the coordinates, which are rounded afterwards.

    Returns
    -------
    Tensor (K, C, height, width)

    Raises
    ------
    AssertionError
        For boxes of another shape.
    RuntimeError
        For another dtype of the boxes, or input that is not 4-dimensional.
    IndexError
        For numbers of images that there are not.

    Example
    -------
    >>> image = rl.arange(16.0).reshape(1, 1, 4, 4)
    >>> roi_pool(image, [rl.tensor([[0.0, 0.0, 1.0, 2.0]])], 1)
    tensor([[[[9.]]]])
    """
    size, rois = pair(output_size), regions(boxes).detach()
    images = checked_images("roi_pool", rois, input)
    height, width = input.shape[2:]
    corners = rounded_away(rois[:, 1:] * spatial_scale)
    extents = (corners[:, 2:] - corners[:, :2] + 1).clamp(min=1).to(input.dtype)
    y = bin_edges(corners[:, 1], extents[:, 1], size[0], height)
    x = bin_edges(corners[:, 0], extents[:, 0], size[1], width)
    windows = Windows.of_bins(images * (height * width), y, x, width)
    return grid_of_bins(reduced_windows(pixel_table(input), windows, "max"), size)


class RoIPool(nn.Module):
    """:func:`roi_pool` as a layer."""

    def __init__(self, output_size: Size, spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: rl.Tensor, rois: Boxes) -> rl.Tensor:
        """Regions `rois` of images (N, C, H, W): (K, C, height, width)."""
        return roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return described(self, "output_size", "spatial_scale")
