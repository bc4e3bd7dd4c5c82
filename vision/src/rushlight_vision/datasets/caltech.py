"""Caltech 101 and 256: photos of things (Fei-Fei, Fergus, Perona, 2004; Griffin, Holub, Perona,
2007)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._libraries import needed
from rushlight_vision.datasets._published import File, PublishedDataset, Transform, open_image
from rushlight_vision.datasets._unpacking import unpack
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import list_dir, verify_str_arg


class Caltech101(PublishedDataset):
    """8,677 photos of 101 kinds of things.

    `target_type`, one or a list: "category" is the number of the kind, "annotation" the outline of
    the thing (float64 array, (2, N); reading it needs SciPy, `rushlight-vision[mat]`). The
    published `caltech-101.zip`, or the folders `101_ObjectCategories` and `Annotations`, lie in
    `root/caltech101`. `categories` names the kinds. An item is a picture of Pillow in its own mode
    and the target, a tuple where more than one is asked.

    Raises RuntimeError if files are missing.
    """

    _FILE = File(
        "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
        "3138e1922a9193bfa496528edbbc45d0",
    )
    _OUTLINES = {
        "Faces": "Faces_2",
        "Faces_easy": "Faces_3",
        "Motorbikes": "Motorbikes_16",
        "airplanes": "Airplanes_Side_2",
    }

    def __init__(
        self,
        root: Location,
        target_type: list[str] | str = "category",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        place = os.path.join(root, "caltech101")
        super().__init__(place, transform=transform, target_transform=target_transform)
        wanted = [target_type] if isinstance(target_type, str) else target_type
        kinds = ("category", "annotation")
        self.target_type = [verify_str_arg(kind, "target_type", kinds) for kind in wanted]
        self._prepare(download)
        names = list_dir(self._pictures())
        self.categories = [name for name in names if name != "BACKGROUND_Google"]
        self.annotation_categories = [self._OUTLINES.get(name, name) for name in self.categories]
        self.index: list[int] = []
        self.y: list[int] = []
        for number, category in enumerate(self.categories):
            count = len(os.listdir(self._pictures() / category))
            self.index += range(1, count + 1)
            self.y += [number] * count

    def _pictures(self) -> Path:
        return Path(str(self.root), "101_ObjectCategories")

    def _files(self) -> Sequence[File]:
        return (self._FILE,)

    def _is_complete(self) -> bool:
        return self._pictures().is_dir()

    def _arrange(self) -> None:
        """The zip file holds packed archives."""
        inner = self._folder() / "caltech-101"
        for archive in sorted(inner.glob("*.tar*")):
            unpack(archive, self._folder())
        shutil.rmtree(inner)

    def _outline(self, index: int) -> Any:
        folder = self.annotation_categories[self.y[index]]
        name = f"annotation_{self.index[index]:04d}.mat"
        path = Path(str(self.root), "Annotations", folder, name)
        return needed("scipy.io", "mat", self).loadmat(path)["obj_contour"]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and what is asked of it, changed by the transforms."""
        category = self.categories[self.y[index]]
        path = self._pictures() / category / f"image_{self.index[index]:04d}.jpg"
        targets = tuple(
            self.y[index] if kind == "category" else self._outline(index)
            for kind in self.target_type
        )
        return self._changed(open_image(path), targets if len(targets) > 1 else targets[0])

    def __len__(self) -> int:
        return len(self.index)

    def extra_repr(self) -> str:
        """What the target is."""
        return f"Target type: {self.target_type}"


class Caltech256(PublishedDataset):
    """30,607 photos of 256 kinds of things and one of clutter.

    The published archive, or its folder `256_ObjectCategories`, lies in `root/caltech256`.
    `categories` names the kinds. An item is a picture of Pillow in its own mode and an int.

    Raises RuntimeError if files are missing.
    """

    _FILE = File(
        "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
        "67b4f42ca05d46448c6bb8ecd2220f6d",
    )

    def __init__(
        self,
        root: Location,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        place = os.path.join(root, "caltech256")
        super().__init__(place, transform=transform, target_transform=target_transform)
        self._prepare(download)
        self.categories = list_dir(self._pictures())
        self.index: list[int] = []
        self.y: list[int] = []
        for number, category in enumerate(self.categories):
            count = len(list((self._pictures() / category).glob("*.jpg")))
            self.index += range(1, count + 1)
            self.y += [number] * count

    def _pictures(self) -> Path:
        return Path(str(self.root), "256_ObjectCategories")

    def _files(self) -> Sequence[File]:
        return (self._FILE,)

    def _is_complete(self) -> bool:
        return self._pictures().is_dir()

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo and the kind of a number, changed by the transforms."""
        kind = self.y[index]
        name = f"{kind + 1:03d}_{self.index[index]:04d}.jpg"
        return self._changed(open_image(self._pictures() / self.categories[kind] / name), kind)

    def __len__(self) -> int:
        return len(self.index)
