"""Places365: photos of 365 kinds of places (Zhou et al., 2018)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._published import (
    File,
    Loader,
    PublishedDataset,
    Transform,
    default_loader,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_BASE = "http://data.csail.mit.edu/places/places365/"


class Places365(PublishedDataset):
    """1.8 million photos ("train-standard"), 8 million ("train-challenge"), 36,500 ("val"), 328,500
    ("test", targets None); `small` takes those of 256x256 pixels.

    The published archives, or the lists and the folder of pictures, lie in `root`. `classes` and
    `class_to_idx` name the kinds, `imgs` has paths with targets. An item is what `loader` makes of
    the path (an RGB picture of Pillow) and an int or None.

    Raises RuntimeError if files are missing or altered.
    """

    _SPLITS = ("train-standard", "train-challenge", "val", "test")
    _LISTS = {
        "standard": ("filelist_places365-standard.tar", "35a0585fee1fa656440f3ab298f8479c"),
        "challenge": ("filelist_places365-challenge.tar", "70a8307e459c3de41690a7c76c931734"),
    }
    _CATEGORIES = ("categories_places365.txt", "06c963b85866bd0649f97cb43dd16673")
    _PATHS = {
        "train-standard": ("places365_train_standard.txt", "30f37515461640559006b8329efbed1a"),
        "train-challenge": ("places365_train_challenge.txt", "b2931dc997b8c33c27e7329c073a6b57"),
        "val": ("places365_val.txt", "e9f2fd57bfd9d07630173f4e8708e4b1"),
        "test": ("places365_test.txt", "2fce8233fe493576d724142e45d93653"),
    }
    _IMAGES = {
        ("train-standard", False): "train_large_places365standard 67e186b496a84c929568076ed01a8aa1",
        (
            "train-challenge",
            False,
        ): "train_large_places365challenge 605f18e68e510c82b958664ea134545f",
        ("val", False): "val_large 9b71c4993ad89d2d8bcbdc4aef38042f",
        ("test", False): "test_large 41a4b6b724b1d2cd862fb3871ed59913",
        ("train-standard", True): "train_256_places365standard 53ca1c756c3d1e7809517cc47c5561c5",
        ("train-challenge", True): "train_256_places365challenge 741915038a5e3471ec7332404dfb64ef",
        ("val", True): "val_256 e27b17d8d44f4af9a78502beb927f808",
        ("test", True): "test_256 f532f6ad7b582262a2ec8009075e186b",
    }

    def __init__(
        self,
        root: Location,
        split: str = "train-standard",
        small: bool = False,
        download: bool = False,
        transform: Transform = None,
        target_transform: Transform = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self._SPLITS)
        self.small, self.loader = small, loader
        self._prepare(download)
        rows = [line.split() for line in read_lines(self._folder() / self._CATEGORIES[0])]
        self.class_to_idx = {name: int(number) for name, number in rows}
        self.classes = sorted(self.class_to_idx)
        listed = [line.split() for line in read_lines(self._folder() / self._PATHS[split][0])]
        self.targets = [int(row[1]) if len(row) > 1 else None for row in listed]
        names = [row[0].lstrip("/") for row in listed]
        self.imgs = [
            (os.path.join(self.images_dir, name), target)
            for name, target in zip(names, self.targets, strict=True)
        ]

    @property
    def variant(self) -> str:
        """Which of the two sets: "standard" or "challenge"."""
        return "challenge" if "challenge" in self.split else "standard"

    @property
    def images_dir(self) -> str:
        """The folder of the pictures."""
        size = "256" if self.small else "large"
        trained = self.split.startswith("train")
        name = f"data_{size}_{self.variant}" if trained else f"{self.split}_{size}"
        return str(self._folder() / name)

    def _files(self) -> Sequence[File]:
        name, md5 = self._IMAGES[self.split, self.small].split()
        lists, md5_of_lists = self._LISTS[self.variant]
        return (File(_BASE + lists, md5_of_lists), File(f"{_BASE}{name}.tar", md5))

    def _is_complete(self) -> bool:
        tables = (self._CATEGORIES, self._PATHS[self.split])
        there = all(integrity.check_integrity(self._folder() / name, md5) for name, md5 in tables)
        return there and Path(self.images_dir).is_dir()

    def _arrange(self) -> None:
        """Both sets to train are packed under one name; ours says which it is."""
        if self.split.startswith("train"):
            os.replace(self.images_dir.rsplit("_", 1)[0], self.images_dir)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and its kind, changed by the transforms."""
        path, target = self.imgs[index]
        return self._changed_together(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.imgs)

    def extra_repr(self) -> str:
        """What is taken."""
        return f"Split: {self.split}\nSmall: {self.small}"
