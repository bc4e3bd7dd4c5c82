"""What data sets of stereo pairs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rushlight_vision.datasets._disparity_files import read_pfm
from rushlight_vision.datasets._published import open_image
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.vision import VisionDataset

# Of both pictures, both disparities and both masks, the same changed.
StereoTransforms = Callable[[Any, Any, Any], tuple[Any, Any, Any]] | None


class StereoMatchingDataset(ABC, VisionDataset):
    """Pairs of pictures from the left and the right, with the disparity of the left one's pixels.

    An item is two RGB pictures of Pillow and the disparity (array, (1, H, W), in pixels), None
    where it is not published; of some data sets also where it is known (bool array, (H, W), or
    None). `transforms` takes and gives three pairs: pictures, disparities, masks, of the left and
    the right.
    """

    _has_built_in_disparity_mask = False

    def __init__(self, root: Location, transforms: StereoTransforms = None) -> None:
        super().__init__(root=root)
        self.transforms: Any = transforms
        self._images: list[Any] = []
        self._disparities: list[Any] = []

    def _place(self, *names: str) -> Path:
        return Path(str(self.root), *names)

    def _read_img(self, file_path: Any) -> Any:
        return open_image(file_path, "RGB")

    def _pairs(self, place: Path, left: str, right: str | None = None) -> list[Any]:
        """The paths that fit `left`, sorted, each with its partner that fits `right`, or None."""
        first = self._fitting(place, left)
        second: list[Any] = [None] * len(first) if right is None else self._fitting(place, right)
        if len(first) != len(second):
            raise ValueError(
                f"{type(self).__name__}: {len(first)} files fit {left} in {place}, but "
                f"{len(second)} fit {right}"
            )
        return list(zip(first, second, strict=True))

    def _fitting(self, place: Path, pattern: str) -> list[str]:
        found = sorted(map(str, place.glob(pattern)))
        if not found:
            raise FileNotFoundError(f"{type(self).__name__}: no file fits {pattern} in {place}")
        return found

    def _without_disparities(self) -> None:
        self._disparities = [(None, None)] * len(self._images)

    @abstractmethod
    def _read_disparity(self, file_path: Any) -> tuple[Any, Any]:
        """The disparity in a file and where it is known; None, None for None."""

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        """The pair of a number, changed by the transforms."""
        images = tuple(map(self._read_img, self._images[index]))
        found = [self._read_disparity(path) for path in self._disparities[index]]
        disparities, masks = zip(*found, strict=True)
        if self.transforms is not None:
            images, disparities, masks = self.transforms(images, disparities, masks)
        if self._has_built_in_disparity_mask or masks[0] is not None:
            return (*images, disparities[0], masks[0])
        return (*images, disparities[0])

    def __len__(self) -> int:
        return len(self._images)


def pfm_disparity(path: Any) -> Any:
    """The disparity in a PFM file, whose sign says which picture it is of."""
    return np.abs(read_pfm(path, channels=1))
