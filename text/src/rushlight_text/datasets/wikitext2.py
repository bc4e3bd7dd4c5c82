"""Articles of Wikipedia, about two million words (Merity et al. 2016)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import lines, member
from rushlight_text.datasets._published import published

DATASET_NAME = "WikiText2"
URL = "https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-2-v1.zip"
MD5 = "542ccefacc6c27f945fb54453812b3cd"
NUM_LINES = {"train": 36718, "valid": 3760, "test": 4358}


@published(DATASET_NAME, ("train", "valid", "test"))
def WikiText2(folder: str, split: str) -> Iterator[str]:
    """Lines, with their ends.

    `root` is the folder of all data sets, `split` one of ``train``, ``valid``, ``test``, or several
    of them (default: all).
    """
    file = member(folder, f"wikitext-2/wiki.{split}.tokens", URL, MD5)
    yield from lines(file, keep_newline=True)
