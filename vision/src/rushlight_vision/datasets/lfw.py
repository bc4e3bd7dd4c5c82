"""LFW: faces of known people, to name or to compare (Huang et al., 2007)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._published import (
    File,
    Loader,
    PublishedDataset,
    Transform,
    default_loader,
    numbered,
    read_lines,
)
from rushlight_vision.datasets.utils import verify_str_arg

_BASE = "http://vis-www.cs.umass.edu/lfw/"


class _LFW(PublishedDataset):
    """What both views of the data set have in common."""

    base_folder = "lfw-py"
    view: str
    file_dict = {
        "original": ("lfw", "lfw.tgz", "a17d05bd522c52d84eca14327a23d494"),
        "funneled": ("lfw_funneled", "lfw-funneled.tgz", "1b42dfed7d15c9b2dd63d5e5840c86ad"),
        "deepfunneled": (
            "lfw-deepfunneled",
            "lfw-deepfunneled.tgz",
            "68331da3eb755a505a502b5aacb3c201",
        ),
    }
    checksums = {
        "pairs.txt": "9f1ba174e4e1c508ff7cdf10ac338a7d",
        "pairsDevTest.txt": "5132f7440eb68cf58910c8a45a2ac10b",
        "pairsDevTrain.txt": "4f27cbf15b2da4a85c1907eb4181ad21",
        "people.txt": "450f0863dd89e85e73936a6d71a3474b",
        "peopleDevTest.txt": "e4bf5be0a43b5dcd9dc5ccfcb8fb19c5",
        "peopleDevTrain.txt": "54eaac34beb6d042ed3a7d883e247a21",
        "lfw-names.txt": "a6d0a479bd074669f656265a6e693f6d",
    }
    annot_file = {"10fold": "", "train": "DevTrain", "test": "DevTest"}
    names = "lfw-names.txt"

    def __init__(
        self,
        root: str,
        split: str = "10fold",
        image_set: str = "funneled",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        place = os.path.join(root, self.base_folder)
        super().__init__(place, transform=transform, target_transform=target_transform)
        self.image_set = verify_str_arg(image_set.lower(), "image_set", tuple(self.file_dict))
        self.split = verify_str_arg(split.lower(), "split", tuple(self.annot_file))
        folder, self.filename, self.md5 = self.file_dict[self.image_set]
        self.labels_file = f"{self.view}{self.annot_file[self.split]}.txt"
        self.images_dir = os.path.join(str(self.root), folder)
        self._loader = loader
        if download:
            raise ValueError(
                "LFW is no longer published where it was, download must be False. "
                f"{self._offline_way()}"
            )
        self._prepare(download=False)
        self.data: list[Any] = []
        self.targets: list[int] = []
        self._read(read_lines(Path(str(self.root), self.labels_file)))

    def _read(self, lines: list[str]) -> None:
        """Fill `data` and `targets` by the lines of the published list."""
        raise NotImplementedError

    def _lists(self) -> list[str]:
        return [self.labels_file, *([self.names] if self.view == "people" else [])]

    def _files(self) -> Sequence[File]:
        lists = [File(_BASE + name, self.checksums[name]) for name in self._lists()]
        return (File(_BASE + self.filename, self.md5), *lists)

    def _is_complete(self) -> bool:
        lists = [(Path(str(self.root), name), self.checksums[name]) for name in self._lists()]
        there = all(integrity.check_integrity(path, md5) for path, md5 in lists)
        return there and Path(self.images_dir).is_dir()

    def _get_path(self, identity: str, no: int | str) -> str:
        return os.path.join(self.images_dir, identity, f"{identity}_{int(no):04d}.jpg")

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        """The kind of alignment and the split."""
        return f"Alignment: {self.image_set}\nSplit: {self.split}"


class LFWPeople(_LFW):
    """13,233 faces of 5,749 people; the target says who it is.

    `split` is "10fold" (all), "train" or "test" of the smaller development view; `image_set`
    "original", "funneled" or "deepfunneled" (how faces are aligned). The published files, which are
    no longer given out where they were, lie in `root/lfw-py`. `class_to_idx` has the people's
    names. An item is what `loader` makes of the path (an RGB picture of Pillow) and an int.

    Raises RuntimeError if files are missing or altered.
    """

    view = "people"

    def _read(self, lines: list[str]) -> None:
        self.class_to_idx = numbered(
            [line.split()[0] for line in read_lines(Path(str(self.root), self.names))]
        )
        place = 1 if self.split == "10fold" else 0
        for _ in range(int(lines[0]) if place else 1):
            count = int(lines[place])
            for line in lines[place + 1 : place + 1 + count]:
                name, pictures = line.strip().split("\t")
                self.data += [self._get_path(name, no) for no in range(1, int(pictures) + 1)]
                self.targets += [self.class_to_idx[name]] * int(pictures)
            place += count + 1

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The face of a number and who it is, changed by the transforms."""
        return self._changed(self._loader(self.data[index]), self.targets[index])

    def extra_repr(self) -> str:
        """The kind of alignment, the split and the number of people."""
        return f"{super().extra_repr()}\nClasses (identities): {len(self.class_to_idx)}"


class LFWPairs(_LFW):
    """6,000 pairs of faces; the target is 1 where both are of one person, else 0.

    Arguments and files as of :class:`LFWPeople`; `pair_names` has the names. An item is two
    pictures and an int.
    """

    view = "pairs"

    def _read(self, lines: list[str]) -> None:
        folds, count = lines[0].split("\t") if self.split == "10fold" else (1, lines[0])
        self.pair_names: list[tuple[str, str]] = []
        for line in lines[1 : 1 + 2 * int(folds) * int(count)]:
            words = line.strip().split("\t")
            if len(words) == 3:  # a name and two of its pictures; else two names with one each
                words.insert(2, words[0])
            first, no, second, other = words
            self.pair_names.append((first, second))
            self.data.append((self._get_path(first, no), self._get_path(second, other)))
            self.targets.append(int(len(line.split("\t")) == 3))

    def __getitem__(self, index: int) -> tuple[Any, Any, Any]:
        """The two faces of a number and whether they show one person, changed."""
        first, second = map(self._loader, self.data[index])
        first, target = self._changed(first, self.targets[index])
        return first, second if self.transform is None else self.transform(second), target
