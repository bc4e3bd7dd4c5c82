"""KITTI: streets with boxes in the picture and in space (Geiger, Lenz, Urtasun, 2012)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import (
    File,
    PublishedDataset,
    Transform,
    Transforms,
    open_image,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import list_files


class Kitti(PublishedDataset):
    """7,481 photos to train and 7,518 to test, of about 1242x375 pixels.

    The published zip files, or their folders `training` and `testing`, lie in `root/Kitti/raw`. An
    item is a picture of Pillow and a list of dicts, None of test photos: "type", "truncated" (0 to
    1), "occluded" (0 to 3), "alpha", "bbox" (left, top, right, bottom in pixels), "dimensions"
    (height, width, length in metres), "location" (x, y, z in metres), "rotation_y".

    Raises RuntimeError if files are missing.
    """

    data_url = "https://s3.eu-central-1.amazonaws.com/avg-kitti/"
    resources = ["data_object_image_2.zip", "data_object_label_2.zip"]
    image_dir_name = "image_2"
    labels_dir_name = "label_2"

    def __init__(
        self,
        root: Location,
        train: bool = True,
        transform: Transform = None,
        target_transform: Transform = None,
        transforms: Transforms = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.train = train
        self._prepare(download)
        self.images = list_files(self._part() / self.image_dir_name, "", prefix=True)
        labels = self._part() / self.labels_dir_name
        self.targets = [str(labels / f"{Path(path).stem}.txt") for path in self.images]
        if not train:
            self.targets = []

    def _folder(self) -> Path:
        return Path(str(self.root), type(self).__name__, "raw")

    def _part(self) -> Path:
        return self._folder() / ("training" if self.train else "testing")

    def _files(self) -> Sequence[File]:
        return [File(self.data_url + name) for name in self.resources]

    def _is_complete(self) -> bool:
        needed = [self.image_dir_name, *([self.labels_dir_name] if self.train else [])]
        return all((self._part() / name).is_dir() for name in needed)

    def _parse_target(self, index: int) -> list[dict[str, Any]]:
        return [_thing(line.split(" ")) for line in read_lines(self.targets[index])]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and its things, changed by the transforms."""
        target = self._parse_target(index) if self.train else None
        return self._changed_together(open_image(self.images[index]), target)

    def __len__(self) -> int:
        return len(self.images)


def _thing(words: list[str]) -> dict[str, Any]:
    """One line of a label file."""
    numbers = [float(word) for word in words[3:15]]
    return {
        "type": words[0],
        "truncated": float(words[1]),
        "occluded": int(words[2]),
        "alpha": numbers[0],
        "bbox": numbers[1:5],
        "dimensions": numbers[5:8],
        "location": numbers[8:11],
        "rotation_y": numbers[11],
    }
