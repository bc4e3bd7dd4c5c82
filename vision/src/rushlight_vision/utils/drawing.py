"""Boxes, masks and key points drawn into images."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import rushlight as rl
from rushlight_vision.transforms.functional import pil_to_tensor, to_pil_image
from rushlight_vision.utils._drawing import (
    Color,
    Colors,
    Draw,
    checked_image,
    color_of_each,
    from_bytes,
    to_bytes,
)

_OPACITY = 100  # of 255, of boxes that are filled


@rl.no_grad()
def draw_bounding_boxes(
    image: rl.Tensor,
    boxes: rl.Tensor,
    labels: list[str | None] | None = None,
    colors: Colors = None,
    fill: bool | None = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Colors = None,
    label_background_colors: Colors = None,
    fill_labels: bool = False,
) -> rl.Tensor:
    """An image with boxes drawn into it.

    `image` is uint8, or float from 0 to 1, (1 or 3, H, W); the result has its dtype and three
    channels. `boxes` are (N, 4), xmin, ymin, xmax, ymax in pixels, or (N, 8), the corners of turned
    boxes. `labels` are words for each, in `font` (a TrueType file) of `font_size` points, or
    Pillow's own; `colors` one colour or one for each; `fill` fills the boxes, `fill_labels` what is
    behind the words.

    Raises ValueError if boxes end before they begin, or numbers of boxes, labels and colours
    differ.

    >>> image = rl.zeros(3, 20, 20, dtype=rl.uint8)
    >>> boxes = rl.tensor([[2, 3, 12, 13]])
    >>> draw_bounding_boxes(image, boxes, ["cat"], "red")[0, 3, 2:13].tolist()
    [255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]

    """
    checked_image(image, (1, 3))
    count = len(boxes)
    if boxes.shape[-1] == 4 and count and bool((boxes[:, :2] > boxes[:, 2:]).any()):
        raise ValueError(
            "boxes must be xmin, ymin, xmax, ymax with no side below 0; "
            "ops.box_convert makes other forms so"
        )
    if labels is not None and len(labels) != count:
        raise ValueError(f"labels must be as many as boxes ({count}), got {len(labels)}")
    if not count:
        warnings.warn("boxes has no box, so none is drawn", UserWarning, stacklevel=2)
        return image
    styles = _styles(count, colors, label_colors, label_background_colors, fill_labels)
    letters = _font(font, font_size)
    three = image.expand(3, -1, -1) if image.shape[0] == 1 else image
    picture = to_pil_image(to_bytes(three).cpu())
    draw = Draw(picture, "RGBA") if fill else Draw(picture)
    for number, box in enumerate(boxes.to(rl.int64).tolist()):
        color, behind, word_color = (style[number] for style in styles)
        shape = draw.turned_box if len(box) > 4 else draw.rectangle
        shape(box, fill=(*color, _OPACITY) if fill else None, outline=color, width=width)
        label = None if labels is None else labels[number]
        if label is not None:
            background = behind if fill_labels else None
            _write(draw, label, box, width + 1, letters, word_color, background)
    return from_bytes(pil_to_tensor(picture), image.dtype).to(image.device)


def _styles(count: int, colors: Any, words: Any, behind: Any, fill_labels: bool) -> Any:
    """The colours of each box, of what is behind its words, and of these."""
    boxes = color_of_each(colors, count)
    if words or fill_labels:
        words = color_of_each(words or "black", count, "label_colors")
    else:
        words = boxes
    filled = fill_labels and behind
    behind = color_of_each(behind, count, "label_background_colors") if filled else boxes
    return boxes, behind, words


def _font(font: str | None, font_size: int | None) -> Any:
    if font is not None:
        return ImageFont.truetype(font=font, size=font_size or 10)
    if font_size is not None:
        warnings.warn("font_size has no effect without font", UserWarning, stacklevel=3)
    return ImageFont.load_default()


def _write(
    draw: Draw, label: str, box: Sequence[int], margin: int, font: Any, color: Any, background: Any
) -> None:
    """A label inside the first corner of a box."""
    place = box[0] + margin, box[1] + margin
    if background is not None:
        left, top, right, bottom = draw.textbbox(place, label, font=font)
        draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=background)
    draw.text(place, label, fill=color, font=font)


@rl.no_grad()
def draw_segmentation_masks(
    image: rl.Tensor, masks: rl.Tensor, alpha: float = 0.8, colors: Colors = None
) -> rl.Tensor:
    """An image with masks laid over it.

    `image` is uint8, or float from 0 to 1, (3, H, W); `masks` is bool, (N, H, W) or (H, W). `alpha`
    says how little is seen of what is below, `colors` is one colour or one for each mask. Where
    masks overlap it is black.

    >>> image = rl.full((3, 2, 2), 100, dtype=rl.uint8)
    >>> mask = rl.tensor([[True, False], [False, False]])
    >>> draw_segmentation_masks(image, mask, 0.5, "red")[:, 0].tolist()
    [[177, 100], [50, 100], [50, 100]]

    """
    checked_image(image, (3,))
    every: Any = masks[None] if masks.ndim == 2 else masks
    if every.ndim != 3 or every.shape[-2:] != image.shape[-2:] or every.dtype is not rl.bool:
        raise ValueError(
            f"masks must be bool of shape (N, {image.shape[1]}, {image.shape[2]}), got "
            f"{every.dtype} of shape {tuple(every.shape)}"
        )
    if not len(every):
        warnings.warn("masks has no mask, so none is drawn", UserWarning, stacklevel=2)
        return image
    scale = 255.0 if image.is_floating_point() else 1
    painted = image.clone()
    for mask, color in zip(every, color_of_each(colors, len(every)), strict=False):
        values = [part / scale for part in color] if scale != 1 else list(color)
        painted[:, mask] = rl.tensor(values, dtype=image.dtype, device=image.device)[:, None]
    painted[:, every.sum(0) > 1] = 0
    return (image * (1 - alpha) + painted * alpha).to(image.dtype)


@rl.no_grad()
def draw_keypoints(
    image: rl.Tensor,
    keypoints: rl.Tensor,
    connectivity: list[tuple[int, int]] | None = None,
    colors: Color | None = None,
    radius: int = 2,
    width: int = 3,
    visibility: rl.Tensor | None = None,
) -> rl.Tensor:
    """An image with key points drawn into it.

    `image` is uint8, or float from 0 to 1, (3, H, W); `keypoints` are (N, K, 2), x and y in pixels
    of K points of each thing. Pairs of points in `connectivity` are joined by lines of `width`;
    `visibility` (N, K), or (N, K, 1), says which points are drawn.

    >>> image = rl.zeros(3, 9, 9, dtype=rl.uint8)
    >>> points = rl.tensor([[[4, 4]]])
    >>> draw_keypoints(image, points, colors="red", radius=1)[0, 4].tolist()
    [0, 0, 0, 255, 255, 255, 0, 0, 0]

    """
    checked_image(image, (3,))
    if keypoints.ndim != 3:
        raise ValueError(f"keypoints must be (N, K, 2), got {tuple(keypoints.shape)}")
    seen: Any = visibility
    if visibility is None:
        seen = rl.ones(keypoints.shape[:-1], dtype=rl.bool)
    if seen.ndim == 3:
        seen = seen.squeeze(-1)
    if seen.shape != keypoints.shape[:-1]:
        raise ValueError(
            f"visibility must be {tuple(keypoints.shape[:-1])}, as many as key points, got "
            f"{tuple(seen.shape)}"
        )
    picture = Image.fromarray(np.ascontiguousarray(to_bytes(image).permute(1, 2, 0).cpu().numpy()))
    draw = ImageDraw.Draw(picture)
    shown = seen.to(rl.bool).tolist()
    for points, seen in zip(keypoints.to(rl.int64).tolist(), shown, strict=True):
        for (x, y, *_), drawn in zip(points, seen, strict=True):
            if drawn:
                corners = [x - radius, y - radius, x + radius, y + radius]
                draw.ellipse(corners, fill=colors, outline=None, width=0)
        for first, second in connectivity or ():
            if seen[first] and seen[second]:
                draw.line((tuple(points[first][:2]), tuple(points[second][:2])), width=width)
    return from_bytes(pil_to_tensor(picture), image.dtype).to(image.device)
