"""USPS: handwritten digits from envelopes (Hull, 1994), as libsvm publishes them."""

from __future__ import annotations

import bz2
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from rushlight_vision.datasets._published import File, PublishedDataset, Transform
from rushlight_vision.datasets.integrity import Location


class USPS(PublishedDataset):
    """9,298 digits of 16x16 pixels: 7,291 to train, 2,007 to test.

    The packed file (`usps.bz2` or `usps.t.bz2`) lies in `root`. Pictures are in `data` (uint8
    array, (N, 16, 16)), digits in `targets` (a list). An item is a picture of Pillow (mode "L") and
    an int. Raises RuntimeError if the file is missing.
    """

    split_list = {
        "train": [
            "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.bz2",
            "usps.bz2",
            "ec16c51db3855ca6c91edd34d0e9b197",
        ],
        "test": [
            "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.t.bz2",
            "usps.t.bz2",
            "8ea070ee2aca1ac39742fdd1ef5ed118",
        ],
    }

    def __init__(
        self,
        root: Location,
        train: bool = True,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._published = File(*self._entry("train" if train else "test"), into=None)
        self._prepare(download)
        with bz2.open(self._folder() / self._published.kept, "rt") as file:
            rows = [line.split() for line in file]
        # A row: the digit plus one, then "number:value" of every pixel, values from -1 to 1.
        values = [[entry.partition(":")[2] for entry in row[1:]] for row in rows]
        pixels = np.array(values, dtype=np.float32).reshape(-1, 16, 16)
        self.data = ((pixels + 1) / 2 * 255).astype(np.uint8)
        self.targets = [int(row[0]) - 1 for row in rows]

    def _entry(self, split: str) -> tuple[str, str, str]:
        url, name, md5 = self.split_list[split]
        return url, md5, name

    def _files(self) -> Sequence[File]:
        return (self._published,)

    def _is_complete(self) -> bool:
        return (self._folder() / self._published.kept).is_file()

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture and the digit of a number, changed by the transforms."""
        return self._changed(Image.fromarray(self.data[index]), int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)
