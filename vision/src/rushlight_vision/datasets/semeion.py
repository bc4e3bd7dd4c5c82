"""SEMEION: handwritten digits of 16x16 black and white pixels (Buscema, 1998)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._published import File, PublishedDataset, Transform
from rushlight_vision.datasets.integrity import Location


class SEMEION(PublishedDataset):
    """1,593 handwritten digits; `semeion.data` lies in `root` and is fetched by default.

    Pictures are in `data` (uint8 array, (N, 16, 16)), digits in `labels`. An item is a picture of
    Pillow (mode "L") and an int. Raises RuntimeError if the file is missing or altered.
    """

    url = "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data"
    filename = "semeion.data"
    md5_checksum = "cb545d371d2ce14ec121470795a77432"

    def __init__(
        self,
        root: Location,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = True,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._prepare(download)
        rows = np.loadtxt(self._folder() / self.filename, ndmin=2)
        self.data = (rows[:, :256] * 255).astype(np.uint8).reshape(-1, 16, 16)
        self.labels = rows[:, 256:].argmax(1)

    def _files(self) -> Sequence[File]:
        return (File(self.url, self.md5_checksum, self.filename),)

    def _is_complete(self) -> bool:
        return integrity.check_integrity(self._folder() / self.filename, self.md5_checksum)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture and the digit of a number, changed by the transforms."""
        return self._changed(Image.fromarray(self.data[index]), int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)
