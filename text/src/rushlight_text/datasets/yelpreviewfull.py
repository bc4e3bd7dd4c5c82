"""Reviews of businesses by their stars, 1 to 5 (Zhang et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "YelpReviewFull"
URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbZlU4dXhHTFhZQU0"
MD5 = "f7ddfafed1033f68ec72b9267863af6c"
NUM_LINES = {"train": 650000, "test": 50000}
_PATH = "yelp_review_full_csv.tar.gz"


@published(DATASET_NAME, ("train", "test"))
def YelpReviewFull(folder: str, split: str) -> Iterator[tuple[int, str]]:
    """Reviews of businesses by stars: pairs of a label and a text.

    `root` is the folder of all data sets, `split` one of ``train`` and ``test`` or both (default).
    """
    file = member(folder, f"yelp_review_full_csv/{split}.csv", URL, MD5, _PATH)
    for label, *texts in rows(file):
        yield int(label), " ".join(texts)
