"""MNIST, from the files its authors published."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

import rushlight as rl
from rushlight_vision.datasets import integrity
from rushlight_vision.datasets.download import DownloadError, fetch, unpack_gzip
from rushlight_vision.datasets.idx import idx_shape, read_idx
from rushlight_vision.datasets.vision import VisionDataset


class MNIST(VisionDataset):
    """70,000 handwritten digits, 28x28 pixels: 60,000 to train (`train=True`), 10,000 to test.

    The files lie in `root/MNIST/raw`, unpacked. With `download`, what is missing there is fetched,
    checked and unpacked; packed files that lie there already are unpacked in any case, so without
    network it is enough to put the four published files there, packed or not.

    An item is a pair of a PIL image (mode "L") and an int; `transform` and `target_transform`
    change them. All images are in `data` (uint8, (N, 28, 28)), all labels in `targets` (int64).

    Raises `RuntimeError` if files are missing or cannot be fetched, with the names and the folder.
    """

    mirrors = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    # Published file and its MD5 sum; then, by name, the sum of what is in it: other packagings of
    # the same data are as good.
    resources = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    contents = {
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    }
    classes = [
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    ]

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        self._unpack_what_is_there(tell=not download)
        if download:
            self.download()
        missing = self._missing()
        if missing:
            raise RuntimeError(
                f"{type(self).__name__}: not found in {self.raw_folder}: {', '.join(missing)}. "
                f"Use download=True to fetch them. {self._offline_way()}"
            )
        self.data, self.targets = self._load_data()

    @property
    def raw_folder(self) -> str:
        """Where the files lie: `root/<name of the data set>/raw`."""
        return os.path.join(str(self.root), type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Name of a class -> its label."""
        return {name: number for number, name in enumerate(self.classes)}

    @property
    def train_data(self) -> rl.Tensor:
        """A former name of `data`."""
        return self._renamed("train_data", "data")

    @property
    def test_data(self) -> rl.Tensor:
        """A former name of `data`."""
        return self._renamed("test_data", "data")

    @property
    def train_labels(self) -> rl.Tensor:
        """A former name of `targets`."""
        return self._renamed("train_labels", "targets")

    @property
    def test_labels(self) -> rl.Tensor:
        """A former name of `targets`."""
        return self._renamed("test_labels", "targets")

    def _renamed(self, former: str, name: str) -> rl.Tensor:
        warnings.warn(f"{former} is now called {name}", UserWarning, stacklevel=3)
        found: rl.Tensor = getattr(self, name)
        return found

    def _offline_way(self) -> str:
        names = ", ".join(name for name, _ in self.resources)
        return (
            f"Without network, put these files, as published or unpacked (then without .gz), into "
            f"{self.raw_folder}: {names}"
        )

    def _place(self, packed_name: str) -> Path:
        """Where the unpacked file of a published one belongs."""
        return Path(self.raw_folder, packed_name.removesuffix(".gz"))

    def _missing(self) -> list[str]:
        """Names of unpacked files that are not there, whole."""
        places = [self._place(name) for name, _ in self.resources]
        return [place.name for place in places if idx_shape(place) is None]

    def _unpack(self, packed: Path, place: Path, md5: str) -> None:
        """Unpack a file whose own sum, or whose content's, is the published one."""
        same = integrity.check_integrity(packed, md5)
        unpack_gzip(packed, place, None if same else self.contents.get(place.name, "unknown"))

    def _unpack_what_is_there(self, tell: bool) -> None:
        """Unpack published files that lie in the folder.

        Damaged packed ones are told of here only if `tell`: a download that follows tells too.
        """
        for name, md5 in self.resources:
            place, packed = self._place(name), Path(self.raw_folder, name)
            if place.exists() and idx_shape(place) is None:
                warnings.warn(
                    f"{place} is truncated or altered and not used", RuntimeWarning, stacklevel=3
                )
            if idx_shape(place) is None and packed.is_file():
                try:
                    self._unpack(packed, place, md5)
                except ValueError as error:
                    if tell:
                        warnings.warn(f"{error}; it is not used", RuntimeWarning, stacklevel=3)

    def download(self) -> None:
        """Fetch, check and unpack the files that are not there.

        Raises `RuntimeError` that names the offline way if no mirror gives a file.
        """
        for name, md5 in self.resources:
            place, packed = self._place(name), Path(self.raw_folder, name)
            if idx_shape(place) is not None:
                continue
            try:
                fetch([mirror + name for mirror in self.mirrors], packed, md5=md5)
            except DownloadError as error:
                raise RuntimeError(
                    f"{type(self).__name__}: {error}. {self._offline_way()}"
                ) from None
            self._unpack(packed, place, md5)

    def _load_data(self) -> tuple[rl.Tensor, rl.Tensor]:
        part = "train" if self.train else "t10k"
        images_path = Path(self.raw_folder, f"{part}-images-idx3-ubyte")
        labels_path = Path(self.raw_folder, f"{part}-labels-idx1-ubyte")
        images, labels = read_idx(images_path), read_idx(labels_path)
        if images.ndim != 3 or images.dtype is not rl.uint8:
            raise ValueError(
                f"{images_path}: expected bytes of shape (N, H, W), got {images.dtype} of shape "
                f"{tuple(images.shape)}"
            )
        if labels.shape != images.shape[:1] or labels.dtype is not rl.uint8:
            raise ValueError(
                f"{labels_path}: expected {len(images)} bytes, one for each image, got "
                f"{labels.dtype} of shape {tuple(labels.shape)}"
            )
        return images, labels.to(rl.int64)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The image and label of a number, changed by the transforms."""
        image: Any = Image.fromarray(self.data[index].numpy())
        target: Any = int(self.targets[index])
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def extra_repr(self) -> str:
        """The part."""
        return f"Split: {'Train' if self.train else 'Test'}"
