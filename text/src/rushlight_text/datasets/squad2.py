"""Questions on paragraphs of Wikipedia, version 2.0 (Rajpurkar et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import fetched, squad
from rushlight_text.datasets._published import published

DATASET_NAME = "SQuAD2"
URL = {
    part: f"https://rajpurkar.github.io/SQuAD-explorer/dataset/{part}-v2.0.json"
    for part in ("train", "dev")
}
MD5 = {"train": "62108c273c268d70893182d5cf8df740", "dev": "246adae8b7002f8679c027697b0b7cf8"}
NUM_LINES = {"train": 130319, "dev": 11873}


@published(DATASET_NAME, ("train", "dev"))
def SQuAD2(folder: str, split: str) -> Iterator[tuple[str, str, list[str], list[int]]]:
    """Context, question, answers and where they begin.

    `root` is the folder of all data sets, `split` one of ``train``, ``dev``, or several
    of them (default: all).
    """
    yield from squad(fetched(folder, URL[split], MD5[split]))
