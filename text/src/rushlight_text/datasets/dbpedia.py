"""Descriptions of things in fourteen classes (Zhang et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "DBpedia"
URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbQ2Vic1kxMmZZQ1k"
MD5 = "dca7b1ae12b1091090db52aa7ec5ca64"
NUM_LINES = {"train": 560000, "test": 70000}
_PATH = "dbpedia_csv.tar.gz"


@published(DATASET_NAME, ("train", "test"))
def DBpedia(folder: str, split: str) -> Iterator[tuple[int, str]]:
    """Things in fourteen classes: pairs of a label and a text.

    `root` is the folder of all data sets, `split` one of ``train`` and ``test`` or both (default).
    """
    file = member(folder, f"dbpedia_csv/{split}.csv", URL, MD5, _PATH)
    for label, *texts in rows(file):
        yield int(label), " ".join(texts)
