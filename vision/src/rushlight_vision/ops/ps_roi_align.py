"""Position-sensitive RoI align: every bin looks at channels of its own (Li et al., Light-Head
R-CNN, 2017)."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_vision.ops._autocast import in_float32_under_autocast
from rushlight_vision.ops._bags import checked_images, grid_of_bins, interleaved_table
from rushlight_vision.ops._bilinear import Axis, sampled
from rushlight_vision.ops._utils import Boxes, channel_groups, described, pair, regions

Size = int | tuple[int, int] | list[int]


@in_float32_under_autocast
def ps_roi_align(
    input: rl.Tensor,
    boxes: Boxes,
    output_size: Size,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
) -> rl.Tensor:
    """Regions of images, divided into bins; each bin the mean of bilinear samples of its channels.

    Bin (i, j) of channel `c` of the result looks at channel ``(c * height + i) * width + j`` of the
    input. Coordinates mean centres of pixels.

    Parameters
    ----------
    input : Tensor (N, C * height * width, H, W)
        float32, float64, float16 or bfloat16.
    boxes : Tensor (K, 5) or list of Tensor (L, 4)
        Number of the image, then ``x1, y1, x2, y2``; or boxes for each image. Dtype of `input`.
    output_size : int or (int, int)
        Bins down and across.
    spatial_scale : float, default 1.0
        Pixels of `input` for one unit of the coordinates.
    sampling_ratio : int, default -1
        Samples of a bin along each dimension; as many as it has pixels if not positive:
        NaN where there are none.

    Returns
    -------
    Tensor (K, C, height, width)

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
    >>> image = rl.arange(16.0).reshape(1, 4, 2, 2)
    >>> ps_roi_align(image, [rl.tensor([[0.0, 0.0, 2.0, 2.0]])], 2, sampling_ratio=1)
    tensor([[[[ 0.,  5.],
              [10., 15.]]]])
    """
    size, rois = pair(output_size), regions(boxes).detach()
    images = checked_images("ps_roi_align", rois, input)
    parts = channel_groups("ps_roi_align", input, size)
    scaled = rois[:, 1:] * spatial_scale - 0.5
    extents = scaled[:, 2:] - scaled[:, :2]
    y = Axis(scaled[:, 1], extents[:, 1], size[0], input.shape[2])
    x = Axis(scaled[:, 0], extents[:, 0], size[1], input.shape[3])
    bins = rl.arange(parts, device=input.device).reshape(size)
    base = images.mul(y.length * x.length * parts)
    table = interleaved_table(input, parts)
    sums = sampled(table, y, x, sampling_ratio, base, parts, bins)
    samples = y.samples(sampling_ratio) * x.samples(sampling_ratio)
    return grid_of_bins(sums, size) / samples[:, None, None, None].to(input.dtype)


class PSRoIAlign(nn.Module):
    """:func:`ps_roi_align` as a layer."""

    def __init__(self, output_size: Size, spatial_scale: float, sampling_ratio: int) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio

    def forward(self, input: rl.Tensor, rois: Boxes) -> rl.Tensor:
        """Regions `rois` of images (N, C * height * width, H, W): (K, C, height, width)."""
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)

    def __repr__(self) -> str:
        return described(self, "output_size", "spatial_scale", "sampling_ratio")
