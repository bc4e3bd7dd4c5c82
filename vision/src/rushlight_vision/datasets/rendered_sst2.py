"""Rendered SST2: sentences of film reviews as pictures (Radford et al., 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import File, SplitDataset, numbered
from rushlight_vision.datasets.folder import make_dataset


class RenderedSST2(SplitDataset):
    """9,613 pictures of sentences, target 0 for "negative" and 1 for "positive" ones; `split` is
    "train" (6,920), "val" (872) or "test" (1,821).

    The published archive, or its folder `rendered-sst2`, lies in `root`. An item is what `loader`
    makes of the path (an RGB picture of Pillow) and an int. Raises RuntimeError if files are
    missing.
    """

    splits = ("train", "val", "test")
    classes = ["negative", "positive"]
    class_to_idx = numbered(classes)
    _FILE = File(
        "https://openaipublic.azureedge.net/clip/data/rendered-sst2.tgz",
        "2384d08e9dcfa4bd55b324e610496ee5",
    )

    def _place(self) -> Path:
        part = "valid" if self._split == "val" else self._split
        return self._folder() / "rendered-sst2" / part

    def _files(self) -> Sequence[File]:
        return (self._FILE,)

    def _is_complete(self) -> bool:
        return all((self._place() / name).is_dir() for name in self.classes)

    def _listed(self) -> list[tuple[Any, Any]]:
        return list(make_dataset(str(self._place()), extensions=("png",)))
