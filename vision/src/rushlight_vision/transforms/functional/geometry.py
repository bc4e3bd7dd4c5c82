"""Size and place: resize, crop, pad, flip."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from PIL import Image

import rushlight as rl
from rushlight_vision.transforms.functional.images import (
    Picture,
    check_image,
    get_dimensions,
    is_pil,
)
from rushlight_vision.transforms.functional.padding import pad
from rushlight_vision.transforms.functional.resampling import resize_tensor
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode

TENSOR_MODES = ("nearest", "nearest-exact", "bilinear", "bicubic")


def resized_size(
    height: int, width: int, size: Sequence[int], max_size: int | None
) -> tuple[int, int]:
    """Height and width after `resize`: `size` itself, or one that keeps the aspect ratio."""
    if len(size) == 2:
        return int(size[0]), int(size[1])
    short, long = min(height, width), max(height, width)
    new_short, new_long = int(size[0]), int(size[0] * long / short)
    if max_size is not None:
        if max_size <= size[0]:
            raise ValueError(
                f"resize: max_size = {max_size} must be greater than the size of the shorter edge, "
                f"size = {size[0]}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def resize(
    img: Picture,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Picture:
    """The image at another size.

    `size` is (height, width), or one number for the shorter edge, the other following; then
    `max_size` bounds the longer edge. With `antialias`, tensors are smoothed when they shrink, as
    PIL images always are; it counts for `BILINEAR` and `BICUBIC` only.
    """
    return resized_image(img, size, interpolation, max_size, antialias, False)


def resized_image(
    img: Any,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int,
    max_size: int | None,
    antialias: bool | None,
    in_bytes: bool,
) -> Any:
    """What `resize` gives; `in_bytes` is that of `resize_tensor`."""
    mode = interpolation_mode(interpolation, "resize")
    check_image(img, "resize")
    sizes = [size] if isinstance(size, int) else list(size)
    if len(sizes) not in (1, 2):
        raise ValueError(f"resize: size {size!r}; expected one number or (height, width)")
    if max_size is not None and len(sizes) != 1:
        raise ValueError(f"resize: max_size goes with one number as size; got size {size!r}")
    if min(sizes) < 1:
        raise ValueError(f"resize: size {size!r}; every length must be at least 1")
    _, height, width = get_dimensions(img)
    if 0 in (height, width):
        raise ValueError(f"resize: the image is empty ({height} x {width} pixels)")
    new = resized_size(height, width, sizes, max_size)
    if new == (height, width):
        return img
    if min(new) < 1:
        raise ValueError(f"resize: {height} x {width} pixels to size {size!r} would be {new}")
    if is_pil(img):
        if antialias is False:
            warnings.warn(
                "resize: PIL images are always smoothed when they shrink; antialias is ignored",
                stacklevel=2,
            )
        return img.resize((new[1], new[0]), Image.Resampling(mode.pillow_code))
    if mode.value not in TENSOR_MODES:
        raise ValueError(
            f"resize: interpolation {mode.value!r} works on PIL images only; tensors take one of "
            f"{list(TENSOR_MODES)}"
        )
    return resize_tensor(img, new, mode.value, bool(antialias), in_bytes)


def crop(img: Picture, top: int, left: int, height: int, width: int) -> Picture:
    """The part of `height` x `width` pixels whose corner is (top, left); zeros outside."""
    check_image(img, "crop")
    if is_pil(img):
        return img.crop((left, top, left + width, top + height))
    _, rows, columns = get_dimensions(img)
    bottom, right = top + height, left + width
    inside = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if top >= 0 and left >= 0 and bottom <= rows and right <= columns:
        return inside
    shape = (*img.shape[:-2], height, width)
    result = rl.zeros(shape, dtype=img.dtype, device=img.device)
    if 0 in inside.shape:
        return result
    above, before = max(-top, 0), max(-left, 0)
    below, after = height - above - inside.shape[-2], width - before - inside.shape[-1]
    return rl.nn.functional.pad(inside, [before, after, above, below])


def center_crop(img: Picture, output_size: int | Sequence[int]) -> Picture:
    """The middle of the image; zeros around it where the image is smaller."""
    sizes = [output_size] if isinstance(output_size, int) else [int(n) for n in output_size]
    if len(sizes) not in (1, 2):
        raise ValueError(
            f"center_crop: output_size {output_size!r}; expected one number or (height, width)"
        )
    new_height, new_width = sizes[0], sizes[-1]
    _, height, width = get_dimensions(img)
    if new_width > width or new_height > height:
        wider, higher = max(new_width - width, 0), max(new_height - height, 0)
        img = pad(img, [wider // 2, higher // 2, (wider + 1) // 2, (higher + 1) // 2], fill=0)
        _, height, width = get_dimensions(img)
        if (new_width, new_height) == (width, height):
            return img
    top = int(round((height - new_height) / 2.0))
    left = int(round((width - new_width) / 2.0))
    return crop(img, top, left, new_height, new_width)


def resized_crop(
    img: Picture,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Picture:
    """`crop`, then `resize`."""
    part = crop(img, top, left, height, width)
    return resize(part, size, interpolation, antialias=antialias)


def hflip(img: Picture) -> Picture:
    """Left and right exchanged."""
    check_image(img, "hflip")
    if is_pil(img):
        return img.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return img.flip(-1)


def vflip(img: Picture) -> Picture:
    """Top and bottom exchanged."""
    check_image(img, "vflip")
    if is_pil(img):
        return img.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    return img.flip(-2)


def five_crop(
    img: Picture, size: int | Sequence[int]
) -> tuple[Picture, Picture, Picture, Picture, Picture]:
    """The four corners (top left, top right, bottom left, bottom right) and the middle."""
    sizes = [size] if isinstance(size, int) else list(size)
    if len(sizes) not in (1, 2):
        raise ValueError(f"five_crop: size {size!r}; expected one number or (height, width)")
    height, width = sizes[0], sizes[-1]
    _, rows, columns = get_dimensions(img)
    if width > columns or height > rows:
        raise ValueError(
            f"five_crop: the crop {(height, width)} is larger than the image {(rows, columns)}"
        )
    corners: list[Picture] = [
        crop(img, top, left, height, width)
        for top in (0, rows - height)
        for left in (0, columns - width)
    ]
    first, second, third, fourth = corners
    return first, second, third, fourth, center_crop(img, [height, width])


def ten_crop(
    img: Picture, size: int | Sequence[int], vertical_flip: bool = False
) -> tuple[Picture, ...]:
    """`five_crop` of the image and of its mirror image."""
    mirrored = vflip(img) if vertical_flip else hflip(img)
    return five_crop(img, size) + five_crop(mirrored, size)


def erase(
    img: rl.Tensor, i: int, j: int, h: int, w: int, v: rl.Tensor, inplace: bool = False
) -> rl.Tensor:
    """`v` written over the `h` x `w` pixels of a tensor image whose corner is row i, column j."""
    if not isinstance(img, rl.Tensor):
        raise TypeError(f"erase: expected a tensor image, got {type(img).__name__}")
    if not inplace:
        img = img.clone()
    part = img[..., i : i + h, j : j + w]
    if v.numel() == 1 and not v.requires_grad and not v:
        part.zero_()
    else:
        part.copy_(v)
    return img
