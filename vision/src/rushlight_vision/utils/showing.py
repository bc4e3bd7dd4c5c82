"""A batch with its labels and predictions as one picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageFont

import rushlight as rl
from rushlight_vision.transforms.functional import to_pil_image
from rushlight_vision.utils._drawing import to_bytes
from rushlight_vision.utils.drawing import (
    draw_bounding_boxes,
    draw_keypoints,
    draw_segmentation_masks,
)

_SPACE, _LINE = 4, 13  # pixels between pictures, and for a line of words
_RIGHT, _WRONG, _WORDS = (0, 120, 0), (190, 0, 0), (0, 0, 0)


def show(
    images: rl.Tensor | Sequence[rl.Tensor],
    labels: Sequence[Any] | None = None,
    predictions: Sequence[Any] | None = None,
    *,
    classes: Sequence[str] | None = None,
    columns: int = 8,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Image.Image:
    """Images in rows, with what they are and what a network says; a picture of Pillow, which a
    notebook shows, written to `path` where one is given.

    `images` are uint8 or floats, (N, C, H, W) or a list of (C, H, W); with `mean` and `std` a
    normalisation is taken back, other floats outside 0 to 1 are stretched. `labels` and
    `predictions` are classes, which `classes` names: a prediction stands under its image, green
    where it is right. They may also be dicts as detection models take and give, of "boxes",
    "labels", "scores", "masks" and "keypoints", which are drawn; predictions are drawn where there
    are any.

    >>> picture = show(rl.rand(3, 3, 16, 16), [0, 1, 1], [0, 1, 0], classes=["cat", "dog"])
    >>> picture.size
    (64, 50)

    """
    for name, values in (("labels", labels), ("predictions", predictions)):
        if values is not None and len(values) != len(images):
            raise ValueError(f"{name} must be as many as images ({len(images)}), got {len(values)}")
    pictures, words = [], []
    for number in range(len(images)):
        image = images[number]
        label = None if labels is None else labels[number]
        said = None if predictions is None else predictions[number]
        drawn = said if isinstance(said, dict) else label if isinstance(label, dict) else None
        prepared = _prepared(image, mean, std)
        pictures.append(
            to_pil_image(prepared if drawn is None else _with(prepared, drawn, classes))
        )
        words.append(_words(label, said, classes))
    sheet = _sheet(pictures, words, columns)
    if path is not None:
        sheet.save(path)
    return sheet


def _prepared(image: Any, mean: Any, std: Any) -> rl.Tensor:
    """An image as bytes of three channels."""
    image = image.detach().cpu()
    if image.dtype is not rl.uint8:
        image = image.float()
        if mean is not None or std is not None:
            scale = rl.tensor(std or (1.0,))[:, None, None]
            image = (image * scale + rl.tensor(mean or (0.0,))[:, None, None]).clamp(0, 1)
        low, high = float(image.min()), float(image.max())
        if low < 0 or high > 1:
            image = (image - low) / max(high - low, 1e-12)
        image = to_bytes(image)
    return image.expand(3, -1, -1) if image.shape[0] == 1 else image[:3]


def _with(image: rl.Tensor, things: dict[str, Any], classes: Any) -> rl.Tensor:
    """An image with the things of a dict drawn into it."""
    masks = things.get("masks")
    if masks is not None and len(masks):
        masks = masks[:, 0] if masks.ndim == 4 else masks
        masks = masks if masks.dtype is rl.bool else masks > 0.5
        image = draw_segmentation_masks(image, masks.cpu(), alpha=0.5)
    boxes = things.get("boxes")
    if boxes is not None and len(boxes):
        image = draw_bounding_boxes(image, boxes.cpu(), _tags(things, classes))
    points = things.get("keypoints")
    if points is not None and len(points):
        shown = points[..., 2] if points.shape[-1] == 3 else None
        image = draw_keypoints(image, points[..., :2].cpu(), visibility=shown)
    return image


def _tags(things: dict[str, Any], classes: Any) -> list[str | None] | None:
    """Words for each box."""
    if "labels" not in things:
        return None
    tags: list[str | None] = [_name(label, classes) for label in things["labels"].tolist()]
    scores = things.get("scores")
    if scores is None:
        return tags
    return [f"{tag} {score:.2f}" for tag, score in zip(tags, scores.tolist(), strict=True)]


def _name(label: Any, classes: Any) -> str:
    if isinstance(label, rl.Tensor):
        label = label.item()
    return str(label if classes is None else classes[label])


def _words(label: Any, said: Any, classes: Any) -> list[tuple[str, Any]]:
    """Lines below an image with their colours."""
    lines = []
    if label is not None and not isinstance(label, dict):
        lines.append((_name(label, classes), _WORDS))
    if said is not None and not isinstance(said, dict):
        name = _name(said, classes)
        right = bool(lines) and name == lines[0][0]
        lines.append((name, _RIGHT if right or not lines else _WRONG))
    return lines


def _sheet(pictures: list[Image.Image], words: list[Any], columns: int) -> Image.Image:
    """Pictures in rows, each with its lines below."""
    if columns < 1:
        raise ValueError(f"columns must be 1 at least, got {columns}")
    width = max((picture.width for picture in pictures), default=0) + _SPACE
    lines = max((len(one) for one in words), default=0)
    height = max((picture.height for picture in pictures), default=0) + lines * _LINE + _SPACE
    across = min(columns, max(1, len(pictures)))
    down = -(-len(pictures) // across)
    sheet = Image.new("RGB", (width * across + _SPACE, height * down + _SPACE), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default()
    for number, (picture, below) in enumerate(zip(pictures, words, strict=True)):
        left = number % across * width + _SPACE
        top = number // across * height + _SPACE
        sheet.paste(picture, (left, top))
        for line, (text, color) in enumerate(below):
            draw.text((left, top + picture.height + line * _LINE), text, fill=color, font=font)
    return sheet
