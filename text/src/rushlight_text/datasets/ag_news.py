"""News in four classes (Zhang et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import fetched, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "AG_NEWS"
URL = {
    part: f"https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/{part}.csv"
    for part in ("train", "test")
}
MD5 = {"train": "b1a00f826fdfbd249f79597b59e1dc12", "test": "d52ea96a97a2d943681189a97654912d"}
NUM_LINES = {"train": 120000, "test": 7600}


@published(DATASET_NAME, ("train", "test"))
def AG_NEWS(folder: str, split: str) -> Iterator[tuple[int, str]]:
    """World (1), sports (2), business (3), technology (4): pairs of a label and a text.

    `root` is the folder of all data sets, `split` one of ``train``, ``test``, or several
    of them (default: all).
    """
    for label, *texts in rows(fetched(folder, URL[split], MD5[split])):
        yield int(label), " ".join(texts)
