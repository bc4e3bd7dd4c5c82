"""SUN397: photos of 397 kinds of scenes (Xiao et al., 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rushlight_vision.datasets._published import (
    File,
    ListedDataset,
    Loader,
    Transform,
    default_loader,
    numbered,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location


class SUN397(ListedDataset):
    """108,753 photos.

    The published archive, or its folder `SUN397`, lies in `root`. `classes` and `class_to_idx` name
    the kinds. An item is what `loader` makes of the path (an RGB picture of Pillow) and an int;
    photos stand in the order of their paths. Raises RuntimeError if files are missing.
    """

    _FILE = File(
        "http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz",
        "8ca2778205c41d23104230ba66911c7a",
    )

    def __init__(
        self,
        root: Location,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self._prepare(download)
        place = self._content()
        # A line is "/LETTER/NAME"; folders are LETTER/NAME.
        self.classes = [line[3:].strip() for line in read_lines(place / "ClassName.txt")]
        self.class_to_idx = numbered(self.classes)
        paths = sorted(place.rglob("sun_*.jpg"))
        kinds = ["/".join(path.relative_to(place).parts[1:-1]) for path in paths]
        labels = [self.class_to_idx[kind] for kind in kinds]
        self._samples = list(zip(paths, labels, strict=True))

    def _content(self) -> Path:
        return self._folder() / "SUN397"

    def _files(self) -> Sequence[File]:
        return (self._FILE,)

    def _is_complete(self) -> bool:
        return self._content().is_dir()
