"""EMNIST and QMNIST: MNIST's larger relatives, whose files have other names and parts."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

import rushlight as rl
from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._mnist import MNIST
from rushlight_vision.datasets._unpacking import unpack
from rushlight_vision.datasets.download import DownloadError, fetch
from rushlight_vision.datasets.idx import idx_shape, read_idx
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_ALIKE = frozenset("cijklmopsuvwxyz")  # letters whose two forms "bymerge" takes as one
_CHARACTERS = frozenset(string.digits + string.ascii_letters)


class _OtherFiles(MNIST):
    """What sets in MNIST's format with other files than MNIST's four have in common."""

    def _images_and_labels(self) -> tuple[Path, Path]:
        """Where the two unpacked files of the part lie."""
        raise NotImplementedError

    def _published(self) -> Sequence[tuple[str, str]]:
        """Addresses and sums of the packed files the part comes from."""
        raise NotImplementedError

    @property
    def images_file(self) -> str:
        """The file with the pictures."""
        return str(self._images_and_labels()[0])

    @property
    def labels_file(self) -> str:
        """The file with the labels."""
        return str(self._images_and_labels()[1])

    def _offline_way(self) -> str:
        names = ", ".join(url for url, _ in self._published())
        return f"Without network, put these files, as published, into {self.raw_folder}: {names}"

    def _missing(self) -> list[str]:
        return [place.name for place in self._images_and_labels() if idx_shape(place) is None]

    def _unpack_what_is_there(self, tell: bool) -> None:
        if self._missing():
            for url, md5 in self._published():
                packed = Path(self.raw_folder, url.rsplit("/", 1)[-1])
                if integrity.check_integrity(packed, md5):
                    self._unpack_published(packed)

    def _unpack_published(self, packed: Path) -> None:
        unpack(packed, self.raw_folder)

    def download(self) -> None:
        """Fetch, check and unpack the files of the part, unless they are there."""
        if not self._missing():
            return
        for url, md5 in self._published():
            packed = Path(self.raw_folder, url.rsplit("/", 1)[-1])
            try:
                fetch([url], packed, md5=md5)
            except DownloadError as error:
                raise RuntimeError(
                    f"{type(self).__name__}: {error}. {self._offline_way()}"
                ) from None
            self._unpack_published(packed)

    def _load_data(self) -> tuple[rl.Tensor, rl.Tensor]:
        images, labels = (read_idx(place) for place in self._images_and_labels())
        if images.ndim != 3 or images.dtype is not rl.uint8 or len(labels) != len(images):
            raise ValueError(
                f"{self.images_file}: expected bytes of shape (N, H, W) and as many labels, got "
                f"{images.dtype} of shape {tuple(images.shape)} and {len(labels)} labels"
            )
        return images, labels.to(rl.int64)


class EMNIST(_OtherFiles):
    """Handwritten digits and letters in MNIST's format (Cohen et al., 2017).

    `split` is "byclass" (62 classes, 814,255 pictures), "bymerge" (47), "balanced" (47), "letters"
    (26, numbered from 1), "digits" (10) or "mnist" (10). Pictures lie on their side and mirrored,
    as published. The published `gzip.zip` (all splits) lies in `root/EMNIST/raw`, or the unpacked
    files of the split do. Other arguments, attributes and items as :class:`MNIST`.
    """

    url = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
    md5 = "58c8d27c78d21e728a6bc7b3cc06412e"
    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    classes_split_dict = {
        "byclass": sorted(_CHARACTERS),
        "bymerge": sorted(_CHARACTERS - _ALIKE),
        "balanced": sorted(_CHARACTERS - _ALIKE),
        "letters": ["N/A", *string.ascii_lowercase],
        "digits": list(string.digits),
        "mnist": list(string.digits),
    }

    def __init__(self, root: Location, split: str, **kwargs: Any) -> None:
        self.split = verify_str_arg(split, "split", self.splits)
        super().__init__(root, **kwargs)
        self.classes = self.classes_split_dict[split]

    def _images_and_labels(self) -> tuple[Path, Path]:
        start = f"emnist-{self.split}-{'train' if self.train else 'test'}"
        folder = Path(self.raw_folder)
        return folder / f"{start}-images-idx3-ubyte", folder / f"{start}-labels-idx1-ubyte"

    def _published(self) -> Sequence[tuple[str, str]]:
        return ((self.url, self.md5),)

    def _unpack_published(self, packed: Path) -> None:
        unpack(packed, self.raw_folder)
        for place in self._images_and_labels():
            unpack(Path(self.raw_folder, "gzip", f"{place.name}.gz"), self.raw_folder)


class QMNIST(_OtherFiles):
    """MNIST with all 60,000 test digits and where each comes from (Yadav, Bottou, 2019).

    `what` is "train" (60,000), "test" (60,000), "test10k" (MNIST's own 10,000), "test50k" (the
    others) or "nist" (402,953); left out, `train` says which. With `compat` a target is the digit,
    without it the eight numbers that are published of each (int64 tensor). Other arguments as
    :class:`MNIST`.
    """

    subsets = {
        "train": "train",
        "test": "test",
        "test10k": "test",
        "test50k": "test",
        "nist": "nist",
    }
    _base = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"
    resources: Any = {
        "train": [
            (f"{_base}qmnist-train-images-idx3-ubyte.gz", "ed72d4157d28c017586c42bc6afe6370"),
            (f"{_base}qmnist-train-labels-idx2-int.gz", "0058f8dd561b90ffdd0f734c6a30e5e4"),
        ],
        "test": [
            (f"{_base}qmnist-test-images-idx3-ubyte.gz", "1394631089c404de565df7b7aeaf9412"),
            (f"{_base}qmnist-test-labels-idx2-int.gz", "5b5b05890a5e13444e108efe57b788aa"),
        ],
        "nist": [
            (f"{_base}xnist-images-idx3-ubyte.xz", "7f124b3b8ab81486c9d8c2749c17f834"),
            (f"{_base}xnist-labels-idx2-int.xz", "5ed0e788978e45d4a8bd4b7caec3d79d"),
        ],
    }

    def __init__(
        self,
        root: Location,
        what: str | None = None,
        compat: bool = True,
        train: bool = True,
        **kwargs: Any,
    ) -> None:
        if what is None:
            what = "train" if train else "test"
        self.what = verify_str_arg(what, "what", tuple(self.subsets))
        self.compat = compat
        super().__init__(root, train, **kwargs)

    def _published(self) -> Sequence[tuple[str, str]]:
        entries: Sequence[tuple[str, str]] = self.resources[self.subsets[self.what]]
        return entries

    def _images_and_labels(self) -> tuple[Path, Path]:
        images, labels = (url.rsplit("/", 1)[-1] for url, _ in self._published())
        return Path(self.raw_folder, Path(images).stem), Path(self.raw_folder, Path(labels).stem)

    def _load_data(self) -> tuple[rl.Tensor, rl.Tensor]:
        images, labels = super()._load_data()
        part = {"test10k": slice(0, 10_000), "test50k": slice(10_000, None)}.get(
            self.what, slice(None)
        )
        return images[part], labels[part]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture of a number and its digit, or all that is known of it."""
        target: Any = self.targets[index]
        image: Any = Image.fromarray(self.data[index].numpy())
        if self.transform is not None:
            image = self.transform(image)
        if self.compat:
            target = int(target[0])
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def extra_repr(self) -> str:
        """The part."""
        return f"Split: {self.what}"
