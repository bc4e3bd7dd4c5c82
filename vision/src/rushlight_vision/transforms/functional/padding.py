"""Room around an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PIL import Image, ImageOps

import rushlight as rl
from rushlight_vision.transforms.functional.conversion import pil_to_tensor, to_pil_image
from rushlight_vision.transforms.functional.images import Picture, check_image, is_pil

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def border_widths(padding: int | Sequence[int], name: str) -> tuple[int, int, int, int]:
    """Left, top, right, bottom from one number, (left/right, top/bottom) or four numbers."""
    if isinstance(padding, int):
        return padding, padding, padding, padding
    if not isinstance(padding, (list, tuple)):
        raise TypeError(f"{name}: padding {padding!r}; expected a number or a list of numbers")
    if len(padding) not in (1, 2, 4):
        raise ValueError(f"{name}: padding must be one, two or four numbers; got {len(padding)}")
    if len(padding) == 4:
        left, top, right, bottom = (int(width) for width in padding)
        return left, top, right, bottom
    return (int(padding[0]), int(padding[-1])) * 2


def fill_color(fill: Any, image: Image.Image, name: str) -> Any:
    """`fill` as Pillow wants it for this image: one number, or one for every band."""
    bands = len(image.getbands())
    if fill is None:
        fill = 0
    if isinstance(fill, (list, tuple)):
        if len(fill) == 1:
            fill = fill[0]
        elif len(fill) != bands:
            raise ValueError(
                f"{name}: fill has {len(fill)} values; the image of mode {image.mode!r} has "
                f"{bands} bands"
            )
    elif not isinstance(fill, (int, float)):
        raise TypeError(f"{name}: fill {fill!r}; expected a number or one for every band")
    if isinstance(fill, (int, float)):
        if bands == 1:
            return fill if image.mode == "F" else int(fill)
        return tuple([int(fill)] * bands)
    return tuple(fill) if image.mode == "F" else tuple(int(value) for value in fill)


def _source_lines(size: int, before: int, after: int, mode: str, axis: str) -> rl.Tensor:
    """For every line of the padded image the line of the image it copies."""
    limit = {"edge": None, "reflect": size - 1, "symmetric": size}[mode]
    if limit is not None and max(before, after) > limit:
        raise ValueError(
            f"pad: {mode!r} padding of {max(before, after)} pixels needs more than the image's "
            f"{axis} of {size}"
        )
    lines = []
    for line in range(-before, size + after):
        if mode == "edge":
            line = min(max(line, 0), size - 1)
        elif mode == "reflect":
            line = abs(line)
            line = line if line < size else 2 * (size - 1) - line
        else:
            line = line if line >= 0 else -line - 1
            line = line if line < size else 2 * size - 1 - line
        lines.append(line)
    return rl.tensor(lines, dtype=rl.int64)


def _pad_tensor(
    image: rl.Tensor, widths: tuple[int, int, int, int], fill: Any, mode: str
) -> rl.Tensor:
    left, top, right, bottom = widths
    if mode == "constant":
        if isinstance(fill, (list, tuple)):
            if len(fill) != 1:
                raise ValueError(
                    f"pad: fill {fill!r}; a tensor image takes one number for all channels"
                )
            fill = fill[0]
        if image.is_floating_point():
            fill = float(fill or 0)
        return rl.nn.functional.pad(image, [left, right, top, bottom], value=fill or 0)
    height, width = image.shape[-2:]
    rows = _source_lines(height, top, bottom, mode, "height")
    columns = _source_lines(width, left, right, mode, "width")
    return image.index_select(-2, rows).index_select(-1, columns)


def _pad_pil(image: Image.Image, widths: tuple[int, int, int, int], fill: Any, mode: str) -> Any:
    left, top, right, bottom = widths
    if min(widths) < 0:  # a negative width cuts off
        image = image.crop(
            (
                -min(left, 0),
                -min(top, 0),
                image.width + min(right, 0),
                image.height + min(bottom, 0),
            )
        )
        left, top, right, bottom = (max(width, 0) for width in widths)
    widths = (left, top, right, bottom)
    if mode == "constant":
        padded = ImageOps.expand(image, border=widths, fill=fill_color(fill, image, "pad"))
        return padded
    palette = image.getpalette() if image.mode == "P" else None
    tensor = (
        _pad_tensor(pil_to_tensor(image).to(rl.uint8) * 255, widths, 0, mode)
        if (image.mode == "1")
        else _pad_tensor(pil_to_tensor(image), widths, 0, mode)
    )
    padded = to_pil_image(tensor, "F" if image.mode == "F" else None)
    if image.mode == "1":
        return padded.convert("1")
    if palette is not None:
        padded = padded.copy()
        padded.putpalette(palette)
        return padded
    if padded.mode != image.mode:
        return Image.frombytes(image.mode, padded.size, padded.tobytes())
    return padded


def pad(
    img: Picture,
    padding: int | Sequence[int],
    fill: int | float | Sequence[float] = 0,
    padding_mode: str = "constant",
) -> Picture:
    """The image with `padding` pixels around it; negative widths cut off.

    `padding` is one number, (left and right, top and bottom) or (left, top, right, bottom).
    `padding_mode`: "constant" (`fill`), "edge" (the last pixel), "reflect" (mirrored, the edge
    once), "symmetric" (mirrored, the edge twice).
    """
    check_image(img, "pad")
    if padding_mode not in PADDING_MODES:
        raise ValueError(
            f"pad: padding_mode {padding_mode!r}; expected one of {list(PADDING_MODES)}"
        )
    widths = border_widths(padding, "pad")
    if is_pil(img):
        return _pad_pil(img, widths, fill, padding_mode)
    if padding_mode != "constant" and min(widths) < 0:
        left, top, right, bottom = (min(width, 0) for width in widths)
        img = img[..., -top : img.shape[-2] + bottom, -left : img.shape[-1] + right]
        left, top, right, bottom = (max(width, 0) for width in widths)
        widths = (left, top, right, bottom)
    return _pad_tensor(img, widths, fill, padding_mode)
