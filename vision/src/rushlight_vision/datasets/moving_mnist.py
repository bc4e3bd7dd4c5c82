"""MovingMNIST: films of two digits that move about (Srivastava, Mansimov, Salakhutdinov, 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import rushlight as rl
from rushlight_vision.datasets._published import File, PublishedDataset, Transform
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg


class MovingMNIST(PublishedDataset):
    """10,000 films of 20 frames of 64x64 pixels.

    `split` "train" takes the first `split_ratio` frames of each film (1 to 19), "test" those after
    them, None all. The published `mnist_test_seq.npy` lies in `root/MovingMNIST`. All films are in
    `data` (uint8, (N, T, 1, 64, 64)); an item is one film, changed by `transform`.

    Raises RuntimeError if the file is missing.
    """

    _URL = "http://www.cs.toronto.edu/~nitish/unsupervised_video/mnist_test_seq.npy"
    _MD5 = "be083ec986bfe91a449d63653c411eb2"

    def __init__(
        self,
        root: Location,
        split: str | None = None,
        split_ratio: int = 10,
        download: bool = False,
        transform: Transform = None,
    ) -> None:
        super().__init__(root, transform=transform)
        if split is not None:
            verify_str_arg(split, "split", ("train", "test"))
        if not isinstance(split_ratio, int):
            raise TypeError(f"split_ratio must be an int, got {type(split_ratio).__name__}")
        if not 1 <= split_ratio <= 19:
            raise ValueError(f"split_ratio must be from 1 to 19, got {split_ratio}")
        self.split, self.split_ratio = split, split_ratio
        self._prepare(download)
        frames = rl.from_numpy(np.load(self._place()))  # frames first, then films
        part = {"train": slice(None, split_ratio), "test": slice(split_ratio, None)}
        if split is not None:
            frames = frames[part[split]]
        self.data = frames.transpose(0, 1).unsqueeze(2).contiguous()

    def _folder(self) -> Path:
        return Path(str(self.root), type(self).__name__)

    def _place(self) -> Path:
        return self._folder() / self._URL.rsplit("/", 1)[-1]

    def _files(self) -> Sequence[File]:
        return (File(self._URL, self._MD5),)

    def _is_complete(self) -> bool:
        return self._place().is_file()

    def __getitem__(self, idx: int) -> rl.Tensor:
        """The film of a number, changed by the transform."""
        film: rl.Tensor = self.data[idx]
        return film if self.transform is None else self.transform(film)

    def __len__(self) -> int:
        return len(self.data)
