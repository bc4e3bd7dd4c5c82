"""Segmentation: a folder of pictures and one of pictures of classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rushlight_vision.datasets.folder import open_image
from rushlight_vision.datasets.layouts.records import (
    Checker,
    Layout,
    Sample,
    images_in,
    names_in,
    paired,
)

PICTURES = ("images", "imgs", "image", "img", "jpegimages")
MASKS = ("masks", "mask", "annotations", "labels", "segmentationclass", "gt", "segmentations")
IGNORED = 255
ENDINGS = ("", "_mask", "-mask", "_seg", "_gt", "_label")


def is_there(root: Path) -> bool:
    """Whether there are folders of pictures and of masks."""
    return any(images_in(second, deep=True) for _, _, second in paired(root, PICTURES, MASKS))


def read(root: Path, check: Checker) -> Layout:
    """All pictures that have a mask. Where masks hold 0 and 255 alone, 255 is class 1."""
    rows, values = [], set()
    for split, pictures, masks in paired(root, PICTURES, MASKS):
        known = {each.relative_to(masks).with_suffix(""): each for each in images_in(masks, True)}
        for image in images_in(pictures, deep=True):
            mask = _mask_of(image.relative_to(pictures).with_suffix(""), known)
            found = _checked(image, mask, masks, check)
            if found is not None:
                values |= set(found)
                rows.append(Sample(image, split, mask))
    binary = values <= {0, IGNORED} and IGNORED in values
    most = 1 if binary else max(values - {IGNORED}, default=0)
    names = names_in(root / "classes.txt")
    classes = names if len(names) > most else [str(number) for number in range(most + 1)]
    samples = [Sample(row.image, row.split, (row.target, binary)) for row in rows]
    notes = ["255 stands for class 1"] if binary else []
    if not binary and IGNORED in values:
        notes = ["pixels of 255 are of no class (ignore_index=255)"]
    return Layout("pictures and masks", "segmentation", classes, samples, notes)


def _mask_of(name: Path, known: dict[Path, Path]) -> Path | None:
    """The mask of a picture of some name."""
    named = (known.get(name.with_name(name.name + ending)) for ending in ENDINGS)
    return next((each for each in named if each is not None), None)


def _checked(image: Path, mask: Path | None, folder: Path, check: Checker) -> Any:
    """The values of a mask; None, and a problem, if picture and mask do not belong together."""
    if mask is None:
        return check.wrong(image, "", f"there is no mask of this name in {folder}")
    size = check.size(image)
    if size is None or check.size(mask) is None:
        return None
    try:
        pixels = values_of(mask)
    except ValueError as error:
        return check.wrong(mask, "", str(error))
    if pixels.shape != size[::-1]:
        what = f"has {pixels.shape[1]} x {pixels.shape[0]} pixels, {image} {size[0]} x {size[1]}"
        return check.wrong(mask, "", what)
    return np.unique(pixels).tolist()


def values_of(mask: Path) -> np.ndarray:
    """The classes of the pixels of a mask: uint8, (height, width)."""
    picture = open_image(mask)
    if picture.mode not in ("1", "L", "P", "I", "I;16"):
        raise ValueError(
            f"a mask of mode {picture.mode}; expected one value a pixel (L, P, 1 or I)"
        )
    pixels = np.array(picture)
    if pixels.size and not 0 <= pixels.min() <= pixels.max() <= IGNORED:
        raise ValueError(f"values up to {pixels.max()}; expected 0 to {IGNORED}")
    return pixels.astype(np.uint8)
