"""Flickr8k and Flickr30k: photos with five sentences each (Hodosh et al., 2013; Young et al.,
2014)."""

from __future__ import annotations

import os
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import (
    Loader,
    PublishedDataset,
    Transform,
    default_loader,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location


class Flickr8kParser(HTMLParser):
    """Reads the published page: a table of links to photos, each before a list of sentences.

    `annotations` has the sentences of every photo that lies in the folder `root`, by its path.
    """

    def __init__(self, root: Location) -> None:
        super().__init__()
        self.root = root
        self.annotations: dict[str, list[str]] = {}
        self._tables = 0
        self._tag = ""
        self._photo: str | None = None

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """An element begins."""
        self._tag = tag
        self._tables += tag == "table"

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        self._tag = ""
        self._tables -= tag == "table"

    def handle_data(self, data: str) -> None:
        """The text of an element: a link, or a sentence of the photo of the last link."""
        if not self._tables:
            return
        if data == "Image Not Found":
            self._photo = None
        elif self._tag == "a":
            self._photo = self._photo_of(data)
        elif self._tag == "li" and self._photo:
            self.annotations[self._photo].append(data.strip())

    def _photo_of(self, link: str) -> str:
        number = link.split("/")[-2]
        found = sorted(Path(self.root).glob(f"{number}_*.jpg"))
        if not found:
            raise FileNotFoundError(f"no photo {number}_*.jpg in {self.root}")
        self.annotations[str(found[0])] = []
        return str(found[0])


class _Captions(PublishedDataset):
    """Photos in a folder with the sentences of a file."""

    def __init__(
        self,
        root: Location,
        ann_file: str,
        transform: Transform = None,
        target_transform: Transform = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.ann_file = os.path.expanduser(ann_file)
        self.loader = loader
        self.annotations = self._read()
        self.ids = sorted(self.annotations)

    def _read(self) -> dict[str, list[str]]:
        raise NotImplementedError

    def _path(self, name: str) -> str:
        """Where the photo of a name in the annotations is."""
        return os.path.join(str(self.root), name)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and its sentences, changed by the transforms."""
        name = self.ids[index]
        image = self.loader(self._path(name))
        return self._changed(image, self.annotations[name])

    def __len__(self) -> int:
        return len(self.ids)


class Flickr8k(_Captions):
    """8,000 photos in `root` with the sentences of the published page `ann_file` (HTML).

    An item is what `loader` makes of the path (an RGB picture of Pillow) and a list of strings.
    """

    def _read(self) -> dict[str, list[str]]:
        parser = Flickr8kParser(str(self.root))
        parser.feed(Path(self.ann_file).read_text(encoding="utf-8"))
        return parser.annotations

    def _path(self, name: str) -> str:
        return name  # it begins with the root


class Flickr30k(_Captions):
    """31,783 photos in `root` with the sentences of `ann_file`: lines "NAME#NUMBER, tabulator,
    sentence".

    An item is what `loader` makes of the path (an RGB picture of Pillow) and a list of strings.
    """

    def _read(self) -> dict[str, list[str]]:
        found = defaultdict(list)
        for number, line in enumerate(read_lines(self.ann_file), 1):
            name, mark, sentence = line.strip().partition("\t")
            if not mark:
                raise ValueError(
                    f"{self.ann_file}, line {number}: expected a tabulator, got {line!r}"
                )
            found[name[:-2]].append(sentence)
        return found
