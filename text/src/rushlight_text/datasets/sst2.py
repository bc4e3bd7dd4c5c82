"""Sentences of movie reviews, negative (0) and positive (1) (Socher et al. 2013)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "SST2"
URL = "https://dl.fbaipublicfiles.com/glue/data/SST-2.zip"
MD5 = "9f81648d4199384278b86e315dac217c"
NUM_LINES = {"train": 67349, "dev": 872, "test": 1821}


@published(DATASET_NAME, ("train", "dev", "test"))
def SST2(folder: str, split: str) -> Iterator[tuple]:
    """Pairs of a text and a label; the text alone in the test data.

    `root` is the folder of all data sets, `split` one of ``train``, ``dev``, ``test``, or several
    of them (default: all).
    """
    for row in rows(member(folder, f"SST-2/{split}.tsv", URL, MD5), "\t", skip=1):
        yield (row[1].strip(),) if split == "test" else (row[0].strip(), int(row[1]))
