"""RoI align on the maps of a pyramid: every box is taken from the map that fits its size."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight import nn
from rushlight_vision.ops._utils import convert_boxes_to_roi_format, described, pair
from rushlight_vision.ops.boxes import box_area
from rushlight_vision.ops.roi_align import roi_align


class LevelMapper:
    """The level of a pyramid for each box: `canonical_level` for the area of `canonical_scale`
    squared, one more for each doubling of the sides (Lin et al., 2017, equation 1).

    Levels are from `k_min` to `k_max` and numbered from 0 in the result.
    """

    def __init__(
        self,
        k_min: int,
        k_max: int,
        canonical_scale: int = 224,
        canonical_level: int = 4,
        eps: float = 1e-6,
    ) -> None:
        self.k_min = k_min
        self.k_max = k_max
        self.s0 = canonical_scale
        self.lvl0 = canonical_level
        self.eps = eps

    def __call__(self, boxlists: list[rl.Tensor]) -> rl.Tensor:
        """Levels (K,), int64, of all boxes of all images."""
        side = rl.cat([box_area(boxes) for boxes in boxlists]).sqrt()
        levels = (self.lvl0 + rl.log2(side / self.s0) + self.eps).floor()
        return levels.clamp(min=self.k_min, max=self.k_max).to(rl.int64) - self.k_min


def _setup_scales(
    features: list[rl.Tensor],
    image_shapes: list[tuple[int, int]],
    canonical_scale: int,
    canonical_level: int,
) -> tuple[list[float], LevelMapper]:
    """The scale of each map, a power of 2, and the mapper of its levels."""
    if not image_shapes:
        raise ValueError("image_shapes: expected the size of at least one image, got none")
    height = max(shape[0] for shape in image_shapes)
    powers = [round(math.log2(each.shape[-2] / height)) for each in features]
    mapper = LevelMapper(-powers[0], -powers[-1], canonical_scale, canonical_level)
    return [2.0**power for power in powers], mapper


class MultiScaleRoIAlign(nn.Module):
    """:func:`roi_align` on several maps, each box on the one that fits its size.

    Parameters
    ----------
    featmap_names : list of str
        The maps to look at.
    output_size : int or (int, int)
        Bins down and across.
    sampling_ratio : int
        Samples of a bin along each dimension; as many as it has pixels if not positive.
    canonical_scale, canonical_level : int, default 224 and 4
        Boxes with the area of a square of this side are taken from this level.

    Scales of the maps are inferred in the first call and kept.

    Example
    -------
    >>> maps = {"fine": rl.ones(1, 2, 16, 16), "coarse": rl.ones(1, 2, 8, 8)}
    >>> pooler = MultiScaleRoIAlign(["fine", "coarse"], 3, 2)
    >>> pooler(maps, [rl.tensor([[0.0, 0.0, 30.0, 30.0]])], [(64, 64)]).shape
    rushlight.Size([1, 2, 3, 3])
    """

    def __init__(
        self,
        featmap_names: list[str],
        output_size: int | tuple[int, int] | list[int],
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names = featmap_names
        self.sampling_ratio = sampling_ratio
        self.output_size = pair(output_size)
        self.scales: list[float] | None = None
        self.map_levels: LevelMapper | None = None
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level

    def forward(
        self,
        x: dict[str, rl.Tensor],
        boxes: list[rl.Tensor],
        image_shapes: list[tuple[int, int]],
    ) -> rl.Tensor:
        """Boxes (L, 4) of each image, in pixels of images of `image_shapes`, out of maps by name:
        (K, C, height, width)."""
        maps = [each for name, each in x.items() if name in self.featmap_names]
        if self.scales is None or self.map_levels is None:
            self.scales, self.map_levels = _setup_scales(
                maps, image_shapes, self.canonical_scale, self.canonical_level
            )
        rois = convert_boxes_to_roi_format(boxes)
        if len(maps) == 1:
            return self._pooled(maps[0], rois, self.scales[0])
        levels = self.map_levels(boxes)
        members = [rl.where(levels == level)[0] for level in range(len(maps))]
        pooled = [
            self._pooled(each, rois[inside], scale).to(maps[0].dtype)
            for each, inside, scale in zip(maps, members, self.scales, strict=True)
        ]
        return rl.cat(pooled)[rl.argsort(rl.cat(members))]

    def _pooled(self, features: rl.Tensor, rois: rl.Tensor, scale: float) -> rl.Tensor:
        return roi_align(features, rois, self.output_size, scale, self.sampling_ratio)

    def __repr__(self) -> str:
        return described(self, "featmap_names", "output_size", "sampling_ratio")
