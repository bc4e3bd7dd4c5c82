"""Imagenette: ten classes of ImageNet that are easy to tell apart (Howard, 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import (
    File,
    ListedDataset,
    Loader,
    Transform,
    default_loader,
    numbered,
)
from rushlight_vision.datasets.folder import find_classes, make_dataset
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_BASE = "https://s3.amazonaws.com/fast-ai-imageclas/"


class Imagenette(ListedDataset):
    """13,394 photos, `split` "train" or "val"; `size` is "full", "320px" or "160px" (the shorter
    side).

    The published archive, or its folder (`imagenette2`, `imagenette2-320`, `imagenette2-160`), lies
    in `root`. `wnids` and `wnid_to_idx` give the folders' names, `classes` and `class_to_idx` the
    words for each. An item is what `loader` makes of the path (an RGB picture of Pillow) and an
    int.

    Raises RuntimeError if files are missing.
    """

    _ARCHIVES = {
        "full": File(f"{_BASE}imagenette2.tgz", "fe2fc210e6bb7c5664d602c3cd71e612"),
        "320px": File(f"{_BASE}imagenette2-320.tgz", "3df6f0d01a2c9592104656642f5e78a3"),
        "160px": File(f"{_BASE}imagenette2-160.tgz", "e793b78cc4c9e9a4ccc0c1155377a412"),
    }
    _WORDS = {
        "n01440764": ("tench", "Tinca tinca"),
        "n02102040": ("English springer", "English springer spaniel"),
        "n02979186": ("cassette player",),
        "n03000684": ("chain saw", "chainsaw"),
        "n03028079": ("church", "church building"),
        "n03394916": ("French horn", "horn"),
        "n03417042": ("garbage truck", "dustcart"),
        "n03425413": ("gas pump", "gasoline pump", "petrol pump", "island dispenser"),
        "n03445777": ("golf ball",),
        "n03888257": ("parachute", "chute"),
    }

    def __init__(
        self,
        root: Location,
        split: str = "train",
        size: str = "full",
        download: bool = False,
        transform: Transform = None,
        target_transform: Transform = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "val"))
        self._size = verify_str_arg(size, "size", tuple(self._ARCHIVES))
        self.loader = loader
        self._prepare(download)
        place = str(self._content() / split)
        self.wnids, self.wnid_to_idx = find_classes(place)
        self.classes = [self._WORDS[wnid] for wnid in self.wnids]
        words = numbered(self.classes)
        self.class_to_idx = {word: words[group] for group in self.classes for word in group}
        self._samples: list[tuple[Any, Any]] = list(
            make_dataset(place, self.wnid_to_idx, extensions=".jpeg")
        )

    def _content(self) -> Path:
        return self._folder() / self._ARCHIVES[self._size].kept.removesuffix(".tgz")

    def _files(self) -> Sequence[File]:
        return (self._ARCHIVES[self._size],)

    def _is_complete(self) -> bool:
        return self._content().is_dir()
