"""STL-10 (Coates, Lee, Ng, 2011), from the published binary files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._published import File, PublishedDataset, Transform, read_lines
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_UNLABELED = -1


class STL10(PublishedDataset):
    """Colour pictures of 96x96 pixels in 10 classes: 5,000 to train, 8,000 to test, 100,000 without
    label.

    `split` is "train", "test", "unlabeled" or "train+unlabeled"; `folds`, 0 to 9, takes one of the
    ten published thousands of the training part. The binary files lie in `root/stl10_binary`.
    Pictures are in `data` (uint8 array, (N, 3, 96, 96)), labels in `labels`, -1 where there is
    none. An item is an RGB picture of Pillow and an int.

    Raises RuntimeError if files are missing or altered, with the way to get them.
    """

    base_folder = "stl10_binary"
    url = "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"
    filename = "stl10_binary.tar.gz"
    tgz_md5 = "91f7769df0f17e558f3565bffb0c7dfb"
    class_names_file = "class_names.txt"
    folds_list_file = "fold_indices.txt"
    train_list = [
        ["train_X.bin", "918c2871b30a85fa023e0c44e0bee87f"],
        ["train_y.bin", "5a34089d4802c674881badbb80307741"],
        ["unlabeled_X.bin", "5242ba1fed5e4be9e1e742405eb56ca4"],
    ]
    test_list = [
        ["test_X.bin", "7f263ba9f9e0b06b93213547f721ac82"],
        ["test_y.bin", "36f9794fa4beb8a2c72628de14fa638e"],
    ]
    splits = ("train", "train+unlabeled", "unlabeled", "test")

    def __init__(
        self,
        root: Location,
        split: str = "train",
        folds: int | None = None,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self.splits)
        if folds is not None and (not isinstance(folds, int) or not 0 <= folds < 10):
            raise ValueError(f"folds must be None or an int from 0 to 9, got {folds!r}")
        self.folds = folds
        self._prepare(download)
        parts = [self._part(name) for name in split.split("+")]
        self.data = np.concatenate([pictures for pictures, _ in parts])
        self.labels = np.concatenate([labels for _, labels in parts])
        names = self._place(self.class_names_file)
        if names.is_file():
            self.classes = read_lines(names)

    def _place(self, name: str) -> Path:
        return Path(str(self.root), self.base_folder, name)

    def _files(self) -> Sequence[File]:
        return (File(self.url, self.tgz_md5, self.filename),)

    def _is_complete(self) -> bool:
        known = [*self.train_list, *self.test_list]
        return all(integrity.check_integrity(self._place(name), md5) for name, md5 in known)

    def _part(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Pictures and labels of the published part of a name; of one fold where that is asked."""
        # Columns come first in the files.
        pixels = np.fromfile(self._place(f"{name}_X.bin"), np.uint8).reshape(-1, 3, 96, 96)
        pictures = pixels.transpose(0, 1, 3, 2)
        if name == "unlabeled":
            return pictures, np.full(len(pictures), _UNLABELED)
        labels = np.fromfile(self._place(f"{name}_y.bin"), np.uint8) - 1
        if name == "train" and self.folds is not None:
            line = read_lines(self._place(self.folds_list_file))[self.folds]
            chosen = np.array(line.split(), dtype=np.int64)
            return pictures[chosen], labels[chosen]
        return pictures, labels

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture and the label of a number, changed by the transforms."""
        picture = Image.fromarray(self.data[index].transpose(1, 2, 0))
        return self._changed(picture, int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        """The part."""
        return f"Split: {self.split}"
