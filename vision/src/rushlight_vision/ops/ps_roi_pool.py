"""Position-sensitive RoI pooling: every bin looks at channels of its own (Dai et al., R-FCN,
2016)."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_vision.ops._autocast import in_float32_under_autocast
from rushlight_vision.ops._bags import (
    Windows,
    checked_images,
    grid_of_bins,
    interleaved_table,
    reduced_windows,
    rounded_away,
)
from rushlight_vision.ops._utils import Boxes, channel_groups, described, pair, regions
from rushlight_vision.ops.roi_pool import bin_edges

Size = int | tuple[int, int] | list[int]


@in_float32_under_autocast
def ps_roi_pool(
    input: rl.Tensor, boxes: Boxes, output_size: Size, spatial_scale: float = 1.0
) -> rl.Tensor:
    """Regions of images, divided into bins; each bin the mean of pixels of its channels.

    Bin (i, j) of channel `c` of the result looks at channel ``(c * height + i) * width + j`` of the
    input.

    Parameters
    ----------
    input : Tensor (N, C * height * width, H, W)
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
        0 in bins without pixels. As in torchvision, pixels of the last row and column do not count.

    Raises
    ------
    AssertionError
        For boxes of another shape.
    RuntimeError
        For channels that are no multiple of the bins, or another dtype of the boxes.
    IndexError
        For numbers of images that there are not.

    Example
    -------
    >>> image = rl.arange(36.0).reshape(1, 4, 3, 3)
    >>> ps_roi_pool(image, [rl.tensor([[0.0, 0.0, 2.0, 2.0]])], 2)
    tensor([[[[ 0., 10.],
              [21., 31.]]]])
    """
    size, rois = pair(output_size), regions(boxes).detach()
    images = checked_images("ps_roi_pool", rois, input)
    parts = channel_groups("ps_roi_pool", input, size)
    height, width = input.shape[2:]
    corners = rounded_away(rois[:, 1:] * spatial_scale)
    extents = (corners[:, 2:] - corners[:, :2]).clamp(min=1).to(input.dtype)
    y = bin_edges(corners[:, 1], extents[:, 1], size[0], height - 1)
    x = bin_edges(corners[:, 0], extents[:, 0], size[1], width - 1)
    bins = rl.arange(parts, device=input.device).reshape(size)
    windows = Windows.of_bins(images * (height * width * parts), y, x, width, parts, bins)
    return grid_of_bins(reduced_windows(interleaved_table(input, parts), windows, "mean"), size)


class PSRoIPool(nn.Module):
    """:func:`ps_roi_pool` as a layer."""

    def __init__(self, output_size: Size, spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: rl.Tensor, rois: Boxes) -> rl.Tensor:
        """Regions `rois` of images (N, C * height * width, H, W): (K, C, height, width)."""
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return described(self, "output_size", "spatial_scale")
