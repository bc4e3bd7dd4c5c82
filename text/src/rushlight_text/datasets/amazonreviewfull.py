"""Reviews of goods by their stars, 1 to 5 (Zhang et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "AmazonReviewFull"
URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbZVhsUnRWRDhETzA"
MD5 = "57d28bd5d930e772930baddf36641c7c"
NUM_LINES = {"train": 3000000, "test": 650000}
_PATH = "amazon_review_full_csv.tar.gz"


@published(DATASET_NAME, ("train", "test"))
def AmazonReviewFull(folder: str, split: str) -> Iterator[tuple[int, str]]:
    """Reviews of goods by stars: pairs of a label and a text.

    `root` is the folder of all data sets, `split` one of ``train`` and ``test`` or both (default).
    """
    file = member(folder, f"amazon_review_full_csv/{split}.csv", URL, MD5, _PATH)
    for label, *texts in rows(file):
        yield int(label), " ".join(texts)
