"""Padding, cropping, perspective and elastic maps with all their kernels."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as rl
from rushlight_vision.transforms import functional as v1
from rushlight_vision.transforms.functional.images import Picture
from rushlight_vision.transforms.functional.padding import border_widths
from rushlight_vision.transforms.interpolation import InterpolationMode
from rushlight_vision.transforms.v2.functional import _space as space
from rushlight_vision.transforms.v2.functional._boxes import clamped, converted, moved
from rushlight_vision.transforms.v2.functional._geometry import (
    NEAREST,
    Format,
    Points,
    Size,
    _by_nearest,
    _resize,
    resize_bounding_boxes,
    resize_keypoints,
)
from rushlight_vision.transforms.v2.functional._points import moved_points
from rushlight_vision.transforms.v2.functional._registry import pixel_family, space_family
from rushlight_vision.tv_tensors import BoundingBoxFormat, is_rotated_bounding_format
from rushlight_vision.tv_tensors._geometry import as_format


def _pad(
    img: Picture,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = None,
    padding_mode: str = "constant",
) -> Picture:
    """`v1.pad`, and a colour of several channels around tensors."""
    color = list(fill) if isinstance(fill, (list, tuple)) else []
    if not (len(color) > 1 and isinstance(img, rl.Tensor) and padding_mode == "constant"):
        return v1.pad(img, padding, 0 if fill is None else fill, padding_mode)
    left, top, right, bottom = border_widths(padding, "pad")
    height, width = img.shape[-2:]
    result = v1.pad(img, [left, top, right, bottom], 0)
    values = rl.tensor(color, dtype=rl.float32).to(img.dtype).reshape(-1, 1, 1)
    result[...] = values.to(img.device)
    inner = img[..., max(-top, 0) : height + min(bottom, 0), max(-left, 0) : width + min(right, 0)]
    top, left = max(top, 0), max(left, 0)
    result[..., top : top + inner.shape[-2], left : left + inner.shape[-1]] = inner
    return result


def pad_mask(
    mask: rl.Tensor,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = None,
    padding_mode: str = "constant",
) -> rl.Tensor:
    """A mask with `padding` around it; `fill` is one number."""
    if isinstance(fill, (list, tuple)):
        raise ValueError("pad_mask: masks take one number as fill")
    return _by_nearest(_pad, mask, padding, fill, padding_mode)


def pad_bounding_boxes(
    bounding_boxes: rl.Tensor,
    format: Format,
    canvas_size: Size,
    padding: int | Sequence[int],
    padding_mode: str = "constant",
    clamping_mode: str | None = "soft",
) -> tuple[rl.Tensor, Size]:
    """Boxes of the padded image, and its size."""
    change, size = space.padded(canvas_size, padding, padding_mode)
    return moved(bounding_boxes, format, size, clamping_mode, change), size


def pad_keypoints(
    keypoints: rl.Tensor,
    canvas_size: Size,
    padding: int | Sequence[int],
    padding_mode: str = "constant",
) -> tuple[rl.Tensor, Size]:
    """Points of the padded image, and its size."""
    change, size = space.padded(canvas_size, padding, padding_mode)
    return moved_points(keypoints, change), size


def crop_mask(mask: rl.Tensor, top: int, left: int, height: int, width: int) -> rl.Tensor:
    """A part of a mask, zeros outside of it."""
    return _by_nearest(v1.crop, mask, top, left, height, width)


def crop_bounding_boxes(
    bounding_boxes: rl.Tensor,
    format: Format,
    top: int,
    left: int,
    height: int,
    width: int,
    clamping_mode: str | None = "soft",
) -> tuple[rl.Tensor, Size]:
    """Boxes of the part, and its size."""
    size = (height, width)
    return moved(bounding_boxes, format, size, clamping_mode, space.shift(-left, -top)), size


def crop_keypoints(
    keypoints: rl.Tensor, top: int, left: int, height: int, width: int
) -> tuple[rl.Tensor, Size]:
    """Points of the part, and its size."""
    size = (height, width)
    return moved_points(keypoints, space.shift(-left, -top)), size


def center_crop_mask(mask: rl.Tensor, output_size: int | Sequence[int]) -> rl.Tensor:
    """The middle of a mask."""
    return _by_nearest(v1.center_crop, mask, output_size)


def center_crop_bounding_boxes(
    bounding_boxes: rl.Tensor,
    format: Format,
    canvas_size: Size,
    output_size: int | Sequence[int],
    clamping_mode: str | None = "soft",
) -> tuple[rl.Tensor, Size]:
    """Boxes of the middle, and its size."""
    change, size = space.centered(canvas_size, output_size)
    return moved(bounding_boxes, format, size, clamping_mode, change), size


def center_crop_keypoints(
    inpt: rl.Tensor, canvas_size: Size, output_size: int | Sequence[int]
) -> tuple[rl.Tensor, Size]:
    """Points of the middle, and its size."""
    change, size = space.centered(canvas_size, output_size)
    return moved_points(inpt, change), size


def _resized_crop(
    img: Picture,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Picture:
    return _resize(v1.crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def resized_crop_mask(
    mask: rl.Tensor, top: int, left: int, height: int, width: int, size: int | Sequence[int]
) -> rl.Tensor:
    """A part of a mask at another size."""
    return _by_nearest(_resized_crop, mask, top, left, height, width, size, NEAREST)


def resized_crop_bounding_boxes(
    bounding_boxes: rl.Tensor,
    format: Format,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    clamping_mode: str | None = "soft",
) -> tuple[rl.Tensor, Size]:
    """Boxes of the resized part, and its size."""
    part, canvas = crop_bounding_boxes(
        bounding_boxes, format, top, left, height, width, clamping_mode
    )
    return resize_bounding_boxes(part, canvas, size, None, format, clamping_mode)


def resized_crop_keypoints(
    keypoints: rl.Tensor, top: int, left: int, height: int, width: int, size: int | Sequence[int]
) -> tuple[rl.Tensor, Size]:
    """Points of the resized part, and its size."""
    part, canvas = crop_keypoints(keypoints, top, left, height, width)
    return resize_keypoints(part, size, canvas)


def perspective_mask(
    mask: rl.Tensor,
    startpoints: Points,
    endpoints: Points,
    fill: float | Sequence[float] | None = None,
    coefficients: Sequence[float] | None = None,
) -> rl.Tensor:
    """A mask under a projective map, by the nearest pixel."""
    return _by_nearest(v1.perspective, mask, startpoints, endpoints, NEAREST, fill, coefficients)


def perspective_bounding_boxes(
    bounding_boxes: rl.Tensor,
    format: Format,
    canvas_size: Size,
    startpoints: Points,
    endpoints: Points,
    coefficients: Sequence[float] | None = None,
    clamping_mode: str | None = "soft",
) -> rl.Tensor:
    """Boxes around those under a projective map."""
    change = space.projective_map(startpoints, endpoints, coefficients)
    return moved(bounding_boxes, format, canvas_size, clamping_mode, change)


def perspective_keypoints(
    keypoints: rl.Tensor,
    canvas_size: Size,
    startpoints: Points,
    endpoints: Points,
    coefficients: Sequence[float] | None = None,
) -> rl.Tensor:
    """Points under a projective map."""
    change = space.projective_map(startpoints, endpoints, coefficients)
    return moved_points(keypoints, change)


def elastic_mask(
    mask: rl.Tensor, displacement: rl.Tensor, fill: float | Sequence[float] | None = None
) -> rl.Tensor:
    """A mask under an elastic map, by the nearest pixel."""
    return _by_nearest(v1.elastic_transform, mask, displacement, NEAREST, fill)


def elastic_bounding_boxes(
    bounding_boxes: rl.Tensor,
    format: Format,
    canvas_size: Size,
    displacement: rl.Tensor,
    clamping_mode: str | None = "soft",
) -> rl.Tensor:
    """Boxes around those under an elastic map; rotated ones move with their centres."""
    change = space.elastic_map(canvas_size, displacement)
    old = as_format(format)
    if not is_rotated_bounding_format(old):
        return moved(bounding_boxes, old, canvas_size, clamping_mode, change)
    centred = converted(bounding_boxes, old, BoundingBoxFormat.CXCYWHR)
    centred = rl.cat([change(centred[..., :2]), centred[..., 2:]], dim=-1)
    result = clamped(centred, BoundingBoxFormat.CXCYWHR, canvas_size, clamping_mode)
    return converted(result, BoundingBoxFormat.CXCYWHR, old)


def elastic_keypoints(
    keypoints: rl.Tensor, canvas_size: Size, displacement: rl.Tensor
) -> rl.Tensor:
    """Points under an elastic map."""
    return moved_points(keypoints, space.elastic_map(canvas_size, displacement, rl.floor))


pad, pad_image, pad_video = space_family(
    "pad", _pad, pad_mask, pad_bounding_boxes, pad_keypoints,
    "Room around; see `transforms.functional.pad`. `fill` may be one number for each channel.",
)  # fmt: skip
crop, crop_image, crop_video = space_family(
    "crop", v1.crop, crop_mask, crop_bounding_boxes, crop_keypoints,
    "The part of `height` x `width` pixels whose corner is (top, left).",
)  # fmt: skip
center_crop, center_crop_image, center_crop_video = space_family(
    "center_crop", v1.center_crop, center_crop_mask, center_crop_bounding_boxes,
    center_crop_keypoints, "The middle; zeros around it where the image is smaller.",
)  # fmt: skip
resized_crop, resized_crop_image, resized_crop_video = space_family(
    "resized_crop", _resized_crop, resized_crop_mask, resized_crop_bounding_boxes,
    resized_crop_keypoints, "`crop`, then `resize`.",
)  # fmt: skip
perspective, perspective_image, perspective_video = space_family(
    "perspective", v1.perspective, perspective_mask, perspective_bounding_boxes,
    perspective_keypoints, "A projective map; see `transforms.functional.perspective`.",
)  # fmt: skip
elastic, elastic_image, elastic_video = space_family(
    "elastic", v1.elastic_transform, elastic_mask, elastic_bounding_boxes, elastic_keypoints,
    "Every pixel from `displacement` away; see `transforms.functional.elastic_transform`.",
)  # fmt: skip
elastic_transform = elastic
five_crop, five_crop_image, five_crop_video = pixel_family(
    "five_crop", v1.five_crop, "The four corners and the middle, as a tuple."
)
ten_crop, ten_crop_image, ten_crop_video = pixel_family(
    "ten_crop", v1.ten_crop, "`five_crop` of the image and of its mirror image, as a tuple."
)
