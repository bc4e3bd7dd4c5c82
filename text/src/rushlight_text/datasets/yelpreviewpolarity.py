"""Reviews of businesses, negative (1) and positive (2) (Zhang et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "YelpReviewPolarity"
URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbNUpYQ2N3SGlFaDg"
MD5 = "620c8ae4bd5a150b730f1ba9a7c6a4d3"
NUM_LINES = {"train": 560000, "test": 38000}
_PATH = "yelp_review_polarity_csv.tar.gz"


@published(DATASET_NAME, ("train", "test"))
def YelpReviewPolarity(folder: str, split: str) -> Iterator[tuple[int, str]]:
    """Reviews of businesses, bad and good: pairs of a label and a text.

    `root` is the folder of all data sets, `split` one of ``train`` and ``test`` or both (default).
    """
    file = member(folder, f"yelp_review_polarity_csv/{split}.csv", URL, MD5, _PATH)
    for label, *texts in rows(file):
        yield int(label), " ".join(texts)
