"""SBD: outlines of the things in PASCAL VOC's photos (Hariharan et al., 2011)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from rushlight_vision.datasets._libraries import needed
from rushlight_vision.datasets._published import (
    File,
    PublishedDataset,
    Transforms,
    open_image,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_CLASSES = 20
_CONTENT = ("cls", "img", "inst", "train.txt", "val.txt")


class SBDataset(PublishedDataset):
    """11,355 photos; `image_set` is "train", "val" or "train_noval" (none of VOC 2012's "val").

    With `mode` "boundaries" the target is a float array (20, H, W) with the edges of each class,
    with "segmentation" a picture of Pillow with the class of every pixel. The published archive, or
    its folders `img` and `cls` and lists, lie in `root`; reading them needs SciPy
    (`rushlight-vision[mat]`). An item is an RGB picture of Pillow and the target, changed by
    `transforms`.

    Raises RuntimeError if files are missing.
    """

    url = (
        "https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/grouping/semantic_contours/"
        "benchmark.tgz"
    )
    md5 = "82b4d87ceb2ed10f6038a1cba92111cb"
    filename = "benchmark.tgz"
    voc_train_url = "https://www.cs.cornell.edu/~bharathh/train_noval.txt"
    voc_split_filename = "train_noval.txt"
    voc_split_md5 = "79bff800c5f0b1ec6b21080a3c066722"

    def __init__(
        self,
        root: Location,
        image_set: str = "train",
        mode: str = "boundaries",
        download: bool = False,
        transforms: Transforms = None,
    ) -> None:
        super().__init__(root, transforms)
        needed("scipy.io", "mat", self)
        self.image_set = verify_str_arg(image_set, "image_set", ("train", "val", "train_noval"))
        self.mode = verify_str_arg(mode, "mode", ("segmentation", "boundaries"))
        self.num_classes = _CLASSES
        self._prepare(download)
        names = [line.strip() for line in read_lines(self._folder() / f"{image_set}.txt")]
        self.images = [str(self._folder() / "img" / f"{name}.jpg") for name in names]
        self.masks = [str(self._folder() / "cls" / f"{name}.mat") for name in names]

    def _files(self) -> Sequence[File]:
        archive = File(self.url, self.md5, self.filename)
        listed = File(self.voc_train_url, self.voc_split_md5, self.voc_split_filename)
        return (archive, listed) if self.image_set == "train_noval" else (archive,)

    def _is_complete(self) -> bool:
        there = all((self._folder() / name).is_dir() for name in ("img", "cls"))
        return there and (self._folder() / f"{self.image_set}.txt").is_file()

    def _arrange(self) -> None:
        for name in _CONTENT:
            source = self._folder() / "benchmark_RELEASE" / "dataset" / name
            if source.exists() and not (self._folder() / name).exists():
                os.replace(source, self._folder() / name)

    def _target(self, path: str) -> Any:
        classes = needed("scipy.io", "mat", self).loadmat(path)["GTcls"][0]
        if self.mode == "segmentation":
            return Image.fromarray(classes["Segmentation"][0])
        edges = classes["Boundaries"][0]
        return np.stack([edges[number][0].toarray() for number in range(self.num_classes)])

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and its target, changed by the transforms."""
        image = open_image(self.images[index], "RGB")
        return self._changed_together(image, self._target(self.masks[index]))

    def __len__(self) -> int:
        return len(self.images)

    def extra_repr(self) -> str:
        """What is taken."""
        return f"Image set: {self.image_set}\nMode: {self.mode}"
