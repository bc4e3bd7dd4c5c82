"""HMDB51: clips of 51 actions from films (Kuehne et al., 2011)."""

from __future__ import annotations

from pathlib import Path

from rushlight_vision.datasets._clips import FoldedClips
from rushlight_vision.datasets._published import read_lines


class HMDB51(FoldedClips):
    """6,766 videos in `root/CLASS`, unpacked from the published archive.

    `annotation_path` is the folder of the published lists `*_test_split{1,2,3}.txt`; `fold` says
    which, `train` which part of it. An item is frames (uint8, (T, H, W, 3), or (T, 3, H, W) with
    `output_format="TCHW"`), sound (channels, samples) and an int. Other arguments as of
    :class:`VideoClips`.
    """

    data_url = "https://serre-lab.clps.brown.edu/wp-content/uploads/2013/10/hmdb51_org.rar"
    splits = {
        "url": "https://serre-lab.clps.brown.edu/wp-content/uploads/2013/10/test_train_splits.rar",
        "md5": "15e67781e70dcfbdce2d7dbb9b3344b5",
    }
    TRAIN_TAG = 1
    TEST_TAG = 2

    def _chosen(self, annotation_path: str) -> set[str]:
        tag = str(self.TRAIN_TAG if self.train else self.TEST_TAG)
        names = {
            line.split()[0]
            for path in Path(annotation_path).glob(f"*test_split{self.fold}.txt")
            for line in read_lines(path)
            if line.split()[1] == tag
        }
        return {path for path, _ in self.samples if Path(path).name in names}
