"""News in Pinyin, in five classes (Zhang et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "SogouNews"
URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbUkVqNEszd0pHaFE"
MD5 = "0c1700ba70b73f964dd8de569d3fd03e"
NUM_LINES = {"train": 450000, "test": 60000}
_PATH = "sogou_news_csv.tar.gz"


@published(DATASET_NAME, ("train", "test"))
def SogouNews(folder: str, split: str) -> Iterator[tuple[int, str]]:
    """Chinese news in five classes: pairs of a label and a text.

    `root` is the folder of all data sets, `split` one of ``train`` and ``test`` or both (default).
    """
    file = member(folder, f"sogou_news_csv/{split}.csv", URL, MD5, _PATH)
    for label, *texts in rows(file):
        yield int(label), " ".join(texts)
