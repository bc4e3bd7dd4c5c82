"""FER2013: faces with one of seven expressions (Goodfellow et al., 2013)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._published import PublishedDataset, Transform
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_SITE = (
    "https://www.kaggle.com/c/challenges-in-representation-learning-facial-expression-"
    "recognition-challenge"
)


class FER2013(PublishedDataset):
    """35,887 grey faces of 48x48 pixels, `split` "train" or "test".

    One of the published tables lies in `root/fer2013`: `fer2013.csv` or `icml_face_data.csv`, which
    hold both splits, or `train.csv` and `test.csv`, of which the second has no targets (None). They
    are given out by Kaggle only, so nothing is downloaded. An item is a picture of Pillow (mode
    "L") and an int or None.

    Raises RuntimeError if no table is there.
    """

    _RESOURCES = {
        "fer2013.csv": "f8428a1edbd21e88f42c73edd2a14f95",
        "icml_face_data.csv": "b114b9e04e6949e5fe8b6a98b3892b1d",
        "train.csv": "3f0dfb3d3fd99c811a1299cb947e3131",
        "test.csv": "b02c2298636a634e8c2faabbf3ea9a23",
    }

    def __init__(
        self,
        root: Location,
        split: str = "train",
        transform: Transform = None,
        target_transform: Transform = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        table = self._table()
        with open(table, newline="") as file:
            rows = [
                {key.strip(): value for key, value in row.items()} for row in csv.DictReader(file)
            ]
        self._samples = [
            (self._pixels(row, table), int(row["emotion"]) if "emotion" in row else None)
            for row in rows
            if self._belongs(row)
        ]

    def _folder(self) -> Path:
        return Path(str(self.root), "fer2013")

    def _table(self) -> Path:
        """The table that is read."""
        names = ("fer2013.csv", "icml_face_data.csv", f"{self._split}.csv")
        name = next((name for name in names if (self._folder() / name).is_file()), names[-1])
        if not integrity.check_integrity(self._folder() / name, self._RESOURCES[name]):
            raise RuntimeError(
                f"FER2013: {name} is not, or not whole, in {self._folder()}; it can be had from "
                f"{_SITE}"
            )
        return self._folder() / name

    def _belongs(self, row: dict[str, str]) -> bool:
        usage = row.get("Usage")
        return usage is None or (usage == "Training") == (self._split == "train")

    @staticmethod
    def _pixels(row: dict[str, str], table: Path) -> np.ndarray:
        values = np.array(row["pixels"].split(), dtype=np.uint8)
        if values.size != 48 * 48:
            raise ValueError(f"{table}: a row has {values.size} pixels, expected {48 * 48}")
        return values.reshape(48, 48)

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        """The face and the expression of a number, changed by the transforms."""
        pixels, target = self._samples[idx]
        return self._changed(Image.fromarray(pixels), target)

    def __len__(self) -> int:
        return len(self._samples)

    def extra_repr(self) -> str:
        """The split."""
        return f"split={self._split}"
