"""Questions with sentences that answer them (0) or not (1) (Wang et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "QNLI"
URL = "https://dl.fbaipublicfiles.com/glue/data/QNLIv2.zip"
MD5 = "b4efd6554440de1712e9b54e14760e82"
NUM_LINES = {"train": 104743, "dev": 5463, "test": 5463}
MAP_LABELS = {"entailment": 0, "not_entailment": 1}


@published(DATASET_NAME, ("train", "dev", "test"))
def QNLI(folder: str, split: str) -> Iterator[tuple]:
    """Triples of a label, a question and a sentence; pairs in the test data.

    `root` is the folder of all data sets, `split` one of ``train``, ``dev``, ``test``, or several
    of them (default: all).
    """
    for row in rows(member(folder, f"QNLI/{split}.tsv", URL, MD5), "\t", skip=1, quoted=False):
        texts = (row[1], row[2])
        yield texts if split == "test" else (MAP_LABELS[row[3]], *texts)
