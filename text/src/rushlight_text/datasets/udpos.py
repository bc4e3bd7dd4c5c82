"""Words and parts of speech of the Universal Dependencies' English Web Treebank."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, tagged
from rushlight_text.datasets._published import published

DATASET_NAME = "UDPOS"
URL = "https://bitbucket.org/sivareddyg/public/downloads/en-ud-v2.zip"
MD5 = "bdcac7c52d934656bae1699541424545"
NUM_LINES = {"train": 12543, "valid": 2002, "test": 2077}
_FILES = {"train": "train.txt", "valid": "dev.txt", "test": "test.txt"}


@published(DATASET_NAME, ("train", "valid", "test"))
def UDPOS(folder: str, split: str) -> Iterator[list[list[str]]]:
    """Lists of words and of their tags.

    `root` is the folder of all data sets, `split` one of ``train``, ``valid``, ``test``, or several
    of them (default: all).
    """
    name = f"en-ud-tag.v2.{_FILES[split]}"
    yield from tagged(member(folder, name, URL, MD5, written=_FILES[split]), "\t")
