"""Anchors: boxes at regular positions from which detectors measure offsets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models.detection.image_list import ImageList


class AnchorGenerator(nn.Module):
    """Anchors of some sizes and shapes at every position of feature maps.

    Parameters
    ----------
    sizes : tuple of tuple of int, default ``((128, 256, 512),)``
        For every map square roots of the areas of its anchors; plain numbers stand for one each.
    aspect_ratios : tuple of tuple of float, default ``((0.5, 1.0, 2.0),)``
        For every map heights over widths; plain numbers stand for the same at every map.

    Example
    -------
    >>> images = ImageList(rl.zeros(1, 3, 64, 64), [(64, 64)])
    >>> AnchorGenerator(((32,),), ((1.0,),))(images, [rl.zeros(1, 8, 2, 2)])[0]
    tensor([[-16., -16.,  16.,  16.],
            [ 16., -16.,  48.,  16.],
            [-16.,  16.,  16.,  48.],
            [ 16.,  16.,  48.,  48.]])
    """

    def __init__(
        self, sizes: Any = ((128, 256, 512),), aspect_ratios: Any = ((0.5, 1.0, 2.0),)
    ) -> None:
        super().__init__()
        if not isinstance(sizes[0], (list, tuple)):
            sizes = tuple((each,) for each in sizes)
        if not isinstance(aspect_ratios[0], (list, tuple)):
            aspect_ratios = (aspect_ratios,) * len(sizes)
        self.sizes = sizes
        self.aspect_ratios = aspect_ratios
        self.cell_anchors = [
            self.generate_anchors(size, ratio)
            for size, ratio in zip(sizes, aspect_ratios, strict=False)
        ]

    def generate_anchors(
        self,
        scales: list[int],
        aspect_ratios: list[float],
        dtype: rl.dtype = rl.float32,
        device: rl.device = rl.device("cpu"),  # noqa: B008 - a constant
    ) -> rl.Tensor:
        """Anchors (ratios * scales, 4) around the origin, with whole coordinates."""
        sides = rl.as_tensor(scales, dtype=dtype, device=device)
        tall = rl.as_tensor(aspect_ratios, dtype=dtype, device=device).sqrt()
        heights = (tall[:, None] * sides).reshape(-1)
        widths = ((1 / tall)[:, None] * sides).reshape(-1)
        return (rl.stack([-widths, -heights, widths, heights], dim=1) / 2).round()

    def set_cell_anchors(self, dtype: rl.dtype, device: rl.device) -> None:
        """Convert the anchors around the origin."""
        self.cell_anchors = [each.to(dtype=dtype, device=device) for each in self.cell_anchors]

    def num_anchors_per_location(self) -> list[int]:
        """How many anchors each position of every map has."""
        pairs = zip(self.sizes, self.aspect_ratios, strict=False)
        return [len(sizes) * len(ratios) for sizes, ratios in pairs]

    def grid_anchors(
        self, grid_sizes: list[list[int]], strides: list[list[rl.Tensor]] | list[list[int]]
    ) -> list[rl.Tensor]:
        """Anchors (positions * anchors, 4) of every map, of its height and width in `grid_sizes`
        and the pixels from one position to the next in `strides`.

        Raises AssertionError where there are not as many maps as sizes.
        """
        if not len(grid_sizes) == len(strides) == len(self.cell_anchors):
            raise AssertionError(
                f"feature_maps: {len(grid_sizes)} for {len(self.cell_anchors)} tuples of sizes; "
                "expected sizes and aspect_ratios to have a tuple for every map"
            )
        every: Sequence[Sequence[Any]] = strides
        triples = zip(grid_sizes, every, self.cell_anchors, strict=True)
        return [_shifted(size, stride, cell) for size, stride, cell in triples]

    def forward(self, image_list: ImageList, feature_maps: list[rl.Tensor]) -> list[rl.Tensor]:
        """Anchors (A, 4) of each image: of all maps, rows by rows, those of a position together."""
        sizes = [list(each.shape[-2:]) for each in feature_maps]
        height, width = image_list.tensors.shape[-2:]
        strides = [[height // down, width // across] for down, across in sizes]
        self.set_cell_anchors(feature_maps[0].dtype, feature_maps[0].device)
        every = rl.cat(self.grid_anchors(sizes, strides))
        return [every for _ in image_list.image_sizes]


def _shifted(size: list[int], stride: Sequence[Any], cell: rl.Tensor) -> rl.Tensor:
    """The anchors `cell` (A, 4) at every position of a grid."""
    down, across = (
        rl.arange(0, count, dtype=rl.int32, device=cell.device) * step
        for count, step in zip(size, stride, strict=True)
    )
    y, x = rl.meshgrid(down, across, indexing="ij")
    x, y = x.reshape(-1), y.reshape(-1)
    shifts = rl.stack((x, y, x, y), dim=1)
    return (shifts[:, None] + cell[None]).reshape(-1, 4)


class DefaultBoxGenerator(nn.Module):
    """The default boxes of SSD (Liu et al., SSD: single shot multibox detector, 2016).

    Parameters
    ----------
    aspect_ratios : list of list of int
        For every map the ratios of its boxes beside 1; each stands for itself and its inverse.
    min_ratio, max_ratio : float, default 0.15 and 0.9
        Sizes of the boxes of the first and of the last map as parts of the image.
    scales : list of float or None
        Sizes for every map and one more; default: at equal distances, and 1.
    steps : list of int or None
        Pixels between positions of every map; default: as many as fill the image.
    clip : bool, default True
        No box is larger than the image.

    Raises
    ------
    ValueError
        If `steps` and `aspect_ratios` have different lengths.
    """

    def __init__(
        self,
        aspect_ratios: list[list[int]],
        min_ratio: float = 0.15,
        max_ratio: float = 0.9,
        scales: list[float] | None = None,
        steps: list[int] | None = None,
        clip: bool = True,
    ) -> None:
        super().__init__()
        if steps is not None and len(aspect_ratios) != len(steps):
            raise ValueError(
                f"steps: {len(steps)} for {len(aspect_ratios)} aspect_ratios; expected one each"
            )
        self.aspect_ratios = aspect_ratios
        self.steps = steps
        self.clip = clip
        self.scales = _scales(len(aspect_ratios), min_ratio, max_ratio) if not scales else scales
        self._wh_pairs = self._generate_wh_pairs(len(aspect_ratios))

    def _generate_wh_pairs(
        self,
        num_outputs: int,
        dtype: rl.dtype = rl.float32,
        device: rl.device = rl.device("cpu"),  # noqa: B008 - a constant
    ) -> list[rl.Tensor]:
        """Widths and heights (boxes, 2) of each map, as parts of the image."""
        found = []
        for level in range(num_outputs):
            side, following = self.scales[level], self.scales[level + 1]
            between = math.sqrt(side * following)
            rows = [[side, side], [between, between]]
            for ratio in self.aspect_ratios[level]:
                long, short = side * math.sqrt(ratio), side / math.sqrt(ratio)
                rows += [[long, short], [short, long]]
            found.append(rl.as_tensor(rows, dtype=dtype, device=device))
        return found

    def num_anchors_per_location(self) -> list[int]:
        """How many boxes each position of every map has."""
        return [2 + 2 * len(ratios) for ratios in self.aspect_ratios]

    def _grid_default_boxes(
        self, grid_sizes: list[list[int]], image_size: list[int], dtype: rl.dtype = rl.float32
    ) -> rl.Tensor:
        """Centres and sizes (boxes, 4) of all maps, as parts of the image."""
        levels = []
        for level, (rows, columns) in enumerate(grid_sizes):
            steps: tuple[float, ...] = (rows, columns)
            if self.steps is not None:
                steps = tuple(side / self.steps[level] for side in image_size)
            y = ((rl.arange(0, rows) + 0.5) / steps[0]).to(dtype=dtype)
            x = ((rl.arange(0, columns) + 0.5) / steps[1]).to(dtype=dtype)
            down, across = rl.meshgrid(y, x, indexing="ij")
            pairs: Any = self._wh_pairs[level]
            pairs = pairs.clamp(min=0, max=1) if self.clip else pairs
            centers = rl.stack((across.reshape(-1), down.reshape(-1)), dim=-1)
            centers = centers.repeat_interleave(len(pairs), 0)
            levels.append(rl.cat((centers, pairs.repeat(rows * columns, 1)), dim=1))
        return rl.cat(levels)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, "
            f"scales={self.scales}, steps={self.steps})"
        )

    def forward(self, image_list: ImageList, feature_maps: list[rl.Tensor]) -> list[rl.Tensor]:
        """Boxes (B, 4), ``x1, y1, x2, y2`` in pixels, of each image."""
        sizes = [list(each.shape[-2:]) for each in feature_maps]
        image_size = list(image_list.tensors.shape[-2:])
        kind, device = feature_maps[0].dtype, feature_maps[0].device
        boxes = self._grid_default_boxes(sizes, image_size, dtype=kind).to(device)
        centers, halves = boxes[:, :2], 0.5 * boxes[:, 2:]
        pixels = rl.tensor([image_size[1], image_size[0]], device=device)
        corners = rl.cat(((centers - halves) * pixels, (centers + halves) * pixels), dim=-1)
        return [corners for _ in image_list.image_sizes]


def _scales(count: int, first: float, last: float) -> list[float]:
    """`count` sizes at equal distances, and 1."""
    if count == 1:
        return [first, last]
    return [first + (last - first) * each / (count - 1.0) for each in range(count)] + [1.0]
