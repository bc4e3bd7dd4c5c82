"""Published data sets that are folders of classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rushlight_vision.datasets._published import (
    File,
    Loader,
    PublishedDataset,
    Transform,
    default_loader,
)
from rushlight_vision.datasets.folder import ImageFolder
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg


class PublishedFolder(ImageFolder, PublishedDataset):
    """`root/FOLDER/SPLIT/CLASS/IMAGE`, from one published archive."""

    splits: tuple[str, ...]
    folder_of_splits: str
    published: File
    unpacked_inside = False  # whether the archive belongs into the folder of splits, or beside it

    def __init__(
        self,
        root: Location,
        split: str = "train",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", self.splits)
        self.root = str(Path(root).expanduser())
        self._prepare(download)
        place = self._place() / split
        super().__init__(str(place), transform, target_transform, loader=loader)
        self.root = str(Path(root).expanduser())

    def _place(self) -> Path:
        return Path(str(self.root), self.folder_of_splits)

    def _folder(self) -> Path:
        return self._place() if self.unpacked_inside else Path(str(self.root))

    def _files(self) -> Sequence[File]:
        return (self.published,)

    def _is_complete(self) -> bool:
        return (self._place() / self._split).is_dir()
