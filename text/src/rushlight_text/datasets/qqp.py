"""Pairs of questions that ask the same (1) or not (0)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import fetched, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "QQP"
URL = "http://qim.fs.quoracdn.net/quora_duplicate_questions.tsv"
MD5 = "b6d5672bd9dc1e66ab2bb020ebeafb8d"
NUM_LINES = {"train": 404290}


@published(DATASET_NAME)
def QQP(folder: str) -> Iterator[tuple[int, str, str]]:
    """Triples of a label and two questions.

    `root` is the folder of all data sets.
    """
    for row in rows(fetched(folder, URL, MD5), "\t", skip=1):
        yield int(row[-1]), row[3], row[4]
