"""Stanford Cars: photos of 196 models of cars (Krause et al., 2013)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_vision.datasets._libraries import needed
from rushlight_vision.datasets._published import SplitDataset, numbered


class StanfordCars(SplitDataset):
    """16,185 photos: 8,144 in split "train", 8,041 in "test".

    The folders `devkit`, `cars_train` and `cars_test`, and `cars_test_annos_withlabels.mat`, lie in
    `root/stanford_cars`; their address is gone, so nothing is downloaded. Reading them needs SciPy
    (`rushlight-vision[mat]`). `classes` and `class_to_idx` name the models. An item is what
    `loader` makes of the path (an RGB picture of Pillow) and an int.

    Raises RuntimeError if files are missing.
    """

    def _folder(self) -> Path:
        return Path(str(self.root), "stanford_cars")

    def _table(self) -> Path:
        if self._split == "train":
            return self._folder() / "devkit" / "cars_train_annos.mat"
        return self._folder() / "cars_test_annos_withlabels.mat"

    def _is_complete(self) -> bool:
        return self._table().is_file() and (self._folder() / f"cars_{self._split}").is_dir()

    def download(self) -> None:
        """Refuses: the address is gone."""
        raise ValueError(
            "StanfordCars is no longer published where it was, download must be False; put the "
            f"folders devkit, cars_train and cars_test into {self._folder()}"
        )

    def _listed(self) -> list[tuple[Any, Any]]:
        read = needed("scipy.io", "mat", self).loadmat
        names = read(self._folder() / "devkit" / "cars_meta.mat", squeeze_me=True)["class_names"]
        self.classes = names.tolist()
        self.class_to_idx = numbered(self.classes)
        rows = read(self._table(), squeeze_me=True)["annotations"]
        pictures = self._folder() / f"cars_{self._split}"
        return [(str(pictures / str(row["fname"])), int(row["class"]) - 1) for row in rows]

    def extra_repr(self) -> str:
        """Nothing, as in torchvision."""
        return ""
