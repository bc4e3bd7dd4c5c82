"""Questions with answers in ten classes (Zhang et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "YahooAnswers"
URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9Qhbd2JNdDBsQUdocVU"
MD5 = "f3f9899b997a42beb24157e62e3eea8d"
NUM_LINES = {"train": 1400000, "test": 60000}
_PATH = "yahoo_answers_csv.tar.gz"


@published(DATASET_NAME, ("train", "test"))
def YahooAnswers(folder: str, split: str) -> Iterator[tuple[int, str]]:
    """Questions in ten classes: pairs of a label and a text.

    `root` is the folder of all data sets, `split` one of ``train`` and ``test`` or both (default).
    """
    file = member(folder, f"yahoo_answers_csv/{split}.csv", URL, MD5, _PATH)
    for label, *texts in rows(file):
        yield int(label), " ".join(texts)
