"""Photo Tour: patches of photos of the same places, and which match (Brown, Winder, 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as rl
from rushlight_vision.datasets._published import (
    File,
    PublishedDataset,
    Transform,
    open_image,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_SIDE = 64  # pixels of a patch; a published picture is a sheet of them


class PhotoTour(PublishedDataset):
    """Patches of 64x64 pixels of one place; `name` is a key of `urls`, as "liberty".

    The published zip file, or the folder `name` with what is in it, lies in `root`; what was read
    is kept beside it in `NAME.pt`. With `train` an item is a patch (uint8, (64, 64)), changed by
    `transform`; without it two patches and 1 or 0 (int64 tensor): whether they show the same point.
    `data` holds all patches, `labels` the point of each, `matches` the pairs. `mean` and `std` are
    those of the place, of pixels from 0 to 1.

    Raises RuntimeError if files are missing.
    """

    _HARRIS = "http://matthewalunbrown.com/patchdata/"
    _OTHERS = "http://icvl.ee.ic.ac.uk/vbalnt/"
    urls = {
        "notredame_harris": [
            f"{_HARRIS}notredame_harris.zip",
            "notredame_harris.zip",
            "69f8c90f78e171349abdf0307afefe4d",
        ],
        "yosemite_harris": [
            f"{_HARRIS}yosemite_harris.zip",
            "yosemite_harris.zip",
            "a73253d1c6fbd3ba2613c45065c00d46",
        ],
        "liberty_harris": [
            f"{_HARRIS}liberty_harris.zip",
            "liberty_harris.zip",
            "c731fcfb3abb4091110d0ae8c7ba182c",
        ],
        "notredame": [
            f"{_OTHERS}notredame.zip",
            "notredame.zip",
            "509eda8535847b8c0a90bbb210c83484",
        ],
        "yosemite": [f"{_OTHERS}yosemite.zip", "yosemite.zip", "533b2e8eb7ede31be40abc317b2fd4f0"],
        "liberty": [f"{_OTHERS}liberty.zip", "liberty.zip", "fdd9152f138ea5ef2091746689176414"],
    }
    means = {
        "notredame": 0.4854,
        "yosemite": 0.4844,
        "liberty": 0.4437,
        "notredame_harris": 0.4854,
        "yosemite_harris": 0.4844,
        "liberty_harris": 0.4437,
    }
    stds = {
        "notredame": 0.1864,
        "yosemite": 0.1818,
        "liberty": 0.2019,
        "notredame_harris": 0.1864,
        "yosemite_harris": 0.1818,
        "liberty_harris": 0.2019,
    }
    lens = {
        "notredame": 468159,
        "yosemite": 633587,
        "liberty": 450092,
        "liberty_harris": 379587,
        "yosemite_harris": 450912,
        "notredame_harris": 325295,
    }
    image_ext = "bmp"
    info_file = "info.txt"
    matches_files = "m50_100000_100000_0.txt"

    def __init__(
        self,
        root: Location,
        name: str,
        train: bool = True,
        transform: Transform = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform)
        self.name, self.train = verify_str_arg(name, "name", tuple(self.urls)), train
        self.mean, self.std = self.means[name], self.stds[name]
        self.data_file = self._folder() / f"{name}.pt"
        self._prepare(download)
        if not self.data_file.is_file():
            self.cache()
        self.data, self.labels, self.matches = rl.load(self.data_file, weights_only=True)

    def _sheets(self) -> Path:
        return self._folder() / self.name

    def _files(self) -> Sequence[File]:
        url, name, md5 = self.urls[self.name]
        return (File(url, md5, name, into=self.name),)

    def _is_complete(self) -> bool:
        return self.data_file.is_file() or self._sheets().is_dir()

    def cache(self) -> None:
        """Read the published pictures and lists, and keep what they hold in one file."""
        labels = [int(line.split()[0]) for line in read_lines(self._sheets() / self.info_file)]
        content = self._patches(), rl.tensor(labels), self._pairs()
        rl.save(content, self.data_file)

    def _patches(self) -> rl.Tensor:
        """The patches of all sheets, row by row, as many as are published."""
        rows = []
        for path in sorted(self._sheets().glob(f"*{self.image_ext}")):
            sheet = np.asarray(open_image(path, "L"))
            down, across = (length // _SIDE for length in sheet.shape)
            cut = sheet[: down * _SIDE, : across * _SIDE].reshape(down, _SIDE, across, _SIDE)
            rows.append(cut.swapaxes(1, 2).reshape(-1, _SIDE, _SIDE))
        patches = np.concatenate(rows) if rows else np.zeros((0, _SIDE, _SIDE), np.uint8)
        return rl.from_numpy(patches[: self.lens[self.name]].copy())

    def _pairs(self) -> rl.Tensor:
        """Two patches and whether their points are the same, one row a pair."""
        lines = [line.split() for line in read_lines(self._sheets() / self.matches_files)]
        return rl.tensor([[int(row[0]), int(row[3]), int(row[1] == row[4])] for row in lines])

    def __getitem__(self, index: int) -> Any:
        """The patch, or the pair, of a number."""
        change = self.transform or (lambda patch: patch)
        if self.train:
            return change(self.data[index])
        first, second, same = self.matches[index]
        return change(self.data[first]), change(self.data[second]), same

    def __len__(self) -> int:
        return len(self.data if self.train else self.matches)

    def extra_repr(self) -> str:
        """The part."""
        return f"Split: {'Train' if self.train else 'Test'}"
