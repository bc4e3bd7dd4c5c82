"""Geometry: for every functional its kernels of images, videos, masks, boxes and key points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight_vision.transforms import functional as v1
from rushlight_vision.transforms.functional.geometry import resized_image
from rushlight_vision.transforms.functional.images import Picture, get_dimensions
from rushlight_vision.transforms.interpolation import InterpolationMode
from rushlight_vision.transforms.v2.functional import _space as space
from rushlight_vision.transforms.v2.functional._boxes import moved
from rushlight_vision.transforms.v2.functional._points import moved_points
from rushlight_vision.transforms.v2.functional._registry import space_family
from rushlight_vision.tv_tensors import BoundingBoxFormat

Format = BoundingBoxFormat | str
Size = tuple[int, int]
Points = Sequence[Sequence[int]] | None
NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


def _by_nearest(function: Callable[..., Any], mask: rl.Tensor, *args: Any, **options: Any) -> Any:
    """A function of images of a mask, which may lack channels."""
    single = mask.ndim < 3
    result = function(mask.unsqueeze(0) if single else mask, *args, **options)
    return result.squeeze(0) if single else result


def horizontal_flip_mask(mask: rl.Tensor) -> rl.Tensor:
    """A mask with left and right exchanged."""
    return v1.hflip(mask)


def horizontal_flip_bounding_boxes(
    bounding_boxes: rl.Tensor, format: Format, canvas_size: Size
) -> rl.Tensor:
    """Boxes with left and right exchanged."""
    change = space.linear([-1, 0, canvas_size[1], 0, 1, 0])
    return moved(bounding_boxes, format, canvas_size, None, lambda p: change(p)[:, [1, 0, 3, 2]])


def horizontal_flip_keypoints(keypoints: rl.Tensor, canvas_size: Size) -> rl.Tensor:
    """Points with left and right exchanged; the last column stays inside the image."""
    change = space.linear([-1, 0, canvas_size[1] - 1, 0, 1, 0])
    return moved_points(keypoints, change)


def vertical_flip_mask(mask: rl.Tensor) -> rl.Tensor:
    """A mask with top and bottom exchanged."""
    return v1.vflip(mask)


def vertical_flip_bounding_boxes(
    bounding_boxes: rl.Tensor, format: Format, canvas_size: Size
) -> rl.Tensor:
    """Boxes with top and bottom exchanged."""
    change = space.linear([1, 0, 0, 0, -1, canvas_size[0]])
    return moved(bounding_boxes, format, canvas_size, None, lambda p: change(p)[:, [1, 0, 3, 2]])


def vertical_flip_keypoints(keypoints: rl.Tensor, canvas_size: Size) -> rl.Tensor:
    """Points with top and bottom exchanged; the last row stays inside the image."""
    change = space.linear([1, 0, 0, 0, -1, canvas_size[0] - 1])
    return moved_points(keypoints, change)


def _resize(
    img: Picture,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | int = BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Picture:
    if size is None:
        _, height, width = get_dimensions(img)
        size, max_size = space.resized((height, width), None, max_size), None
    return resized_image(img, size, interpolation, max_size, antialias, True)


def resize_mask(
    mask: rl.Tensor, size: int | Sequence[int], max_size: int | None = None
) -> rl.Tensor:
    """A mask at another size, by the nearest pixel."""
    return _by_nearest(_resize, mask, size, NEAREST, max_size)


def resize_bounding_boxes(
    bounding_boxes: rl.Tensor,
    canvas_size: Size,
    size: int | Sequence[int],
    max_size: int | None = None,
    format: Format = BoundingBoxFormat.XYXY,
    clamping_mode: str | None = "soft",
) -> tuple[rl.Tensor, Size]:
    """Boxes of the resized image, and its size."""
    new = space.resized(canvas_size, size, max_size)
    if new == tuple(canvas_size):
        return bounding_boxes, canvas_size
    change = space.stretch(new[1] / canvas_size[1], new[0] / canvas_size[0])
    return moved(bounding_boxes, format, new, clamping_mode, change), new


def resize_keypoints(
    keypoints: rl.Tensor, size: int | Sequence[int], canvas_size: Size, max_size: int | None = None
) -> tuple[rl.Tensor, Size]:
    """Points of the resized image, and its size."""
    new = space.resized(canvas_size, size, max_size)
    if new == tuple(canvas_size):
        return keypoints, canvas_size
    change = space.stretch(new[1] / canvas_size[1], new[0] / canvas_size[0])
    return moved_points(keypoints, change), new


def affine_mask(
    mask: rl.Tensor,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> rl.Tensor:
    """A mask under an affine map, by the nearest pixel."""
    return _by_nearest(v1.affine, mask, angle, translate, scale, shear, NEAREST, fill, center)


def affine_bounding_boxes(
    bounding_boxes: rl.Tensor,
    format: Format,
    canvas_size: Size,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    center: Sequence[float] | None = None,
    clamping_mode: str | None = "soft",
) -> rl.Tensor:
    """Boxes around those under an affine map."""
    change = space.affine_map(canvas_size, angle, translate, scale, shear, center)
    return moved(bounding_boxes, format, canvas_size, clamping_mode, change)


def affine_keypoints(
    keypoints: rl.Tensor,
    canvas_size: Size,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    center: Sequence[float] | None = None,
) -> rl.Tensor:
    """Points under an affine map."""
    change = space.affine_map(canvas_size, angle, translate, scale, shear, center)
    return moved_points(keypoints, change)


def _rotate(
    img: Picture,
    angle: float,
    interpolation: InterpolationMode | int = NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Picture:
    return v1.rotate(img, angle, interpolation, expand, center, fill)


def rotate_mask(
    mask: rl.Tensor,
    angle: float,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> rl.Tensor:
    """A rotated mask, by the nearest pixel."""
    return _by_nearest(v1.rotate, mask, angle, NEAREST, expand, center, fill)


def rotate_bounding_boxes(
    bounding_boxes: rl.Tensor,
    format: Format,
    canvas_size: Size,
    angle: float,
    expand: bool = False,
    center: Sequence[float] | None = None,
    clamping_mode: str | None = "soft",
) -> tuple[rl.Tensor, Size]:
    """Boxes around the rotated ones, and the size of the rotated image."""
    change, size = space.rotation_map(canvas_size, angle, expand, center)
    return moved(bounding_boxes, format, size, clamping_mode, change), size


def rotate_keypoints(
    keypoints: rl.Tensor,
    canvas_size: Size,
    angle: float,
    expand: bool = False,
    center: Sequence[float] | None = None,
) -> tuple[rl.Tensor, Size]:
    """Rotated points, and the size of the rotated image."""
    change, size = space.rotation_map(canvas_size, angle, expand, center)
    return moved_points(keypoints, change), size


horizontal_flip, horizontal_flip_image, horizontal_flip_video = space_family(
    "horizontal_flip",
    v1.hflip,
    horizontal_flip_mask,
    horizontal_flip_bounding_boxes,
    horizontal_flip_keypoints,
    "Left and right exchanged.",
)
vertical_flip, vertical_flip_image, vertical_flip_video = space_family(
    "vertical_flip",
    v1.vflip,
    vertical_flip_mask,
    vertical_flip_bounding_boxes,
    vertical_flip_keypoints,
    "Top and bottom exchanged.",
)
hflip, vflip = horizontal_flip, vertical_flip
resize, resize_image, resize_video = space_family(
    "resize",
    _resize,
    resize_mask,
    resize_bounding_boxes,
    resize_keypoints,
    "Another size: (height, width), or the shorter edge; see `transforms.functional.resize`. "
    "`size` None makes the longer edge `max_size`.",
)
affine, affine_image, affine_video = space_family(
    "affine",
    v1.affine,
    affine_mask,
    affine_bounding_boxes,
    affine_keypoints,
    "Rotated, sheared, scaled and moved; see `transforms.functional.affine`.",
)
rotate, rotate_image, rotate_video = space_family(
    "rotate",
    _rotate,
    rotate_mask,
    rotate_bounding_boxes,
    rotate_keypoints,
    "Rotated counter-clockwise; see `transforms.functional.rotate`.",
)
