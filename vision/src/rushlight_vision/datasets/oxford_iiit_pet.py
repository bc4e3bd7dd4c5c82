"""Oxford-IIIT Pet: cats and dogs of 37 breeds, with their outlines (Parkhi et al., 2012)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import (
    File,
    PublishedDataset,
    Transform,
    Transforms,
    numbered,
    open_image,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_BASE = "https://www.robots.ox.ac.uk/~vgg/data/pets/data/"


class OxfordIIITPet(PublishedDataset):
    """7,349 photos; `split` is "trainval" (3,680) or "test" (3,669).

    `target_types`, one or several: "category" (the breed, 0 to 36), "binary-category" (0 cat, 1
    dog), "segmentation" (a picture: 1 the animal, 2 background, 3 its edge); none gives None. The
    published archives, or their folders `images` and `annotations`, lie in `root/oxford-iiit-pet`.
    `classes`, `class_to_idx`, `bin_classes` and `bin_class_to_idx` name the numbers. An item is an
    RGB picture of Pillow and the target, a tuple where more than one is asked.

    Raises RuntimeError if files are missing.
    """

    _FILES = (
        File(f"{_BASE}images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c"),
        File(f"{_BASE}annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f"),
    )
    _TARGETS = ("category", "binary-category", "segmentation")
    bin_classes = ["Cat", "Dog"]

    def __init__(
        self,
        root: Location,
        split: str = "trainval",
        target_types: Sequence[str] | str = "category",
        transforms: Transforms = None,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self._split = verify_str_arg(split, "split", ("trainval", "test"))
        wanted = [target_types] if isinstance(target_types, str) else target_types
        self._target_types = [verify_str_arg(t, "target_types", self._TARGETS) for t in wanted]
        self._prepare(download)
        lines = read_lines(self._folder() / "annotations" / f"{split}.txt")
        rows = [line.split() for line in lines]
        self._names = [row[0] for row in rows]
        self._labels = [int(row[1]) - 1 for row in rows]
        self._bin_labels = [int(row[2]) - 1 for row in rows]
        breeds = {
            label: " ".join(word.title() for word in name.rsplit("_", 1)[0].split("_"))
            for name, label in zip(self._names, self._labels, strict=True)
        }
        self.classes = [breeds[label] for label in sorted(breeds)]
        self.class_to_idx = numbered(self.classes)
        self.bin_class_to_idx = numbered(self.bin_classes)

    def _folder(self) -> Path:
        return Path(str(self.root), "oxford-iiit-pet")

    def _files(self) -> Sequence[File]:
        return self._FILES

    def _is_complete(self) -> bool:
        return all((self._folder() / name).is_dir() for name in ("images", "annotations"))

    def _target(self, kind: str, index: int) -> Any:
        if kind == "segmentation":
            trimaps = self._folder() / "annotations" / "trimaps"
            return open_image(trimaps / f"{self._names[index]}.png")
        return (self._labels if kind == "category" else self._bin_labels)[index]

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        """The photo of a number and what is asked of it, changed by the transforms."""
        image = open_image(self._folder() / "images" / f"{self._names[idx]}.jpg", "RGB")
        targets = tuple(self._target(kind, idx) for kind in self._target_types)
        target = None if not targets else targets if len(targets) > 1 else targets[0]
        return self._changed_together(image, target)

    def __len__(self) -> int:
        return len(self._names)
