"""The first billion bytes of a dump of Wikipedia."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import lines, member
from rushlight_text.datasets._published import published

DATASET_NAME = "EnWik9"
URL = "http://mattmahoney.net/dc/enwik9.zip"
MD5 = "3e773f8a1577fda2e27f871ca17f31fd"
NUM_LINES = {"train": 13147026}


@published(DATASET_NAME)
def EnWik9(folder: str) -> Iterator[str]:
    """Lines of XML.

    `root` is the folder of all data sets.
    """
    yield from lines(member(folder, "enwik9", URL, MD5))
