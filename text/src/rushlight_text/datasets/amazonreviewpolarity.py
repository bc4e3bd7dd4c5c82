"""Reviews of goods, negative (1) and positive (2) (Zhang et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "AmazonReviewPolarity"
URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbaW12WVVZS2drcnM"
MD5 = "fe39f8b653cada45afd5792e0f0e8f9b"
NUM_LINES = {"train": 3600000, "test": 400000}
_PATH = "amazon_review_polarity_csv.tar.gz"


@published(DATASET_NAME, ("train", "test"))
def AmazonReviewPolarity(folder: str, split: str) -> Iterator[tuple[int, str]]:
    """Reviews of goods, bad and good: pairs of a label and a text.

    `root` is the folder of all data sets, `split` one of ``train`` and ``test`` or both (default).
    """
    file = member(folder, f"amazon_review_polarity_csv/{split}.csv", URL, MD5, _PATH)
    for label, *texts in rows(file):
        yield int(label), " ".join(texts)
