"""Pairs of sentences with how much they mean the same, 0 to 5 (Cer et al. 2017)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "STSB"
URL = "http://ixa2.si.ehu.es/stswiki/images/4/48/Stsbenchmark.tar.gz"
MD5 = "4eb0065aba063ef77873d3a9c8088811"
NUM_LINES = {"train": 5749, "dev": 1500, "test": 1379}


@published(DATASET_NAME, ("train", "dev", "test"))
def STSB(folder: str, split: str) -> Iterator[tuple[int, float, str, str]]:
    """Index, score and two sentences.

    `root` is the folder of all data sets, `split` one of ``train``, ``dev``, ``test``, or several
    of them (default: all).
    """
    file = member(folder, f"stsbenchmark/sts-{split}.csv", URL, MD5)
    for row in rows(file, "\t", quoted=False):
        yield int(row[3]), float(row[4]), row[5], row[6]
