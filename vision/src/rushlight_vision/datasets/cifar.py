"""CIFAR-10 and CIFAR-100 (Krizhevsky, 2009), from the published batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._plain_pickles import read_plain_pickle
from rushlight_vision.datasets._published import File, PublishedDataset, Transform, numbered
from rushlight_vision.datasets.integrity import Location


class CIFAR10(PublishedDataset):
    """60,000 colour pictures of 32x32 pixels in 10 classes: 50,000 to train, 10,000 to test.

    The published batches lie in `root/cifar-10-batches-py`; the archive itself in `root` does as
    well, with `download` it is fetched. All pictures are in `data` (uint8 array, (N, 32, 32, 3)),
    all labels in `targets` (a list), their names in `classes` and `class_to_idx`. An item is an RGB
    picture of Pillow and an int, changed by `transform` and `target_transform`.

    Raises RuntimeError if files are missing or altered, with the way to get them.

    >>> train = CIFAR10("data", download=True)  # doctest: +SKIP
    >>> picture, label = train[0]  # doctest: +SKIP

    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta = {
        "filename": "batches.meta",
        "key": "label_names",
        "md5": "5ff9c542aee3614f3951f8cda6e48888",
    }

    def __init__(
        self,
        root: Location,
        train: bool = True,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        self._prepare(download)
        batches = [self._batch(name) for name, _ in (self.train_list if train else self.test_list)]
        self.data = np.concatenate([pictures for pictures, _ in batches])
        self.targets = [label for _, labels in batches for label in labels]
        self.classes: list[str] = read_plain_pickle(self._place(self.meta["filename"]))[
            self.meta["key"]
        ]
        self.class_to_idx = numbered(self.classes)

    def _place(self, name: str) -> Path:
        return Path(str(self.root), self.base_folder, name)

    def _files(self) -> Sequence[File]:
        return (File(self.url, self.tgz_md5, self.filename),)

    def _is_complete(self) -> bool:
        known = [*self.train_list, *self.test_list, [self.meta["filename"], self.meta["md5"]]]
        return all(integrity.check_integrity(self._place(name), md5) for name, md5 in known)

    def _batch(self, name: str) -> tuple[np.ndarray, list[int]]:
        """Pictures, channels last, and labels of one file."""
        batch = read_plain_pickle(self._place(name))
        labels = batch["labels"] if "labels" in batch else batch["fine_labels"]
        return batch["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture and the label of a number, changed by the transforms."""
        return self._changed(Image.fromarray(self.data[index]), self.targets[index])

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        """The part."""
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """60,000 colour pictures of 32x32 pixels in 100 classes; see :class:`CIFAR10`."""

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta = {
        "filename": "meta",
        "key": "fine_label_names",
        "md5": "7973b15100ade9c7d40fb424638fde48",
    }
