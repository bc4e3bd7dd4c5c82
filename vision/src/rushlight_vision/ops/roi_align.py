"""Averages of bilinear samples in the bins of regions (He et al., Mask R-CNN, 2017)."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_vision.ops._autocast import in_float32_under_autocast
from rushlight_vision.ops._bags import checked_images, grid_of_bins, pixel_table
from rushlight_vision.ops._bilinear import Axis, sampled
from rushlight_vision.ops._utils import Boxes, described, pair, regions

Size = int | tuple[int, int] | list[int]


@in_float32_under_autocast
def roi_align(
    input: rl.Tensor,
    boxes: Boxes,
    output_size: Size,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> rl.Tensor:
    """Regions of images, divided into bins, each bin the mean of bilinear samples.

    Parameters
    ----------
    input : Tensor (N, C, H, W)
        float32, float64, float16 or bfloat16.
    boxes : Tensor (K, 5) or list of Tensor (L, 4)
        Number of the image, then ``x1, y1, x2, y2``; or boxes for each image. Dtype of `input`.
        No gradient reaches them.
    output_size : int or (int, int)
        Bins down and across.
    spatial_scale : float, default 1.0
        Pixels of `input` for one unit of the coordinates.
    sampling_ratio : int, default -1
        Samples of a bin along each dimension; as many as it has pixels if not positive.
    aligned : bool, default False
        Whether coordinates are moved by half a pixel, so that they mean centres of pixels. Without
        it, regions have at least one pixel.

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
    >>> roi_align(image, [rl.tensor([[0.0, 0.0, 2.0, 2.0]])], 1, sampling_ratio=1)
    tensor([[[[5.]]]])
    """
    size, rois = pair(output_size), regions(boxes).detach()
    images = checked_images("roi_align", rois, input)
    scaled = rois[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)
    extents = scaled[:, 2:] - scaled[:, :2]
    if not aligned:
        extents = extents.clamp(min=1.0)
    y = Axis(scaled[:, 1], extents[:, 1], size[0], input.shape[2])
    x = Axis(scaled[:, 0], extents[:, 0], size[1], input.shape[3])
    base = images.mul(y.length * x.length)
    sums = sampled(pixel_table(input), y, x, sampling_ratio, base)
    samples = (y.samples(sampling_ratio) * x.samples(sampling_ratio)).clamp(min=1)
    return grid_of_bins(sums, size) / samples[:, None, None, None].to(input.dtype)


class RoIAlign(nn.Module):
    """:func:`roi_align` as a layer."""

    def __init__(
        self,
        output_size: Size,
        spatial_scale: float,
        sampling_ratio: int,
        aligned: bool = False,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input: rl.Tensor, rois: Boxes) -> rl.Tensor:
        """Regions `rois` of images (N, C, H, W): (K, C, height, width)."""
        return roi_align(
            input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned
        )

    def __repr__(self) -> str:
        return described(self, "output_size", "spatial_scale", "sampling_ratio", "aligned")
