"""SBU: a million photos of Flickr with the sentence below each (Ordonez, Kulkarni, Berg, 2011)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import (
    File,
    Loader,
    PublishedDataset,
    Transform,
    default_loader,
    read_lines,
)
from rushlight_vision.datasets.download import DownloadError, download_url
from rushlight_vision.datasets.integrity import Location


class SBU(PublishedDataset):
    """Photos with one sentence each; those that are no longer on Flickr are left out.

    The published archive holds addresses and sentences, the folder `root/dataset` those and the
    photos; `download`, on by default, fetches the photos one by one. `photos` and `captions` list
    what is there. An item is what `loader` makes of the path (an RGB picture of Pillow) and a
    string.

    Raises RuntimeError if the lists are missing.
    """

    url = "https://www.cs.rice.edu/~vo9/sbucaptions/SBUCaptionedPhotoDataset.tar.gz"
    filename = "SBUCaptionedPhotoDataset.tar.gz"
    md5_checksum = "9aec147b3488753cf758b4d493422285"

    def __init__(
        self,
        root: Location,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = True,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self._prepare(download)
        names = [os.path.basename(url) for url in self._lines("urls")]
        there = [
            (name, sentence.rstrip())
            for name, sentence in zip(names, self._lines("captions"), strict=True)
            if (self._content() / name).is_file()
        ]
        self.photos = [name for name, _ in there]
        self.captions = [sentence for _, sentence in there]

    def _content(self) -> Path:
        return self._folder() / "dataset"

    def _lines(self, what: str) -> list[str]:
        return read_lines(self._content() / f"SBU_captioned_photo_dataset_{what}.txt")

    def _files(self) -> Sequence[File]:
        return (File(self.url, self.md5_checksum, self.filename),)

    def _is_complete(self) -> bool:
        names = ("urls", "captions")
        return all(
            (self._content() / f"SBU_captioned_photo_dataset_{name}.txt").is_file()
            for name in names
        )

    def download(self) -> None:
        """Fetch the lists, then the photos; how many of them are gone is said in a warning."""
        if self._is_complete():
            return
        super().download()
        gone = 0
        for url in self._lines("urls"):
            try:
                download_url(url.rstrip(), self._content())
            except (DownloadError, OSError):
                gone += 1
        if gone:
            warnings.warn(f"SBU: {gone} photos could not be fetched", RuntimeWarning, stacklevel=2)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo and the sentence of a number, changed by the transforms."""
        path = os.path.join(str(self._content()), self.photos[index])
        return self._changed(self.loader(path), self.captions[index])

    def __len__(self) -> int:
        return len(self.photos)
