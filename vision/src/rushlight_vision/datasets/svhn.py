"""SVHN: house numbers in street photos (Netzer et al., 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._libraries import needed
from rushlight_vision.datasets._published import File, PublishedDataset, Transform
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg


class SVHN(PublishedDataset):
    """Digits cut from photos, 32x32 pixels in colour: 73,257 in split "train", 26,032 in "test",
    531,131 in "extra".

    The published `.mat` file of the split lies in `root`; reading it needs SciPy
    (`rushlight-vision[mat]`). Pictures are in `data` (uint8 array, (N, 3, 32, 32)), digits in
    `labels` (int64; the digit 0, which the file calls 10, is 0). An item is an RGB picture of
    Pillow and an int.

    Raises RuntimeError if the file is missing or altered, with the way to get it.
    """

    split_list = {
        "train": [
            "http://ufldl.stanford.edu/housenumbers/train_32x32.mat",
            "train_32x32.mat",
            "e26dedcc434d2e4c54c9b2d4a06d8373",
        ],
        "test": [
            "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
            "test_32x32.mat",
            "eb5a983be6a315427106f1b164d9cef3",
        ],
        "extra": [
            "http://ufldl.stanford.edu/housenumbers/extra_32x32.mat",
            "extra_32x32.mat",
            "a93ce644f1a588dc4d68dda5feec44a7",
        ],
    }

    def __init__(
        self,
        root: Location,
        split: str = "train",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", tuple(self.split_list))
        self.url, self.filename, self.file_md5 = self.split_list[split]
        self._prepare(download)
        content = needed("scipy.io", "mat", self).loadmat(self._folder() / self.filename)
        self.labels = content["y"].astype(np.int64).reshape(-1) % 10
        self.data = content["X"].transpose(3, 2, 0, 1)

    def _files(self) -> Sequence[File]:
        return (File(self.url, self.file_md5, self.filename),)

    def _is_complete(self) -> bool:
        return integrity.check_integrity(Path(self._folder(), self.filename), self.file_md5)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture and the digit of a number, changed by the transforms."""
        picture = Image.fromarray(self.data[index].transpose(1, 2, 0))
        return self._changed(picture, int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        """The part."""
        return f"Split: {self.split}"
