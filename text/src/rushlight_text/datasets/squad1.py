"""Questions on paragraphs of Wikipedia, version 1.1 (Rajpurkar et al. 2016)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import fetched, squad
from rushlight_text.datasets._published import published

DATASET_NAME = "SQuAD1"
URL = {
    part: f"https://rajpurkar.github.io/SQuAD-explorer/dataset/{part}-v1.1.json"
    for part in ("train", "dev")
}
MD5 = {"train": "981b29407e0affa3b1b156f72073b945", "dev": "3e85deb501d4e538b6bc56f786231552"}
NUM_LINES = {"train": 87599, "dev": 10570}


@published(DATASET_NAME, ("train", "dev"))
def SQuAD1(folder: str, split: str) -> Iterator[tuple[str, str, list[str], list[int]]]:
    """Context, question, answers and where they begin.

    `root` is the folder of all data sets, `split` one of ``train``, ``dev``, or several
    of them (default: all).
    """
    yield from squad(fetched(folder, URL[split], MD5[split]))
