"""aug_transforms: the augmentation of batches that most pictures want, in one line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.affine import (
    AffineCoordTfm,
    Dihedral,
    Flip,
    Rotate,
    Warp,
    Zoom,
    sampled,
)
from lightning_lite.easy.data.cropping import drawn_piece, middle_piece
from lightning_lite.easy.data.describing import describable
from lightning_lite.easy.data.lighting import Brightness, Contrast, LightingTfm
from lightning_lite.easy.data.randomness import between, chance, whole
from lightning_lite.easy.data.transform import Transform
from rushlight import nn


@describable
class RandomResizedCropGPU(Transform):
    """A piece of a batch, the same for all of it, resized to `size` pixels or `(height, width)`.

    The piece has `min_scale` to `max_scale` of the area and a width over height in `ratio`;
    validation takes the middle, `valid_scale` of each side. `mode`, `mode_mask`: the sampling.
    """

    order = 30

    def __init__(
        self,
        size: Any,
        min_scale: float = 0.08,
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        mode: str = "bilinear",
        valid_scale: float = 1.0,
        max_scale: float = 1.0,
        mode_mask: str = "nearest",
    ) -> None:
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.scales, self.ratio, self.valid_scale = (
            (min_scale, max_scale),
            tuple(ratio),
            valid_scale,
        )
        self.mode, self.mode_mask = mode, mode_mask
        self.piece = (0, 0, 1, 1)

    def begin(self, sample: tuple[Any, ...], kinds: tuple[str, ...], split: int) -> None:
        """Draw the piece."""
        pairs = zip(sample, kinds, strict=True)
        height, width = next(part for part, kind in pairs if kind in ("image", "mask")).shape[-2:]
        if not split:
            self.piece = drawn_piece((width, height), self.scales, self.ratio)
            return
        _, _, wide, high = middle_piece((width, height), self.ratio)
        wide, high = int(wide * self.valid_scale), int(high * self.valid_scale)
        self.piece = (width - wide) // 2, (height - high) // 2, wide, high

    def image(self, x: Any) -> Any:
        """The piece of the pictures."""
        return self._read(x, self.mode)

    def mask(self, x: Any) -> Any:
        """The piece of the masks."""
        return self._read(x[:, None].float(), self.mode_mask)[:, 0].to(x.dtype)

    def _read(self, x: Any, mode: str) -> Any:
        left, top, wide, high = self.piece
        x = x[..., top : top + high, left : left + wide]
        identity = rl.eye(2, 3).expand(len(x), 2, 3)
        shape = [*x.shape[:2], *self.size]
        coords = nn.functional.affine_grid(identity, shape, align_corners=True)
        return sampled(x, coords, mode, "reflection", True)


@describable
class RandomErasing(Transform):
    """Noise in up to `max_count` random rectangles of a training batch, with probability `p`.

    They cover `sl` to `sh` of the area together, and their sides have a ratio of at least
    `min_aspect`. It comes after `Normalize`: the noise has mean 0 and deviation 1. Zhong et al.
    2017.
    """

    order, split_idx = 100, 0

    def __init__(
        self,
        p: float = 0.5,
        sl: float = 0.0,
        sh: float = 0.3,
        min_aspect: float = 0.3,
        max_count: int = 1,
    ) -> None:
        self.p, self.sl, self.sh, self.max_count = p, sl, sh, max_count
        self.log_ratio = (math.log(min_aspect), math.log(1 / min_aspect))

    def image(self, x: Any) -> Any:
        """The pictures."""
        if not chance(self.p):
            return x
        x, count = x.clone(), whole(1, self.max_count)
        height, width = x.shape[-2:]
        for _ in range(count):
            area = between(self.sl, self.sh) * height * width / count
            aspect = math.exp(between(*self.log_ratio))
            rows, columns = _span(area * aspect, height), _span(area / aspect, width)
            hole = x[..., rows, columns]
            x[..., rows, columns] = rl.randn(hole.shape, dtype=x.dtype)
        return x


def _span(area: float, length: int) -> slice:
    side = round(math.sqrt(area))
    start = whole(0, max(length - side, 0))
    return slice(start, start + side)


def setup_aug_tfms(tfms: Sequence[Any]) -> list[Any]:
    """The same transforms, those of coordinates made one, and those of light: each picture is
    sampled once, and goes to logits once."""
    others: list[Any] = []
    joined: dict[type, Any] = {}
    for each in tfms:
        kind = next(
            (kind for kind in (AffineCoordTfm, LightingTfm) if isinstance(each, kind)), None
        )
        if kind is None:
            others.append(each)
        else:
            joined[kind] = joined[kind].composed(each) if kind in joined else each
    return [joined[kind] for kind in (AffineCoordTfm, LightingTfm) if kind in joined] + others


def aug_transforms(
    mult: float = 1.0,
    do_flip: bool = True,
    flip_vert: bool = False,
    max_rotate: float = 10.0,
    min_zoom: float = 1.0,
    max_zoom: float = 1.1,
    max_lighting: float = 0.2,
    max_warp: float = 0.2,
    p_affine: float = 0.75,
    p_lighting: float = 0.75,
    xtra_tfms: object = None,
    size: int | tuple[int, int] | None = None,
    mode: str = "bilinear",
    pad_mode: str = "reflection",
    align_corners: bool = True,
    batch: bool = False,
    min_scale: float = 1.0,
) -> list[Any]:
    """Transforms of batches of pictures, and of their masks, points and boxes, for `batch_tfms`.

    Training pictures are mirrored (`do_flip`; `flip_vert`: any of the eight flips and quarter
    turns), warped by up to `max_warp`, turned by `max_rotate` degrees, zoomed by `min_zoom` to
    `max_zoom`, each with probability `p_affine`, and changed in brightness and contrast by
    `max_lighting` with `p_lighting`; `mult` multiplies the largest turn, light and warp. All
    pictures get `size`, pixels or `(height, width)`. `batch`: the same for all of a batch;
    `min_scale` below 1: pieces of at least that share of the area; `xtra_tfms`: further transforms.
    `mode`, `pad_mode`, `align_corners`: see `AffineCoordTfm`. ValueError for `min_scale` without
    `size`.

    >>> from lightning_lite.easy import aug_transforms
    >>> [type(each).__name__ for each in aug_transforms(size=64)]
    ['Flip', 'Brightness']
    """
    extra = [] if xtra_tfms is None else _listed(xtra_tfms)
    if min_scale != 1.0:
        if size is None:
            raise ValueError(f"aug_transforms: min_scale={min_scale} needs size")
        extra, size = [RandomResizedCropGPU(size, min_scale, (1, 1)), *extra], None
    how: dict[str, Any] = {"size": size, "mode": mode, "pad_mode": pad_mode, "batch": batch}
    how["align_corners"] = align_corners
    made: list[Any] = []
    if do_flip:
        made.append(Dihedral(0.5, **how) if flip_vert else Flip(0.5, **how))
    if max_warp * mult:
        made.append(Warp(max_warp * mult, p_affine, **how))
    if max_rotate * mult:
        made.append(Rotate(max_rotate * mult, p_affine, **how))
    if min_zoom < 1 or max_zoom > 1:
        made.append(Zoom(min_zoom, max_zoom, p_affine, **how))
    if max_lighting * mult:
        made.append(Brightness(max_lighting * mult, p_lighting, batch=batch))
        made.append(Contrast(max_lighting * mult, p_lighting, batch=batch))
    return setup_aug_tfms([*made, *extra])


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]
