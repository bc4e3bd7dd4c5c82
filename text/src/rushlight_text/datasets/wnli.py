"""Sentences with one that resolves their pronoun rightly (1) or not (0) (Wang et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "WNLI"
URL = "https://dl.fbaipublicfiles.com/glue/data/WNLI.zip"
MD5 = "a1b4bd2861017d302d29e42139657a42"
NUM_LINES = {"train": 635, "dev": 71, "test": 146}


@published(DATASET_NAME, ("train", "dev", "test"))
def WNLI(folder: str, split: str) -> Iterator[tuple]:
    """Triples of a label and two sentences; pairs in the test data.

    `root` is the folder of all data sets, `split` one of ``train``, ``dev``, ``test``, or several
    of them (default: all).
    """
    for row in rows(member(folder, f"WNLI/{split}.tsv", URL, MD5), "\t", skip=1):
        texts = (row[1], row[2])
        yield texts if split == "test" else (int(row[3]), *texts)
