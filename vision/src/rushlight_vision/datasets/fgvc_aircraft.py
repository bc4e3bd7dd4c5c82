"""FGVC-Aircraft: photos of aeroplanes (Maji et al., 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import (
    File,
    Loader,
    SplitDataset,
    Transform,
    default_loader,
    numbered,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_LEVELS = {"variant": "variants", "family": "families", "manufacturer": "manufacturers"}


class FGVCAircraft(SplitDataset):
    """10,000 photos; `split` is "train", "val", "trainval" or "test", `annotation_level` "variant"
    (100 classes), "family" (70) or "manufacturer" (30).

    The published archive, or its folder `fgvc-aircraft-2013b`, lies in `root`. `classes` and
    `class_to_idx` name the classes. An item is what `loader` makes of the path (an RGB picture of
    Pillow) and an int. Raises RuntimeError if files are missing.
    """

    splits = ("train", "val", "trainval", "test")
    _FILE = File(
        "https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz"
    )

    def __init__(
        self,
        root: Location,
        split: str = "trainval",
        annotation_level: str = "variant",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        self._level = verify_str_arg(annotation_level, "annotation_level", tuple(_LEVELS))
        super().__init__(root, split, transform, target_transform, download, loader)

    def _content(self) -> Path:
        return self._folder() / "fgvc-aircraft-2013b"

    def _files(self) -> Sequence[File]:
        return (self._FILE,)

    def _is_complete(self) -> bool:
        return self._content().is_dir()

    def _listed(self) -> list[tuple[Any, Any]]:
        data = self._content() / "data"
        self.classes = [line.strip() for line in read_lines(data / f"{_LEVELS[self._level]}.txt")]
        self.class_to_idx = numbered(self.classes)
        lines = read_lines(data / f"images_{self._level}_{self._split}.txt")
        pairs = [line.strip().split(" ", 1) for line in lines]
        return [
            (str(data / "images" / f"{name}.jpg"), self.class_to_idx[kind]) for name, kind in pairs
        ]

    def extra_repr(self) -> str:
        """Nothing, as in torchvision."""
        return ""
