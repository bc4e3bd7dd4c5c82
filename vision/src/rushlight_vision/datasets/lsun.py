"""LSUN: photos of ten kinds of scenes, in LMDB files (Yu et al., 2015)."""

from __future__ import annotations

import bisect
import io
import itertools
import os
from collections.abc import Iterable
from typing import Any

from PIL import Image

from rushlight_vision.datasets._libraries import needed
from rushlight_vision.datasets._published import PublishedDataset, Transform
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_SCENES = (
    "bedroom",
    "bridge",
    "church_outdoor",
    "classroom",
    "conference_room",
    "dining_room",
    "kitchen",
    "living_room",
    "restaurant",
    "tower",
)


class LSUNClass(PublishedDataset):
    """The photos of one kind of scene: the folder `root` is one LMDB file.

    Reading it needs lmdb (`rushlight-vision[lmdb]`). An item is an RGB picture of Pillow and None.
    A copy for a worker process opens the file anew.
    """

    def __init__(
        self, root: Location, transform: Transform = None, target_transform: Transform = None
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._open()
        with self.env.begin(write=False) as transaction:
            cursor = transaction.cursor()
            self.keys = list(cursor.iternext(keys=True, values=False))
        self.length = len(self.keys)

    def _open(self) -> None:
        lmdb = needed("lmdb", "lmdb", self)
        if not os.path.exists(str(self.root)):
            raise FileNotFoundError(f"{type(self).__name__}: {self.root} does not exist")
        self.env = lmdb.open(
            str(self.root), max_readers=1, readonly=True, lock=False, readahead=False, meminit=False
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "env"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and None, changed by the transforms."""
        with self.env.begin(write=False) as transaction:
            content = transaction.get(self.keys[index])
        return self._changed(Image.open(io.BytesIO(content)).convert("RGB"), None)

    def __len__(self) -> int:
        return self.length


class LSUN(PublishedDataset):
    """Photos of several kinds of scenes; the target says which.

    `classes` is "train" or "val" (all ten kinds), "test", or a list of names like "bedroom_train".
    The folders `NAME_lmdb` lie in `root`. An item is an RGB picture of Pillow and an int.
    """

    def __init__(
        self,
        root: Location,
        classes: str | list[str] = "train",
        transform: Transform = None,
        target_transform: Transform = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes = _names(classes)
        place = str(self.root)
        self.dbs = [
            LSUNClass(os.path.join(place, f"{name}_lmdb"), transform) for name in self.classes
        ]
        self.indices = list(itertools.accumulate(len(part) for part in self.dbs))
        self.length = self.indices[-1] if self.indices else 0

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and its kind, changed by the transforms."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"LSUN: index {index} of {len(self)} photos")
        index %= len(self)
        kind = bisect.bisect_right(self.indices, index)
        start = self.indices[kind - 1] if kind else 0
        image, _ = self.dbs[kind][index - start]
        return image, kind if self.target_transform is None else self.target_transform(kind)

    def __len__(self) -> int:
        return self.length

    def extra_repr(self) -> str:
        """The kinds."""
        return f"Classes: {self.classes}"


def _names(classes: Any) -> list[str]:
    """The names of the folders that are asked for."""
    if isinstance(classes, str):
        part = verify_str_arg(classes, "classes", ("train", "val", "test"))
        return [part] if part == "test" else [f"{scene}_{part}" for scene in _SCENES]
    if not isinstance(classes, Iterable):
        raise ValueError(f"classes must be a string or a list, got {type(classes).__name__}")
    known = [f"{scene}_{part}" for scene in _SCENES for part in ("train", "val", "test")]
    return [verify_str_arg(name, "a name in classes", known) for name in classes]
