"""Food-101: photos of dishes (Bossard, Guillaumin, Van Gool, 2014)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import File, SplitDataset, numbered


class Food101(SplitDataset):
    """101,000 photos of 101 dishes: 75,750 in split "train", 25,250 in "test".

    The published archive, or its folder `food-101`, lies in `root`. `classes` and `class_to_idx`
    name the dishes. An item is what `loader` makes of the path (an RGB picture of Pillow) and an
    int. Raises RuntimeError if files are missing.
    """

    _FILE = File(
        "http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz", "85eeb15f3717b99a5da872d97d918f87"
    )

    def _content(self) -> Path:
        return self._folder() / "food-101"

    def _files(self) -> Sequence[File]:
        return (self._FILE,)

    def _is_complete(self) -> bool:
        return all((self._content() / name).is_dir() for name in ("meta", "images"))

    def _listed(self) -> list[tuple[Any, Any]]:
        lists = json.loads((self._content() / "meta" / f"{self._split}.json").read_text())
        self.classes = sorted(lists)
        self.class_to_idx = numbered(self.classes)
        return [
            (self._content() / "images" / f"{name}.jpg", self.class_to_idx[dish])
            for dish, names in lists.items()
            for name in names
        ]
