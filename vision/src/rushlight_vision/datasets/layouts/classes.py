"""Classification: one folder for each class, in splits or not."""

from __future__ import annotations

from pathlib import Path

from rushlight_vision.datasets.layouts.records import (
    Checker,
    Layout,
    Sample,
    folders,
    images_in,
    parts,
)


def is_there(root: Path) -> bool:
    """Whether some folder of a class has a picture."""
    return any(
        next(iter(images_in(each, deep=True)), None) for _, part in parts(root)
        for each in folders(part)
    )  # fmt: skip


def read(root: Path, check: Checker) -> Layout:
    """All pictures below the folders of classes."""
    found = [(split, part) for split, part in parts(root)]
    classes = sorted({each.name for _, part in found for each in folders(part)})
    samples = [
        Sample(image, split, classes.index(folder.name))
        for split, part in found
        for folder in folders(part)
        for image in _pictures(folder, check)
    ]
    return Layout("folders of classes", "classification", classes, samples)


def _pictures(folder: Path, check: Checker) -> list[Path]:
    """The pictures of a class that can be read; a class without any is a problem."""
    images = images_in(folder, deep=True)
    if not images:
        check.wrong(folder, "", "no picture of this class")
    return [image for image in images if check.size(image) is not None]
