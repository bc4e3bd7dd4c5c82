"""GTSRB: German traffic signs (Stallkamp et al., 2012)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import File, ListedDataset, Transform
from rushlight_vision.datasets.folder import make_dataset
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg


class GTSRB(ListedDataset):
    """Photos of 43 kinds of signs: 26,640 in split "train", 12,630 in "test".

    The published zip files, or what is in them, lie in `root/gtsrb`. An item is an RGB picture of
    Pillow and an int. Raises RuntimeError if files are missing.
    """

    _BASE = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
    _FILES = {
        "train": (File(f"{_BASE}GTSRB-Training_fixed.zip", "513f3c79a4c5141765e10e952eaa2478"),),
        "test": (
            File(f"{_BASE}GTSRB_Final_Test_Images.zip", "c7e4e6327067d32654124b0fe9e82185"),
            File(f"{_BASE}GTSRB_Final_Test_GT.zip", "fe31e9c9270bbcd7b84b7f21a9d9d9e5"),
        ),
    }

    def __init__(
        self,
        root: Location,
        split: str = "train",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self._prepare(download)
        self._samples = self._trained() if split == "train" else self._tested()

    def _folder(self) -> Path:
        return Path(str(self.root), "gtsrb")

    def _pictures(self) -> Path:
        part = "Training" if self._split == "train" else "Final_Test/Images"
        return self._folder() / "GTSRB" / part

    def _files(self) -> Sequence[File]:
        return self._FILES[self._split]

    def _is_complete(self) -> bool:
        return self._pictures().is_dir()

    def _trained(self) -> list[tuple[Any, Any]]:
        return list(make_dataset(str(self._pictures()), extensions=(".ppm",)))

    def _tested(self) -> list[tuple[Any, Any]]:
        with open(self._folder() / "GT-final_test.csv", newline="") as file:
            rows = csv.DictReader(file, delimiter=";", skipinitialspace=True)
            return [(str(self._pictures() / r["Filename"]), int(r["ClassId"])) for r in rows]
