"""UCF101: clips of 101 actions from the web (Soomro, Zamir, Shah, 2012)."""

from __future__ import annotations

import os

from rushlight_vision.datasets._clips import FoldedClips
from rushlight_vision.datasets._published import read_lines


class UCF101(FoldedClips):
    """13,320 videos in `root/CLASS`, unpacked from the published archive.

    `annotation_path` is the folder of the published lists `trainlist01.txt` and so on; `fold` (1 to
    3) says which, `train` which part of it. An item is frames (uint8, (T, H, W, 3), or (T, 3, H, W)
    with `output_format="TCHW"`), sound (channels, samples) and an int. Other arguments as of
    :class:`VideoClips`.
    """

    def _chosen(self, annotation_path: str) -> set[str]:
        name = f"{'train' if self.train else 'test'}list{self.fold:02d}.txt"
        lines = read_lines(os.path.join(annotation_path, name))
        names = [line.strip().split(" ")[0] for line in lines]
        return {os.path.join(str(self.root), *name.split("/")) for name in names}
