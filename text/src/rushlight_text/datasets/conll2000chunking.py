"""Words, parts of speech and chunks of the shared task of CoNLL 2000."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import tagged, unpacked
from rushlight_text.datasets._published import published

DATASET_NAME = "CoNLL2000Chunking"
URL = {
    part: f"https://www.clips.uantwerpen.be/conll2000/chunking/{part}.txt.gz"
    for part in ("train", "test")
}
MD5 = {"train": "6969c2903a1f19a83569db643e43dcc8", "test": "a916e1c2d83eb3004b38fc6fcd628939"}
NUM_LINES = {"train": 8936, "test": 2012}


@published(DATASET_NAME, ("train", "test"))
def CoNLL2000Chunking(folder: str, split: str) -> Iterator[list[list[str]]]:
    """Lists of words, of their parts of speech and of their chunks.

    `root` is the folder of all data sets, `split` one of ``train``, ``test``, or several
    of them (default: all).
    """
    yield from tagged(unpacked(folder, URL[split], MD5[split]), " ")
