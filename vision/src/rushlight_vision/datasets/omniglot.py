"""Omniglot: 1,623 handwritten characters of 50 alphabets (Lake, Salakhutdinov, Tenenbaum, 2015)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import File, PublishedDataset, Transform, open_image
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import list_dir, list_files


class Omniglot(PublishedDataset):
    """Characters, each drawn by 20 people: 964 in the "background" part, 659 in the other.

    The published zip file or what is in it (`images_background`, `images_evaluation`) lies in
    `root/omniglot-py`. An item is a picture of Pillow (mode "L", or what `loader` makes of the
    path) and the number of the character. Raises RuntimeError if files are missing.
    """

    folder = "omniglot-py"
    download_url_prefix = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
    zips_md5 = {
        "images_background": "68d2efa1b9178cc56df9314c21c6e718",
        "images_evaluation": "6b91aef0f799c5bb55b94e3f2daec811",
    }

    def __init__(
        self,
        root: Location,
        background: bool = True,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
        loader: Callable[[Any], Any] | None = None,
    ) -> None:
        place = os.path.join(root, self.folder)
        super().__init__(place, transform=transform, target_transform=target_transform)
        self.background, self.loader = background, loader
        self._part = "images_background" if background else "images_evaluation"
        self._prepare(download)
        self.target_folder = os.path.join(str(self.root), self._part)
        self._characters = [
            os.path.join(alphabet, character)
            for alphabet in list_dir(self.target_folder)
            for character in list_dir(os.path.join(self.target_folder, alphabet))
        ]
        self._drawings = [
            (path, number)
            for number, character in enumerate(self._characters)
            for path in list_files(os.path.join(self.target_folder, character), ".png", prefix=True)
        ]

    def _files(self) -> Sequence[File]:
        url = f"{self.download_url_prefix}/{self._part}.zip"
        return (File(url, self.zips_md5[self._part]),)

    def _is_complete(self) -> bool:
        return Path(str(self.root), self._part).is_dir()

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The drawing of a number and its character, changed by the transforms."""
        path, character = self._drawings[index]
        picture = open_image(path, "L") if self.loader is None else self.loader(path)
        return self._changed(picture, character)

    def __len__(self) -> int:
        return len(self._drawings)
