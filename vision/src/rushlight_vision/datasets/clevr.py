"""CLEVR as a classification of how many objects there are (Johnson et al., 2017)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import File, SplitDataset


class CLEVRClassification(SplitDataset):
    """100,000 drawn scenes; the target is the number of objects, None in split "test".

    `split` is "train" (70,000), "val" or "test" (15,000 each). The published zip file, or what is
    in it, lies in `root/clevr`. An item is what `loader` makes of the path (an RGB picture of
    Pillow) and an int or None. Raises RuntimeError if files are missing.
    """

    splits = ("train", "val", "test")
    _FILE = File(
        "https://dl.fbaipublicfiles.com/clevr/CLEVR_v1.0.zip", "b11922020e72d0cd9154779b2d3d07d2"
    )

    def _folder(self) -> Path:
        return Path(str(self.root), "clevr")

    def _content(self) -> Path:
        return self._folder() / "CLEVR_v1.0"

    def _files(self) -> Sequence[File]:
        return (self._FILE,)

    def _is_complete(self) -> bool:
        return self._content().is_dir()

    def _listed(self) -> list[tuple[Any, Any]]:
        paths = sorted((self._content() / "images" / self._split).glob("*"))
        if self._split == "test":
            return [(path, None) for path in paths]
        table = self._content() / "scenes" / f"CLEVR_{self._split}_scenes.json"
        scenes = json.loads(table.read_text())["scenes"]
        counts = {scene["image_filename"]: len(scene["objects"]) for scene in scenes}
        return [(path, counts[path.name]) for path in paths]
