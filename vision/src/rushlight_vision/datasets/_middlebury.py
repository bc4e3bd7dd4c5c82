"""Middlebury 2014: rooms in high resolution (Scharstein et al., 2014)."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from rushlight_vision.datasets._stereo_base import (
    StereoMatchingDataset,
    StereoTransforms,
    pfm_disparity,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import download_and_extract_archive, verify_str_arg

_SCENES = "https://vision.middlebury.edu/stereo/data/scenes2014/zip"
_TESTED = "https://vision.middlebury.edu/stereo/submit3/zip/MiddEval3-data-F.zip"


class Middlebury2014Stereo(StereoMatchingDataset):
    """`split` is "train", "additional" or "test", `calibration` "perfect", "imperfect", "both" or,
    of "test", None. With `use_ambient_views` the right picture is one of those in other light,
    drawn by Python's `random`. The scenes lie in `root/Middlebury2014`; with `download` they are
    fetched."""

    splits = {
        "train": (
            "Adirondack Jadeplant Motorcycle Piano Pipes Playroom Playtable Recycle Shelves Vintage"
        ).split(),
        "additional": (
            "Backpack Bicycle1 Cable Classroom1 Couch Flowers Mask Shopvac Sticks Storage Sword1 "
            "Sword2 Umbrella"
        ).split(),
        "test": (
            "Plants Classroom2E Classroom2 Australia DjembeL CrusadeP Crusade Hoops Bicycle2 "
            "Staircase Newkuba AustraliaP Djembe Livingroom Computer"
        ).split(),
    }
    _has_built_in_disparity_mask = True
    _ENDINGS = {
        None: [""],
        "perfect": ["-perfect"],
        "imperfect": ["-imperfect"],
        "both": ["-perfect", "-imperfect"],
    }

    def __init__(
        self,
        root: Location,
        split: str = "train",
        calibration: str | None = "perfect",
        use_ambient_views: bool = False,
        transforms: StereoTransforms = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms)
        self.split = verify_str_arg(split, "split", ("train", "test", "additional"))
        self._check(calibration)
        self.use_ambient_views = use_ambient_views
        place = self._place("Middlebury2014")
        if download:
            (self._fetch_tested if split == "test" else self._fetch_scenes)(place)
        self._check_scenes(place / split)
        for ending in self._ENDINGS[calibration]:
            scenes = f"*{ending}"
            self._images += self._pairs(place / split, f"{scenes}/im0.png", f"{scenes}/im1.png")
            if split != "test":
                found = self._pairs(place / split, f"{scenes}/disp0.pfm", f"{scenes}/disp1.pfm")
                self._disparities += found
        if split == "test":
            self._without_disparities()

    def _check(self, calibration: str | None) -> None:
        if self.split == "test" and calibration is not None:
            raise ValueError(f'calibration must be None with split="test", got {calibration!r}')
        if self.split != "test":
            verify_str_arg(calibration, "calibration", ("perfect", "imperfect", "both"))

    def _check_scenes(self, place: Path) -> None:
        names = [path.name for path in place.iterdir()] if place.is_dir() else []
        known = tuple(self.splits[self.split])
        if not any(name.startswith(known) for name in names):
            raise FileNotFoundError(f"Middlebury2014Stereo: no scene of {self.split!r} in {place}")

    def _fetch_scenes(self, place: Path) -> None:
        for scene in self.splits[self.split]:
            for kind in ("perfect", "imperfect"):
                name = f"{scene}-{kind}"
                if not (place / self.split / name).is_dir():
                    download_and_extract_archive(
                        f"{_SCENES}/{name}.zip", place / self.split, remove_finished=True
                    )

    def _fetch_tested(self, place: Path) -> None:
        target = place / "test"
        if all((target / scene).is_dir() for scene in self.splits["test"]):
            return
        download_and_extract_archive(_TESTED, place, remove_finished=True)
        target.mkdir(exist_ok=True)
        for scene in (place / "MiddEval3" / "testF").iterdir():
            shutil.move(scene, target / scene.name)
        shutil.rmtree(place / "MiddEval3")

    def _read_img(self, file_path: Any) -> Any:
        path = Path(file_path)
        if self.use_ambient_views and path.name == "im1.png":
            others = [path.with_name(name) for name in ("im1E.png", "im1L.png")]
            path = random.choice([*(other for other in others if other.is_file()), path])
        return super()._read_img(path)

    def _read_disparity(self, file_path: Any) -> tuple[Any, Any]:
        if file_path is None:
            return None, None
        disparity = pfm_disparity(file_path)
        disparity[np.isinf(disparity)] = 0
        return disparity, disparity[0] > 0
