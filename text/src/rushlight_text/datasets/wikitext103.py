"""Articles of Wikipedia, about a hundred million words (Merity et al. 2016)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import lines, member
from rushlight_text.datasets._published import published

DATASET_NAME = "WikiText103"
URL = "https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-103-v1.zip"
MD5 = "9ddaacaf6af0710eda8c456decff7832"
NUM_LINES = {"train": 1801350, "valid": 3760, "test": 4358}


@published(DATASET_NAME, ("train", "valid", "test"))
def WikiText103(folder: str, split: str) -> Iterator[str]:
    """Lines, with their ends.

    `root` is the folder of all data sets, `split` one of ``train``, ``valid``, ``test``, or several
    of them (default: all).
    """
    file = member(folder, f"wikitext-103/wiki.{split}.tokens", URL, MD5)
    yield from lines(file, keep_newline=True)
