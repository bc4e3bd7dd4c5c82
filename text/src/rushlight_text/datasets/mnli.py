"""Pairs of sentences in ten genres, of which the first implies the second or not
(Williams et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "MNLI"
URL = "https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip"
MD5 = "0f70aaf66293b3c088a864891db51353"
NUM_LINES = {"train": 392702, "dev_matched": 9815, "dev_mismatched": 9832}
LABEL_TO_INT = {"entailment": 0, "neutral": 1, "contradiction": 2}


@published(DATASET_NAME, ("train", "dev_matched", "dev_mismatched"))
def MNLI(folder: str, split: str) -> Iterator[tuple[int, str, str]]:
    """Triples of a label and two sentences; pairs without a label are left out.

    `root` is the folder of all data sets, `split` one of ``train``, ``dev_matched``,
    ``dev_mismatched``, or several of them (default: all).
    """
    file = member(folder, f"multinli_1.0_{split}.txt", URL, MD5)
    for row in rows(file, "\t", skip=1, quoted=False):
        if row[0] in LABEL_TO_INT:
            yield LABEL_TO_INT[row[0]], row[5], row[6]
