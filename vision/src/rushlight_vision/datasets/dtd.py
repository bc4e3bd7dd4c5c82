"""DTD: describable textures (Cimpoi et al., 2014)."""

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


class DTD(SplitDataset):
    """5,640 pictures of 47 textures; `split` is "train", "val" or "test", `partition` one of the
    ten published ways to part them (1 to 10).

    The published archive, or its folder `dtd`, lies in `root/dtd`. `classes` and `class_to_idx`
    name the textures. An item is what `loader` makes of the path (an RGB picture of Pillow) and an
    int. Raises RuntimeError if files are missing.
    """

    splits = ("train", "val", "test")
    _FILE = File(
        "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz",
        "fff73e5086ae6bdbea199a49dfb8a4c1",
    )

    def __init__(
        self,
        root: Location,
        split: str = "train",
        partition: int = 1,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        if not isinstance(partition, int) or not 1 <= partition <= 10:
            raise ValueError(f"partition must be an int from 1 to 10, got {partition!r}")
        self._partition = partition
        super().__init__(root, split, transform, target_transform, download, loader)

    def _folder(self) -> Path:
        return Path(str(self.root), "dtd")

    def _files(self) -> Sequence[File]:
        return (self._FILE,)

    def _is_complete(self) -> bool:
        return (self._folder() / "dtd").is_dir()

    def _listed(self) -> list[tuple[Any, Any]]:
        content = self._folder() / "dtd"
        names = read_lines(content / "labels" / f"{self._split}{self._partition}.txt")
        kinds = [name.partition("/")[0] for name in names]
        self.classes = sorted(set(kinds))
        self.class_to_idx = numbered(self.classes)
        return [
            (content / "images" / name, self.class_to_idx[kind])
            for name, kind in zip(names, kinds, strict=True)
        ]

    def extra_repr(self) -> str:
        """The split and the partition."""
        return f"split={self._split}, partition={self._partition}"
